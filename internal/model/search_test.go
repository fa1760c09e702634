package model

import (
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

type keep struct{ records []trace.Record }

func (k *keep) Record(r *trace.Record) error { k.records = append(k.records, *r); return nil }

func TestSearchIsAsMeasured(t *testing.T) {
	for _, scale := range []int{12, 14, 16} {
		in, err := generate.Input(t.Context(), generate.Kronecker{Scale: scale, EdgeFactor: 16, Seed1: 2, Seed2: 3}, generate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := graph.Build(t.Context(), in, graph.Options{Duplicates: graph.LeastDuplicate, DropLoops: true})
		if err != nil {
			t.Fatal(err)
		}
		var root pregel.VertexID
		s := NewSearch(scale, 16, 0)
		t.Logf("scale %d connected %d model %.0f arcs %d model %.0f", scale, g.Connected, s.Connected, g.Arcs, s.Edges)
		for i := range g.Connected {
			if g.Parts[0].OutDegrees[i] <= 40 {
				root = pregel.VertexID(i)
				break
			}
		}
		s = NewSearch(scale, 16, 40)
		k := &keep{}
		j, err := engine.NewJob(g, algorithms.BFS{Source: root}, engine.Options{Trace: k})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, r := range k.records {
			t.Logf("%d: %v senders %d walked %d", r.Superstep, r.Scheme, r.Senders, r.Edges)
		}
		for i, l := range s.Levels {
			t.Logf("%d: %.0f edges %.0f open %.0f openedges %.0f looks %.0f", i, l.Vertices, l.Edges, l.Open, l.OpenEdges, l.Looks)
		}
		j.Close()
		g.Close()
		in.Close()
	}
}
