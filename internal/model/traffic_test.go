package model

import (
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// measured adds up what searches sent, by level and phase.
type measured struct{ levels [][]Volume }

const (
	expand = iota
	ring
	fold
	phases
)

func (m *measured) Record(r *trace.Record) error {
	for len(m.levels) < r.Superstep {
		m.levels = append(m.levels, make([]Volume, phases))
	}
	for _, p := range r.Peers {
		phase, ok := map[string]int{"expand": expand, "ring": ring, "fold": fold}[p.Exchange]
		if !ok {
			continue
		}
		v := Volume{Messages: 1, Values: float64(p.Messages), Bytes: float64(p.Bytes)}
		if phase == ring {
			v.Values = 0
		}
		m.levels[r.Superstep-1][phase].add(v)
	}
	return nil
}

func TestTrafficIsAsMeasured(t *testing.T) {
	const scale = 14
	in, err := generate.Input(t.Context(), generate.Kronecker{Scale: scale, EdgeFactor: 16, Seed1: 2, Seed2: 3}, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, grid := range []Grid{{4, 4}, {2, 3}, {8, 8}, {16, 8}} {
		g, err := graph.Build(t.Context(), in, graph.Options{Grid: graph.Grid{Rows: grid.Rows, Columns: grid.Columns}, Duplicates: graph.LeastDuplicate, DropLoops: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, scheme := range []Scheme{Push, Pull} {
			var got, want [phases]Volume
			roots := 0
			for root := 100; root < g.Connected; root += g.Connected / 6 {
				roots++
				m := &measured{}
				o := engine.Options{Trace: m, Delivery: delivery.ChoosePush}
				if scheme == Pull {
					o.Delivery = delivery.ChooseRing
				}
				j, err := engine.NewJob(g, algorithms.BFS{Source: pregel.VertexID(root)}, o)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := j.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				j.Close()
				s := NewSearch(scale, 16, float64(g.Parts[root%len(g.Parts)].OutDegrees[root/len(g.Parts)]))
				for _, l := range m.levels {
					for p := range l {
						got[p].add(l[p])
					}
				}
				for _, l := range s.Levels {
					x := l.Traffic(scale, grid, scheme)
					want[expand].add(x.Expand)
					want[ring].add(x.Ring)
					want[fold].add(x.Fold)
				}
				if roots == 2 {
					for i, l := range m.levels {
						t.Logf("  level %d %v", i, l)
						if i < len(s.Levels) {
							t.Logf("   model %d %v", i, s.Levels[i].Traffic(scale, grid, scheme))
						}
					}
				}
			}
			t.Logf("%v %v: got %.0f", grid, scheme, got)
			t.Logf("%v %v: mod %.0f", grid, scheme, want)
		}
		g.Close()
	}
}
