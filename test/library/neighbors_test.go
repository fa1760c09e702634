package library_test

import (
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/pregel"
)

// neighboring has the ends of a vertex's edges as its value, by Neighbors or by Edges.
type neighboring struct {
	direction pregel.Direction
	byEdges   bool
	most      int // of them; 0 is all
}

func (p neighboring) Traits() pregel.Traits { return pregel.Traits{Direction: p.direction} }

func (p neighboring) Compute(v *pregel.Vertex[[]pregel.VertexID, string], _ []string) {
	var all []pregel.VertexID
	if p.byEdges {
		for e := range v.Edges() {
			all = append(all, e.To)
		}
	} else {
		for id := range v.Neighbors() {
			if all = append(all, id); len(all) == p.most {
				break
			}
		}
	}
	v.Set(all)
	v.VoteToHalt()
}

func TestNeighbors(t *testing.T) {
	g, err := superstep.Load(t.Context(), "uniform:vertices=60,degree=4", superstep.LoadOptions{Partitions: 3, Kind: superstep.Directed})
	g = open(t, g, err)
	for _, direction := range []pregel.Direction{pregel.Out, pregel.In, pregel.Both} {
		want := must(t, g, pregel.List(neighboring{direction: direction, byEdges: true}))
		found := must(t, g, pregel.List(neighboring{direction: direction}))
		first := must(t, g, pregel.List(neighboring{direction: direction, most: 1}))
		edges := 0
		for label, all := range want.All() {
			ids, _ := found.At(label)
			one, _ := first.At(label)
			if !slices.Equal(ids, all) || !slices.Equal(one, all[:min(1, len(all))]) {
				t.Fatalf("direction %v: vertex %d has the neighbors %v and first %v, expected %v", direction, label, ids, one, all)
			}
			edges += len(all)
		}
		if edges == 0 {
			t.Errorf("direction %v: no vertex has edges", direction)
		}
	}
}
