package engine_test

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/metrics"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// BenchmarkObserved runs searches in turn: unobserved, summarized as in every run of the command
// line, shown as by --http, and also written as by --trace. It runs them unobserved a second time,
// which shows the noise. It reports the mean over 16 roots of the median of their times, and the
// median of the ratios to the unobserved search: of the whole time, and of the time that Graph500
// counts, in which few records are made.
func BenchmarkObserved(b *testing.B) {
	team := parallel.NewTeam(2, true)
	defer team.Close()
	g, roots := benchmarkGraph(b, team, 16, edges.Unweighted)
	file, err := os.Create(filepath.Join(b.TempDir(), "trace.jsonl"))
	check(b, err)
	defer file.Close()
	buffer := bufio.NewWriterSize(file, 64<<10)
	meter, store, set := new(history.Meter), history.NewStore(), metrics.New("")
	shown := trace.Tee{meter, store, set.NewRuns().Journal(set.NewWork())}
	journals := []trace.Journal{nil, meter, shown, append(slices.Clone(shown),
		trace.NewWriter(buffer)), nil}
	names := []string{"off", "summed", "shown", "written", "again"}
	// by observer and root
	times, inside := make([][][]float64, len(names)), make([][]float64, len(names))
	for i := range times {
		times[i] = make([][]float64, len(roots))
	}
	var ratios [5][]float64
	for b.Loop() {
		for turn := range 10 {
			// Two jobs with different addresses in memory differ by more than the time of a record.
			// So every turn uses new jobs, made in another order.
			var jobs [5]*engine.Job
			for k := range journals {
				i := (k + turn) % len(journals)
				jobs[i], err = engine.NewJob(b.Context(), g, pregel.Erase(algorithms.BFS{}),
					engine.Options{Team: team, Trace: journals[i]})
				check(b, err)
			}
			for r, root := range roots {
				var took, search [5]float64
				for k := range jobs {
					i := (k + turn) % len(jobs)
					job := jobs[i]
					check(b, job.Restart(pregel.Erase(algorithms.BFS{Source: root})))
					job.Prepare()
					took[i] = clocked(func() {
						_, err := job.Run(b.Context())
						check(b, err)
						search[i] = job.Seconds()
					}).Seconds()
				}
				for i, t := range took {
					times[i][r] = append(times[i][r], t)
					ratios[i] = append(ratios[i], t/took[0])
					inside[i] = append(inside[i], search[i]/search[0])
				}
			}
			for _, job := range jobs {
				job.Close()
			}
		}
	}
	for i, name := range names {
		mean := 0.0
		for _, t := range times[i] {
			mean += median(t) / float64(len(roots))
		}
		b.ReportMetric(mean*1e3, name+"-ms")
		b.ReportMetric(median(ratios[i]), name+"/off")
		b.ReportMetric(median(inside[i]), name+"-search/off")
	}
}

// median sorts x.
func median(x []float64) float64 {
	slices.Sort(x)
	return (x[len(x)/2] + x[(len(x)-1)/2]) / 2
}
