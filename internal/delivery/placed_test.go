package delivery

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// TestPlaced: looking up members returns the same as unpacking the list, for few positions and for
// many.
func TestPlaced(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	p := &graph.Partition{Of: 2, Grid: graph.Grid{Rows: 2, Columns: 1}}
	x := NewExchange(p, new(kernel.Vec[int]), Experiment{})
	for range 100 {
		set := make([]uint64, 1+rng.IntN(60))
		var members []uint32
		for i := range uint32(64 * len(set)) {
			if rng.IntN(1+int(i)/64) < 3 {
				bitmap.Set(set, i)
				members = append(members, i)
			}
		}
		list := newList(set)
		for _, n := range []int{0, 1, len(members) / 20, len(members) / 10, 2 * len(members)} {
			var positions, want []uint32
			for range n {
				at := rng.IntN(len(members))
				positions, want = append(positions, uint32(at)), append(want, members[at])
			}
			if found := x.membersAt(list, positions); !slices.Equal(found, want) {
				t.Fatalf("%d of %d members: found %v, expected %v", n, len(members), found, want)
			}
		}
	}
}
