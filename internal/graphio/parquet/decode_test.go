package parquet

import (
	"testing"

	"github.com/parquet-go/parquet-go/format"
)

// TestUnusedWidths: the widths of unused miniblocks may have any value, in the first block and in
// later ones.
func TestUnusedWidths(t *testing.T) {
	for _, width := range []byte{0, 1, 64, 65, 255} {
		for _, n := range []int{2, 33, 34, 129, 130, 200} {
			// blocks of 128 numbers in 4 miniblocks; the first number is 0
			data := []byte{128, 1, 4, byte(n), byte(n >> 7), 0}
			if data[4] > 0 {
				data[3] |= 128
			} else {
				data = append(data[:4], 0)
			}
			for from := 1; from < n; from += 128 {
				data = append(data, 2) // the smallest difference is 1, as are all differences
				for first := from; first < from+128; first += 32 {
					if first < n {
						data = append(data, 0)
					} else {
						data = append(data, width)
					}
				}
			}
			data = append(data, "rest"...)
			rest, bad := afterDeltas(data, n, 64)
			v, err := pagesOf(format.Int64).decode(data, n, format.DeltaBinaryPacked)
			if bad != nil || err != nil || string(rest) != "rest" || v.words[n-1] != uint64(n-1) {
				t.Errorf("width %d, %d numbers: found %q, %v, %v, %v", width, n, rest, v, bad, err)
			}
		}
	}
}
