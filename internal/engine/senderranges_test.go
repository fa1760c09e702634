package engine_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// narrowRank is PageRank whose messages travel as float32.
type narrowRank struct{ vertexPageRank }

func (narrowRank) Combiner() pregel.Combiner[float64] { return combiners.NarrowSum() }

// ranks runs a program of ranks with the senders cut before these slots, and returns the ranks of two runs of one job: a job's second run has the
// index of its first.
func ranks[P pregel.Program[float64, float64]](t *testing.T, s shape, program P, way setting, cuts ...uint32) (first, second []float64, by bool) {
	t.Helper()
	team := parallel.NewTeam(way.threads, false)
	defer team.Close()
	way.o.Team = team
	job, err := engine.NewJob(t.Context(), s.loadAs(t, way, edges.Unweighted), program, way.o)
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	job.ShareWork(0, 64)
	job.CutSenders(len(cuts)%3, cuts...)
	for _, to := range []*[]float64{&first, &second} {
		check(t, job.Restart(program))
		_, err := job.Run(t.Context())
		check(t, err)
		by = job.ByRanges()
		for v := range s.n {
			*to = append(*to, job.Value(pregel.VertexID(v)))
		}
	}
	return first, second, by
}

// TestSenderRangesSumTheSame compares pulls by ranges of senders with those by whole lists: to the bit where sums are ordered.
func TestSenderRangesSumTheSame(t *testing.T) {
	ranged := 0
	for _, s := range shapes(7) {
		for i, cuts := range [][]uint32{{1}, {5, 60}, {64, 65, 300}, {1 << 20}} {
			for _, deterministic := range []bool{false, true} {
				o := engine.Options{Deterministic: deterministic, Delivery: delivery.ChoosePull}
				way := setting{parts: 1, threads: 1 + i%3, o: o}
				t.Run(fmt.Sprintf("%s, cuts %v, %v", s.name, cuts, way), func(t *testing.T) {
					compare := func(want, got, again []float64) {
						t.Helper()
						for v := range want {
							if math.Abs(want[v]-got[v]) > 1e-12 || deterministic && want[v] != got[v] {
								t.Errorf("vertex %d: %v by ranges, %v by whole lists", v, got[v], want[v])
							}
						}
						if !slices.Equal(got, again) {
							t.Error("the second run differs from the first")
						}
					}
					p := algorithms.PageRank{Damping: 0.85, Iterations: 5}
					want, _, by := ranks(t, s, p, way)
					if by {
						t.Fatal("by ranges, without cuts")
					}
					got, again, by := ranks(t, s, p, way, cuts...)
					compare(want, got, again)
					if by {
						ranged++
					}
					narrow := narrowRank{vertexPageRank(p)}
					want, _, _ = ranks(t, s, narrow, way)
					got, again, _ = ranks(t, s, narrow, way, cuts...)
					compare(want, got, again)
				})
			}
		}
	}
	if ranged < 20 {
		t.Errorf("%d of the runs went by ranges: expected 20 at the least", ranged)
	}
}

// BenchmarkSenderRanges runs PageRank by turns by whole lists and by ranges of senders, where lists of more than so many arcs are cut, and reports the medians of
// the time of an iteration once lists are cut, and the time of the first run of each job.
func BenchmarkSenderRanges(b *testing.B) {
	const iterations = 20
	ways := []int{-1, 0, 16, 64, 128} // -1 is by whole lists
	for _, scale := range layerScales() {
		b.Run(fmt.Sprintf("scale=%d", scale), func(b *testing.B) {
			team := parallel.NewTeam(2, true)
			defer team.Close()
			g, _ := layerGraph(b, scale, team)
			p := algorithms.PageRank{Damping: 0.85, Iterations: iterations}
			jobs := make([]*engine.Job[float64, float64], len(ways))
			took := make([][]time.Duration, len(ways))
			first := make([]time.Duration, len(ways))
			for i, short := range ways {
				job, err := engine.NewJob(b.Context(), g, p, engine.Options{Team: team})
				check(b, err)
				defer job.Close()
				jobs[i] = job
				if short < 0 {
					job.CutSenders(0)
				} else {
					job.CutSenders(short, 1<<16, 2<<16, 1<<20)
				}
			}
			for b.Loop() {
				for i, job := range jobs {
					check(b, job.Restart(p))
					job.Prepare()
					t := clocked(func() { _, err := job.Run(b.Context()); check(b, err) })
					if first[i] == 0 {
						first[i] = t
					} else {
						took[i] = append(took[i], t)
					}
				}
			}
			for i, short := range ways {
				if len(took[i]) == 0 { // -benchtime 1x
					took[i] = first[i : i+1]
				}
				slices.Sort(took[i])
				b.ReportMetric(first[i].Seconds()*1e3/iterations, fmt.Sprintf("first-%d-ms", short))
				b.ReportMetric(took[i][len(took[i])/2].Seconds()*1e3/iterations, fmt.Sprintf("short-%d-ms", short))
			}
		})
	}
}
