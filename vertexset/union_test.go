package vertexset_test

import (
	"math/rand/v2"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
	"github.com/superstep-go/superstep/vertexset"
)

// TestReach compares the sources that reach each vertex with a search from each source. With
// checkpoints, messages and values are encoded.
func TestReach(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 8))
		var list []superstep.Edge
		for range 250 {
			list = append(list, superstep.Edge{From: rng.Uint64N(200), To: rng.Uint64N(200)})
		}
		g := must(superstep.FromEdges(t.Context(), list,
			superstep.LoadOptions{Partitions: 1 + int(seed%3)}))(t)
		p := Reach{}
		for range 100 {
			p.Sources = append(p.Sources, pregel.VertexID(rng.IntN(g.NumVertices())))
		}
		o := superstep.Options{}
		if seed%2 == 1 {
			o.Checkpoints = superstep.CheckpointOptions{Place: t.TempDir(), Every: 1}
		}
		res := must(superstep.Run(t.Context(), g, p, o))(t)
		all := vertexset.Set{}
		for _, source := range p.Sources {
			levels := must(superstep.Run(t.Context(), g, algorithms.BFS{Source: source}))(t)
			for v := range pregel.VertexID(g.NumVertices()) {
				found := levels.Value(v) != pregel.None
				if res.Value(v).Contains(source) != found {
					t.Fatalf("seed %d: %d reaches %d: %t", seed, source, v, found)
				}
				if found {
					all, _ = all.Union(vertexset.Single(v))
				}
			}
		}
		if got := reached.Value(res); !got.Equal(all) {
			t.Errorf("seed %d: %v, expected %v", seed, got, all)
		}
		g.Close()
	}
}

func TestUnionIsACombiner(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var samples []vertexset.Set
	for range 8 {
		s, _ := random(t, rng, numbered{4, 70_000})
		samples = append(samples, s)
	}
	pregeltest.CheckCombinerSame(t, vertexset.Union(), vertexset.Set.Equal, samples...)
}
