package engine_test

//lint:file-ignore U1000 an embedded type is used by the methods that it hides

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// withMessages hides the method Resend of a program, if both are embedded in a type.
type withMessages struct{}

func (withMessages) Resend() {}

type (
	fullPageRank struct {
		algorithms.PageRank
		withMessages
	}
	fullWCC struct {
		vertexWCC
		withMessages
	}
)

// costs has the costs of a run's checkpoints.
type costs struct{ raw, stored, copied, wrote, restored []float64 }

// BenchmarkCheckpoint takes checkpoints of a run, in turn with messages and with Resend. It reports
// the medians of each: the megabytes of state and as stored, the milliseconds that the run was
// stopped, the milliseconds of storing in memory, and those of restoring until the first superstep.
func BenchmarkCheckpoint(b *testing.B) {
	for _, scale := range layerScales() {
		team := parallel.NewTeam(1, false)
		g, _ := layerGraph(b, scale, team)
		benchmarkCheckpoint(b, fmt.Sprintf("PageRank/scale=%d", scale), g, team, 2,
			fullPageRank{PageRank: algorithms.PageRank{Iterations: 10}},
			algorithms.PageRank{Iterations: 10})
		benchmarkCheckpoint(b, fmt.Sprintf("WCC/scale=%d", scale), g, team, 1, fullWCC{},
			vertexWCC{})
		team.Close()
	}
}

func benchmarkCheckpoint[V, M any](
	b *testing.B, name string, g *graph.Graph, team *parallel.Team, every int, full,
	again pregel.Program[V, M],
) {
	b.Run(name, func(b *testing.B) {
		var all [2]costs
		for b.Loop() {
			for i, p := range []pregel.Program[V, M]{full, again} {
				addCosts(b, &all[i], g, p, engine.Options{Team: team}, every)
			}
		}
		for i, what := range []string{"with", "again"} {
			for unit, x := range map[string][]float64{"MB": all[i].raw, "MB-stored": all[i].stored, "ms-copied": all[i].copied, "ms-wrote": all[i].wrote, "ms-restored": all[i].restored} {
				slices.Sort(x)
				b.ReportMetric(x[len(x)/2], what+"-"+unit)
			}
		}
	})
}

// addCosts runs a program with checkpoints, one each time after the given number of supersteps. It
// continues from the first checkpoint. Only that one counts.
func addCosts[V, M any](
	b *testing.B, c *costs, g *graph.Graph, p pregel.Program[V, M], o engine.Options, every int,
) {
	b.Helper()
	place := &memory{objects: map[string][]byte{}, running: true}
	o.Parts = checkpoint.NewWriter(place, "run")
	k := checkpoint.NewKeeper(place, checkpoint.Policy{Every: every, Keep: 1000}, 0, func(text string) { b.Error(text) }, func(e checkpoint.Event) {
		if e.Superstep > every {
			return
		}
		c.raw, c.stored = append(c.raw, float64(e.Raw)/1e6), append(c.stored, float64(e.Bytes)/1e6)
		c.copied, c.wrote = append(c.copied, e.Copied*1e3), append(c.wrote, e.Wrote*1e3)
	})
	o.Checkpoints = k
	o.Progress = func(bsp.Progress) {
		o.Parts.Flush()
		check(b, k.Stored(o.Parts.Stored()))
		check(b, k.Settle())
	}
	j, err := engine.NewJob(b.Context(), g, pregel.Erase(p), o)
	check(b, err)
	_, err = j.Run(b.Context())
	check(b, err)
	j.Close()
	o.Parts.Close()
	k.Close(false)
	place.running = false
	found, err := checkpoint.List(b.Context(), place)
	check(b, err)
	first := found[len(found)-1].Manifest // the newest is listed first
	j, err = engine.NewJob(b.Context(), g, pregel.Erase(p), engine.Options{Team: o.Team})
	check(b, err)
	defer j.Close()
	check(b, j.Begin(b.Context(), nil, nil))
	began := time.Now()
	check(b, j.Restore(b.Context(), &checkpoint.Reader{Store: place, Manifest: first}))
	c.restored = append(c.restored, float64(time.Since(began).Microseconds())/1e3)
}
