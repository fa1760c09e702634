package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// BenchmarkChoice runs the algorithms with each delivery in turn, from 8 roots, and reports the
// median times. auto must not be slower than the better of push and pull, nor than Beamer's rule.
func BenchmarkChoice(b *testing.B) {
	team := parallel.NewTeam(2, true)
	defer team.Close()
	g, roots := benchmarkGraph(b, team, 8, edges.Float64)
	choices(b, g, team, "bfs", roots,
		func(s pregel.VertexID) algorithms.BFS { return algorithms.BFS{Source: s} })
	choices(b, g, team, "pagerank", roots[:1], func(pregel.VertexID) algorithms.PageRank {
		return algorithms.PageRank{Damping: 0.85, Iterations: 10}
	})
	choices(b, g, team, "sssp", roots, func(s pregel.VertexID) algorithms.SSSP[float64] { return algorithms.SSSP[float64]{Source: s} })
	choices(b, g, team, "wcc", roots[:1],
		func(pregel.VertexID) algorithms.WCC { return algorithms.WCC{} })
}

// benchmarkGraph returns a Kronecker graph of SCALE 20, or 12 in short tests, and roots of
// searches.
func benchmarkGraph(
	b *testing.B, team *parallel.Team, roots int, weights edges.Weights,
) (*graph.Graph, []pregel.VertexID) {
	gen := generate.Kronecker{Scale: 20, EdgeFactor: 16, Seed1: 2, Seed2: 3}
	if testing.Short() {
		gen.Scale = 12
	}
	in, err := generate.Input(b.Context(), gen, generate.Options{Team: team, Weights: weights})
	check(b, err)
	defer in.Close()
	g, err := build.Local(b.Context(), in, graph.Options{
		DropLoops: true, Duplicates: graph.LeastDuplicate, Weights: weights,
		Team: team,
	})
	check(b, err)
	b.Cleanup(g.Close)
	var ids []pregel.VertexID
	for _, r := range gen.Roots(roots, func(v uint64) bool { return int(g.IDs[v]) < g.Connected }) {
		id, _ := g.Find(r)
		ids = append(ids, id)
	}
	return g, ids
}

func choices[V, M any, P pregel.Program[V, M]](
	b *testing.B, g *graph.Graph, team *parallel.Team, name string, roots []pregel.VertexID,
	program func(pregel.VertexID) P,
) {
	b.Run(name, func(b *testing.B) {
		all := []delivery.Choice{delivery.ChooseAuto, delivery.ChoosePush, delivery.ChoosePull, delivery.ChooseBeamer}
		var jobs []*engine.Job
		for _, c := range all {
			job, err := engine.NewJob(b.Context(), g, pregel.Erase(program(roots[0])),
				engine.Options{Team: team, Delivery: c})
			check(b, err)
			defer job.Close()
			jobs = append(jobs, job)
		}
		times := make([][]float64, len(all))
		for b.Loop() {
			for range 5 {
				for i, job := range jobs {
					total := 0.0
					for _, root := range roots {
						check(b, job.Restart(pregel.Erase(program(root))))
						job.Prepare()
						total += clocked(func() {
							_, err := job.Run(b.Context())
							check(b, err)
						}).Seconds()
					}
					times[i] = append(times[i], total*1e3/float64(len(roots)))
				}
			}
		}
		medians := make([]float64, len(all))
		for i, t := range times {
			slices.Sort(t)
			medians[i] = t[len(t)/2]
			b.ReportMetric(medians[i], fmt.Sprintf("%v-ms", all[i]))
		}
		b.ReportMetric(medians[0]/min(medians[1], medians[2]), "auto/best")
		b.ReportMetric(medians[0]/medians[3], "auto/beamer")
	})
}
