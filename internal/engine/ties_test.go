package engine_test

import (
	"math"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// nearest is a program whose vertices store the nearest of their in-neighbours that sent. Every
// third vertex sends, from distance 0.
type nearest struct{}

// nearestMonotone is nearest with the trait Monotone.
type nearestMonotone struct{ nearest }

func (nearestMonotone) Traits() pregel.Traits { return pregel.Traits{Monotone: true} }

func (nearest) Combiner() pregel.Combiner[arrival] { return combiners.MinPlusSender[float64]() }

func (nearest) Compute(v *pregel.Vertex[arrival, arrival], a arrival) {
	if v.Superstep() > 0 {
		v.Set(a)
	} else if v.Set(arrival{Dist: math.Inf(1), From: pregel.None}); v.ID()%3 != 1 {
		v.SendToAllNeighbors(arrival{From: v.ID()})
	}
	v.VoteToHalt()
}

// TestOfEquallyNearSendersTheLeastIsKept: many edges have the same weight. Of senders at equal
// distances, the one with the lowest id is taken, in every delivery.
func TestOfEquallyNearSendersTheLeastIsKept(t *testing.T) {
	all := shapes(14)
	for i, s := range aFew(5, inGrids()) {
		if s.o.Uncombined {
			continue // the messages are the same, one by one
		}
		shape := all[len(all)-1-i%2]
		for k := range shape.weights {
			shape.weights[k] = float64(k % 2)
		}
		g := shape.loadAs(t, s, edges.Float64)
		want := make([]arrival, shape.n)
		for v := range want {
			want[v] = arrival{Dist: math.Inf(1), From: pregel.None}
		}
		out, weights := shape.adjacency()
		for u, list := range out {
			id := pregel.VertexID(g.IDs[u])
			for j, v := range list {
				if a := (arrival{Dist: weights[u][j], From: id}); id%3 != 1 &&
					(a.Dist < want[v].Dist || a.Dist == want[v].Dist && a.From < want[v].From) {
					want[v] = a
				}
			}
		}
		for _, p := range []pregel.Program[arrival, arrival]{nearest{}, nearestMonotone{}} {
			shareWork(&s.o, 1)
			j, err := engine.NewJob(t.Context(), g, pregel.Erase(p), teamed(t, s))
			check(t, err)
			cutChunks(t, g, pregel.Erase(p)) // later rounds may have the lower senders
			_, err = j.Run(t.Context())
			check(t, err)
			for v, w := range want {
				if got := j.Any(pregel.VertexID(g.IDs[v])); got != w {
					t.Fatalf("%T, %v: vertex %d has %v, want %v", p, s, v, got, w)
				}
			}
			j.Close()
		}
		g.Close()
	}
}
