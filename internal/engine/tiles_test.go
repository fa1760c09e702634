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

// ranks runs a program of ranks with tiles of a size, or without, and returns the ranks of two runs
// of one job. The second run has the tiles of the first.
func ranks[P pregel.Program[float64,
	float64]](t *testing.T, s shape, program P, way setting,
	size graph.TileSize,
) (first, second []float64, by bool) {
	t.Helper()
	team := parallel.NewTeam(way.threads, false)
	defer team.Close()
	way.o.Team = team
	shareWork(&way.o, 64)
	way.o.Sizes.Tile, way.o.WholeLists = size, size.Senders == 0
	work := probe(&way.o)
	job, err := engine.NewJob(t.Context(), s.loadAs(t, way, edges.Unweighted),
		pregel.Erase(program), way.o)
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	for _, to := range []*[]float64{&first, &second} {
		check(t, job.Restart(pregel.Erase(program)))
		_, err := job.Run(t.Context())
		check(t, err)
		_, arcs := work.take(delivery.TiledArcs)
		by = arcs > 0
		for v := range s.n {
			*to = append(*to, job.Any(pregel.VertexID(v)).(float64))
		}
	}
	return first, second, by
}

// TestTilesSumTheSame compares pulls by tiles with pulls of whole lists: to the bit if sums are
// ordered.
func TestTilesSumTheSame(t *testing.T) {
	tiled, least := 0, 20
	if raced {
		least = 5
	}
	for i, s := range shapes(7) {
		if raced && i%3 > 0 {
			continue
		}
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
				})
			}
		}
	}
	if tiled < least {
		t.Errorf("%d of the runs went by tiles: expected %d at the least", tiled, least)
	}
}

// summing is a program of sums that vertices send in each of some supersteps, or in none.
type summing struct{ silent bool }

func (summing) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }
func (p summing) Compute(v *pregel.Vertex[float64, float64], sum float64) {
	if v.Set(sum); p.silent || v.Superstep() == 3 {
		v.VoteToHalt()
		return
	}
	v.SendToAllNeighbors(float64(v.ID()))
}

// joining is a program that adds an edge.
type joining struct{}

func (joining) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }
func (joining) Traits() pregel.Traits              { return pregel.Traits{Mutates: true} }
func (joining) Compute(v *pregel.Vertex[float64, float64], _ float64) {
	if v.Superstep() == 0 && v.ID() == 0 {
		v.Change().AddEdge(0, 1, 1)
	}
	v.VoteToHalt()
}

// TestTilesOfAnotherGraph: tiles are dropped with their memory when a job moves to a graph that
// another job has changed. They are not reused when it moves back.
func TestTilesOfAnotherGraph(t *testing.T) {
	s := sparse() // its tiles are not on Go's heap
	g := s.loadAs(t, setting{parts: 1}, edges.Unweighted)
	o := engine.Options{Shared: engine.NewShared(), Delivery: delivery.ChoosePull}
	defer o.Shared.Close()
	changing, err := engine.NewJob(t.Context(), g, pregel.Erase(joining{}), o)
	check(t, err)
	defer changing.Close()
	o.Sizes.Tile = graph.TileSize{Senders: 1 << 12, Receivers: 1 << 12, Arcs: 1 << 12}
	work := probe(&o)
	job, err := engine.NewJob(t.Context(), g, pregel.Erase(summing{}), o)
	check(t, err)
	defer job.Close()
	sums := func(p summing) (all []any) {
		check(t, job.Restart(pregel.Erase(p)))
		_, err := job.Run(t.Context())
		check(t, err)
		for v := range s.n {
			all = append(all, job.Any(pregel.VertexID(v)))
		}
		return all
	}
	want := sums(summing{})
	if _, arcs := work.take(delivery.TiledArcs); arcs == 0 {
		t.Fatal("there are no tiles")
	}
	_, err = changing.Run(t.Context())
	check(t, err)
	changing.Shared()
	sums(summing{silent: true})
	work.take(delivery.MadeTiles)
	o.Shared.Close() // the graph is the loaded one again
	if got := sums(summing{}); !slices.Equal(got, want) {
		t.Error("other sums than before the graph was changed")
	}
	if made, _ := work.take(delivery.MadeTiles); len(made) != 1 {
		t.Errorf("tiles were made %d times for the graph as it was loaded", len(made))
	}
}

// BenchmarkTiles runs PageRank in turn with whole lists and with tiles of several sizes. It reports
// the medians, per iteration, of the time after tiles are made, and of the time of the first run of
// each job.
func BenchmarkTiles(b *testing.B) {
	const iterations = 20
	p := algorithms.PageRank{Damping: 0.85, Iterations: iterations}
	type way struct {
		name    string
		program pregel.Program[float64, float64]
		size    graph.TileSize
	}
	ways := []way{{name: "whole", program: p}}
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
				o := engine.Options{Team: team}
				o.Sizes.Tile, o.WholeLists = way.size, way.size.Senders == 0
				job, err := engine.NewJob(b.Context(), g, pregel.Erase(way.program), o)
				check(b, err)
				defer job.Close()
				jobs[i] = job
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
