package engine_test

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// BenchmarkObserved runs searches by turns unobserved, summed up as every run of the command line is, shown as by --http,
// and written as by --trace too. It reports the mean of the least times of 16 searches each, and the ratios to the unobserved
// ones.
func BenchmarkObserved(b *testing.B) {
	team := parallel.NewTeam(2, true)
	defer team.Close()
	g, roots := benchmarkGraph(b, team, 16, edges.Unweighted)
	file, err := os.Create(filepath.Join(b.TempDir(), "trace.jsonl"))
	check(b, err)
	defer file.Close()
	buffer := bufio.NewWriterSize(file, 64<<10)
	meter, store := new(history.Meter), history.NewStore()
	sinks := []trace.Sink{nil, meter, trace.Tee{meter, store}, trace.Tee{meter, store, trace.NewWriter(buffer)}}
	names := []string{"off", "summed", "shown", "written"}
	var jobs []*engine.Job[pregel.VertexID, pregel.VertexID]
	for _, sink := range sinks {
		job, err := engine.NewJob(g, algorithms.BFS{}, engine.Options{Team: team, Trace: sink})
		check(b, err)
		defer job.Close()
		jobs = append(jobs, job)
		job.ModelAs(jobs[0]) // else they measure themselves, and push and pull in other supersteps
	}
	least := make([][]float64, len(jobs))
	for i := range least {
		least[i] = slices.Repeat([]float64{math.Inf(1)}, len(roots))
	}
	for b.Loop() {
		for turn := range 10 {
			for r, root := range roots {
				for k := range jobs {
					i := (k + turn) % len(jobs)
					check(b, jobs[i].Restart(algorithms.BFS{Source: root}))
					jobs[i].Prepare()
					least[i][r] = min(least[i][r], clocked(func() {
						_, err := jobs[i].Run(b.Context())
						check(b, err)
					}).Seconds())
				}
			}
		}
	}
	sum := func(x []float64) (total float64) {
		for _, t := range x {
			total += t
		}
		return total
	}
	for i, name := range names {
		b.ReportMetric(sum(least[i])*1e3/float64(len(roots)), name+"-ms")
		b.ReportMetric(sum(least[i])/sum(least[0]), name+"/off")
	}
}
