package snapshot

import "testing"

// TestArraysLieOneAfterTheOther: a header is refused if its arrays overlap, are out of order, or
// leave gaps in the file. Its checksums prove nothing, because an attacker can compute them.
func TestArraysLieOneAfterTheOther(t *testing.T) {
	for what, c := range map[string]struct {
		arrays []array
		right  bool
	}{
		"two":            {[]array{{"a", "uint64", 0, 8}, {"b", "uint64", 64, 8}}, true},
		"a gap":          {[]array{{"a", "uint8", 0, 9}, {"b", "uint64", 64, 8}}, true},
		"one and none":   {[]array{{"a", "uint64", 0, 16}, {"b", "uint64", 128, 0}}, true},
		"the same bytes": {[]array{{"a", "uint64", 0, 16}, {"b", "uint64", 0, 16}}, false},
		"half of them":   {[]array{{"a", "uint64", 0, 16}, {"b", "uint64", 64, 8}}, false},
		"another order":  {[]array{{"a", "uint64", 64, 8}, {"b", "uint64", 0, 16}}, false},
		"a rest":         {[]array{{"a", "uint64", 0, 8}, {"b", "uint64", 64, 7}}, false},
		"too long":       {[]array{{"a", "uint64", 0, 8}, {"b", "uint64", 64, 9}}, false},
		"not aligned":    {[]array{{"a", "uint64", 0, 8}, {"b", "uint64", 72, 7}}, false},
		"a third twice":  {[]array{{"a", "uint64", 0, 8}, {"b", "uint64", 64, 8}, {"c", "uint64", 64, 8}}, false},
	} {
		const data = 128
		h := header{Arrays: c.arrays, Blocks: make([]uint32, 1)}
		if err := h.check(start(0), File{Size: start(0) + data}); (err == nil) != c.right {
			t.Errorf("%s: %v", what, err)
		}
	}
}
