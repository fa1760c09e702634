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
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// narrowRank is PageRank whose messages travel as float32.
type narrowRank struct{ algorithms.PageRank }

func (narrowRank) Combiner() pregel.Combiner[float64] { return combiners.NarrowSum() }

// ranks runs a program of ranks by tiles of a size, or without, and returns the ranks of two runs
// of one job: a job's second run has the tiles of its first, or, with two threads, lies elsewhere.
func ranks[P pregel.Program[float64,
	float64]](t *testing.T, s shape, program P, way setting,
	size graph.TileSize,
) (first, second []float64, by bool) {
	t.Helper()
	team := parallel.NewTeam(way.threads, false)
	defer team.Close()
	way.o.Team = team
	job, err := engine.NewJob(t.Context(), s.loadAs(t, way, edges.Unweighted),
		pregel.Erase(program), way.o)
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	job.ShareWork(0, 64)
	job.Tile(size)
	for i, to := range []*[]float64{&first, &second} {
		if i > 0 && way.threads == 2 {
			if left, err := job.PlaceAgain(t.Context()); left || err != nil {
				t.Fatalf("tiles are left that lie in another arena: %t; %v", left, err)
			}
		}
		check(t, job.Restart(pregel.Erase(program)))
		_, err := job.Run(t.Context())
		check(t, err)
		by = job.ByTiles()
		for v := range s.n {
			*to = append(*to, job.Any(pregel.VertexID(v)).(float64))
		}
	}
	return first, second, by
}

// TestTilesSumTheSame compares pulls by tiles with those by whole lists: to the bit where sums are
// ordered.
func TestTilesSumTheSame(t *testing.T) {
	tiled := 0
	for _, s := range shapes(7) {
		for i, size := range []graph.TileSize{{Senders: 1, Receivers: 64}, {Senders: 8, Receivers: 128, Arcs: 50}, {Senders: 128, Receivers: 1 << 13, Arcs: 100}, {Senders: 1 << 16, Receivers: 64, Arcs: 1 << 18}} {
			for _, deterministic := range []bool{false, true} {
				o := engine.Options{Deterministic: deterministic, Delivery: delivery.ChoosePull}
				way := setting{parts: 1, threads: 1 + i%3, o: o}
				t.Run(fmt.Sprintf("%s, tiles %v, %v", s.name, size, way), func(t *testing.T) {
					compare := func(want, got, again []float64) {
						t.Helper()
						for v := range want {
							if math.Abs(want[v]-got[v]) > 1e-12 || deterministic &&
								want[v] != got[v] {
								t.Errorf("vertex %d: %v by tiles, %v by whole lists", v, got[v],
									want[v])
							}
						}
						if !slices.Equal(got, again) {
							t.Error("the second run differs from the first")
						}
					}
					p := algorithms.PageRank{Damping: 0.85, Iterations: 5}
					want, _, by := ranks(t, s, p, way, graph.TileSize{})
					if by {
						t.Fatal("by tiles that were not to be")
					}
					got, again, by := ranks(t, s, p, way, size)
					compare(want, got, again)
					if by {
						tiled++
					}
					narrow := narrowRank{p}
					want, _, _ = ranks(t, s, narrow, way, graph.TileSize{})
					got, again, _ = ranks(t, s, narrow, way, size)
					compare(want, got, again)
				})
			}
		}
	}
	if tiled < 20 {
		t.Errorf("%d of the runs went by tiles: expected 20 at the least", tiled)
	}
}

// BenchmarkTiles runs PageRank by turns by whole lists and by tiles of several sizes, and reports
// the medians of the time of an iteration once tiles are made, and the time of the first run of
// each job, of an iteration.
func BenchmarkTiles(b *testing.B) {
	const iterations = 20
	p := algorithms.PageRank{Damping: 0.85, Iterations: iterations}
	type way struct {
		name    string
		program pregel.Program[float64, float64]
		size    graph.TileSize
	}
	narrow := narrowRank{p}
	ways := []way{{name: "whole", program: p}, {name: "float32-whole", program: narrow}, {"float32-64Kx8K", narrow, graph.TileSize{Senders: 1 << 16, Receivers: 1 << 13, Arcs: 1 << 18}}}
	for _, senders := range []uint32{1 << 15, 1 << 16} {
		for _, receivers := range []uint32{1 << 12, 1 << 13, 1 << 14} {
			ways = append(ways, way{
				fmt.Sprintf("%dKx%dK", senders>>10,
					receivers>>10), p,
				graph.TileSize{Senders: senders, Receivers: receivers, Arcs: 1 << 18},
			})
		}
	}
	for _, scale := range layerScales() {
		b.Run(fmt.Sprintf("scale=%d", scale), func(b *testing.B) {
			team := parallel.NewTeam(2, true)
			defer team.Close()
			g, _ := layerGraph(b, scale, team)
			jobs := make([]*engine.Job, len(ways))
			took := make([][]time.Duration, len(ways))
			first := make([]time.Duration, len(ways))
			for i, way := range ways {
				job, err := engine.NewJob(b.Context(), g, pregel.Erase(way.program),
					engine.Options{Team: team})
				check(b, err)
				defer job.Close()
				jobs[i] = job
				job.Tile(way.size)
			}
			for b.Loop() {
				for i, job := range jobs {
					check(b, job.Restart(pregel.Erase(ways[i].program)))
					job.Prepare()
					t := clocked(func() { _, err := job.Run(b.Context()); check(b, err) })
					if first[i] == 0 {
						first[i] = t
					} else {
						took[i] = append(took[i], t)
					}
				}
			}
			for i, way := range ways {
				if len(took[i]) == 0 { // -benchtime 1x
					took[i] = first[i : i+1]
				}
				slices.Sort(took[i])
				b.ReportMetric(first[i].Seconds()*1e3/iterations, way.name+"-first-ms")
				b.ReportMetric(took[i][len(took[i])/2].Seconds()*1e3/iterations, way.name+"-ms")
			}
		})
	}
}
