package job

import (
	"strconv"
	"strings"
)

// Size is a number of bytes, as text 1000, 5MB or 3GiB.
type Size uint64

func (s Size) MarshalText() ([]byte, error) {
	units := []string{"", "KB", "MB", "GB"}
	for len(units) > 1 && s > 0 && s%1000 == 0 {
		s, units = s/1000, units[1:]
	}
	return append(strconv.AppendUint(nil, uint64(s), 10), units[0]...), nil
}

func (s *Size) UnmarshalText(text []byte) error {
	digits := strings.TrimRight(string(text), "KMGTiBb")
	n, err := strconv.ParseUint(digits, 10, 63)
	factor, ok := map[string]uint64{
		"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	}[string(text[len(digits):])]
	if err != nil || !ok || n == 0 || n > 1<<62/factor {
		return unlike(text, s)
	}
	*s = Size(n * factor)
	return nil
}
