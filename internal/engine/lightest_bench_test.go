package engine_test

import (
	"testing"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// BenchmarkShortestPaths reports the time of shortest paths from a root, in turn with and without
// the tree.
func BenchmarkShortestPaths(b *testing.B) {
	team := parallel.NewTeam(2, true)
	defer team.Close()
	g, roots := benchmarkGraph(b, team, 8, edges.Float32)
	tree, err := engine.NewJob(b.Context(), g,
		pregel.Erase(algorithms.SSSPTree[float32]{Source: roots[0]}), engine.Options{Team: team})
	check(b, err)
	defer tree.Close()
	alone, err := engine.NewJob(b.Context(), g,
		pregel.Erase(algorithms.SSSP[float32]{Source: roots[0]}), engine.Options{Team: team})
	check(b, err)
	defer alone.Close()
	var withTree, distances time.Duration
	run := func(source pregel.VertexID) {
		start := time.Now()
		check(b, tree.Restart(pregel.Erase(algorithms.SSSPTree[float32]{Source: source})))
		_, err := tree.Run(b.Context())
		check(b, err)
		withTree += time.Since(start)
		start = time.Now()
		check(b, alone.Restart(pregel.Erase(algorithms.SSSP[float32]{Source: source})))
		_, err = alone.Run(b.Context())
		check(b, err)
		distances += time.Since(start)
	}
	run(roots[0])
	withTree, distances = 0, 0
	for b.Loop() {
		for _, source := range roots {
			run(source)
		}
	}
	searches := float64(b.N*len(roots)) * 1e6
	b.ReportMetric(float64(withTree)/searches, "tree-ms")
	b.ReportMetric(float64(distances)/searches, "distances-ms")
	b.ReportMetric(0, "ns/op")
}
