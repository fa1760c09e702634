package delivery

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// TestDeal: dealing whole bins gives the same result as dealing slot by slot, for bins within one
// group, bins that span several groups, groups without vertices, and no groups.
func TestDeal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	whole, cut := 0, 0
	for range 200 {
		of, shift := 1+rng.IntN(6), uint(6+rng.IntN(4))
		p := &graph.Partition{Index: rng.IntN(of), Of: of, Grid: graph.Grid{Rows: of, Columns: 1}}
		ghost := uint32(64 * rng.IntN(20))
		slots := ghost
		groups := make([]graph.Group, of)
		for q := range groups {
			if q == p.Index || rng.IntN(4) == 0 {
				continue
			}
			groups[q] = graph.Group{Start: slots, Count: uint32(rng.IntN(3000))}
			slots += (groups[q].Count + 63) &^ 63
		}
		owner := func(slot uint32) (q int, position uint32) {
			if slot < ghost {
				return p.Index, slot
			}
			for q, g := range groups {
				if slot >= g.Start && slot < g.Start+g.Count {
					return q, slot - g.Start
				}
			}
			return -1, 0
		}
		type pair struct {
			to  uint32
			msg int
		}
		want := make([][]pair, of)
		bins := kernel.NewBins[int](int(max(slots, 64)), shift)
		for i := range 5000 {
			slot := rng.Uint32N(max(slots, 1))
			q, position := owner(slot)
			if q < 0 || slots == 0 {
				continue
			}
			at := slot >> shift
			bins.To[at], bins.Msg[at] = append(bins.To[at], slot), append(bins.Msg[at], i)
			if (at+1)<<shift > ghost { // bins with only owned slots are not dealt
				want[q] = append(want[q], pair{position, i})
			}
		}
		x := NewExchange(p, new(kernel.Vec[int]), Experiment{})
		_, peers := x.folding(0)
		for q := range peers {
			x.clear(&peers[q])
		}
		x.distribute(groups, ghost, bins, peers)
		for q := range peers {
			var found []pair
			messages := kernel.Elements[int](peers[q].messages)
			if len(messages) != len(peers[q].positions) {
				t.Fatalf("%d messages to %d vertices", len(messages), len(peers[q].positions))
			}
			for i, to := range peers[q].positions {
				found = append(found, pair{to, messages[i]})
			}
			byMessage := func(a, b pair) int { return a.msg - b.msg }
			slices.SortFunc(found, byMessage)
			if !slices.Equal(found, want[q]) {
				t.Fatalf("partition %d of %d, groups %v from %d, bins of %d: %d pairs dealt to %d, expected %d", p.Index, of, groups, ghost, 1<<shift, len(found), q, len(want[q]))
			}
		}
		for at := range bins.To {
			first, last := uint32(at)<<shift, uint32(at+1)<<shift-1
			a, _ := owner(first)
			b, _ := owner(last)
			if a == b && a >= 0 && first >= ghost {
				whole++
			} else {
				cut++
			}
		}
	}
	if whole < 100 || cut < 100 {
		t.Errorf("%d bins in one group, and %d others", whole, cut)
	}
}
