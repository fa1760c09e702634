package graph

import (
	"encoding/binary"
	"fmt"
	"math"
)

// AppendCounts encodes counts as varints. A run of zeros is encoded as 0 and its length.
func AppendCounts(dst []byte, counts []uint32) []byte {
	for i := 0; i < len(counts); {
		if counts[i] > 0 {
			dst = binary.AppendUvarint(dst, uint64(counts[i]))
			i++
			continue
		}
		run := i
		for i < len(counts) && counts[i] == 0 {
			i++
		}
		dst = binary.AppendUvarint(append(dst, 0), uint64(i-run))
	}
	return dst
}

// ReadCounts calls f with the nonzero counts among the first n in data. It returns the rest of
// data.
func ReadCounts(data []byte, n int, f func(i int, count uint32)) ([]byte, error) {
	for i := 0; i < n; {
		x, size := binary.Uvarint(data)
		if size <= 0 || x > math.MaxUint32 {
			return nil, fmt.Errorf("%w: no count of vertex %d of %d", errMessage, i, n)
		}
		data = data[size:]
		if x > 0 {
			f(i, uint32(x))
			i++
			continue
		}
		x, size = binary.Uvarint(data)
		if size <= 0 || x == 0 || x > uint64(n-i) {
			return nil, fmt.Errorf("%w: zeros at vertex %d of %d", errMessage, i, n)
		}
		data = data[size:]
		i += int(x)
	}
	return data, nil
}
