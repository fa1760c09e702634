package build

import (
	"math"
	"testing"

	"github.com/superstep-go/superstep/internal/collective"
)

// TestDegreesRunOver: all ranks report an overflow of a degree counter on any rank. With few tuples
// nothing is checked.
func TestDegreesRunOver(t *testing.T) {
	for _, test := range []struct {
		what    string
		tuples  int
		counted [2]uint64   // by rank
		out, in [2][]uint32 // of each rank's vertices
		touched [2][]uint32
		loops   [2]int
		wrong   bool
	}{
		{"few tuples", 100, [2]uint64{0, 200}, [2][]uint32{{9}, {}}, [2][]uint32{}, [2][]uint32{{1}, {}}, [2]int{}, false},
		{"all fit", 1 << 32, [2]uint64{1 << 32, 1 << 32}, [2][]uint32{{1 << 31, 1 << 31}, {1 << 31, 1 << 31}}, [2][]uint32{}, [2][]uint32{}, [2]int{}, false},
		{"directed", 1 << 32, [2]uint64{1 << 33, 0}, [2][]uint32{{1 << 31}, {1 << 31}}, [2][]uint32{{math.MaxUint32}, {1}}, [2][]uint32{}, [2]int{}, false},
		{"degree of 2^32", 1 << 32, [2]uint64{1 << 32, 1 << 32}, [2][]uint32{{0, 1 << 31}, {1 << 31, 0}}, [2][]uint32{}, [2][]uint32{}, [2]int{}, true},
		{"in-degree of 2^32", 1 << 32, [2]uint64{1 << 33, 0}, [2][]uint32{{1 << 31}, {1 << 31}}, [2][]uint32{{0}, {0}}, [2][]uint32{}, [2]int{}, true},
		{
			"tuples and loops fit", 1<<33 - 1<<32,
			[2]uint64{2, 0},
			[2][]uint32{{1, 0}, {1, 0}},
			[2][]uint32{},
			[2][]uint32{{1 << 31, 1 << 31}, {0, 0}},
			[2]int{1 << 30, 1 << 30},
			false,
		},
		{"2^32 tuples of a vertex", 1 << 32, [2]uint64{2, 0}, [2][]uint32{{1}, {1}}, [2][]uint32{}, [2][]uint32{{0}, {0}}, [2]int{}, true},
	} {
		everywhere(t, 2, func(rank int, group *collective.Group) {
			b := &builder{group: group, rank: rank, ranks: 2, loops: test.loops[rank]}
			b.all.tuples = test.tuples
			var touched func(v uint32) uint32
			if test.touched[0] != nil {
				touched = func(v uint32) uint32 { return test.touched[rank][v] }
			}
			err := b.checkDegrees(t.Context(), &counters{out: test.out[rank], in: test.in[rank]},
				test.counted[rank], touched)
			if (err != nil) != test.wrong || err != nil &&
				err.Error() != "a vertex has more than 4294967295 edges" {
				t.Errorf("%s: rank %d: error %v", test.what, rank, err)
			}
		})
	}
}
