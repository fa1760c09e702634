package library_test

import (
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// closing closes its graph at vertex 0 in superstep 1, and reads all its edges before and
// afterwards.
type closing struct{ close func() }

func (closing) Combiner() pregel.Combiner[uint64] { return combiners.Sum[uint64]() }

func (p closing) Compute(v *pregel.Vertex[uint64, uint64], sum uint64) {
	if v.ID() == 0 && v.Superstep() == 1 {
		p.close()
	}
	for range v.Edges() {
		sum++
	}
	v.Set(v.Value() + sum)
	if v.Superstep() < 3 {
		v.SendToAllNeighbors(1)
	}
	v.VoteToHalt()
}

// TestCloseDuringRun closes a graph during a run. The run continues to its end, and no other run
// can use the graph. Built with -tags invariants, access to freed memory ends the process.
func TestCloseDuringRun(t *testing.T) {
	for _, partitions := range []int{1, 3} {
		run := func(close bool) (superstep.Result[uint64], []uint64) {
			g, err := superstep.Load(t.Context(), "path:vertices=60000",
				superstep.LoadOptions{Partitions: partitions})
			g = open(t, g, err)
			p := closing{func() {}}
			if close {
				p.close = func() {
					g.Close()
					if _, err := superstep.Run(t.Context(), g, closing{}); err == nil ||
						g.NumVertices() != 0 {
						t.Errorf("a closed graph can be used: %v, %d vertices", err,
							g.NumVertices())
					}
				}
			}
			r, err := superstep.Run(t.Context(), g, p)
			if err != nil {
				t.Fatal(err)
			}
			var values []uint64
			for v := range pregel.VertexID(60000) {
				values = append(values, r.Value(v))
			}
			return *r, values
		}
		want, all := run(false)
		got, found := run(true)
		for v := range all {
			if all[v] != found[v] {
				t.Fatalf("vertex %d: found %d, expected %d", v, found[v], all[v])
			}
		}
		if got.Supersteps != want.Supersteps || got.Messages != want.Messages {
			t.Errorf("found %d supersteps and %d messages, expected %d and %d", got.Supersteps,
				got.Messages, want.Supersteps, want.Messages)
		}
	}
}
