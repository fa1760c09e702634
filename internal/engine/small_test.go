package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// watchman is a program in which only one vertex stays awake.
type watchman struct{ awake pregel.VertexID }

func (watchman) Combiner() pregel.Combiner[uint64] { return combiners.Sum[uint64]() }
func (p watchman) Compute(v *pregel.Vertex[uint64, uint64], _ uint64) {
	if v.Set(v.Value() + 1); v.ID() != p.awake {
		v.VoteToHalt()
	}
}

// TestFewAwake: a superstep only looks at the words of awake vertices.
func TestFewAwake(t *testing.T) {
	const n, awake, steps = 20_000, 12_345, 4
	s := shape{name: "path", n: n}
	for i := range uint64(n - 1) {
		s.tuples = append(s.tuples, [2]uint64{i, i + 1})
	}
	for _, threads := range []int{1, 2} {
		way := setting{parts: 1, threads: threads}
		way.o.MaxSupersteps = steps
		g := s.loadAs(t, way, edges.Unweighted)
		work, looked := probe(&way.o), 0
		way.o.Progress = func(bsp.Progress) { _, looked = work.take(delivery.AwakeWords) }
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(watchman{awake}), teamed(t, way))
		check(t, err)
		defer j.Close()
		for range 2 { // the second run begins with all vertices awake again
			_, err = j.Run(t.Context())
			check(t, err)
			if looked != 1 {
				t.Errorf("%d threads: one vertex is awake, and a superstep looks at %d words",
					threads, looked)
			}
			for _, id := range []pregel.VertexID{0, awake, n - 1} {
				want := uint64(1)
				if id == awake {
					want = steps
				}
				if ran := j.Any(id); ran != want {
					t.Errorf("%d threads: vertex %d ran %v times, want %d", threads, id, ran, want)
				}
			}
		}
	}
}

// TestFewPassed: partitions that exchange few messages look at few words, and get the messages.
func TestFewPassed(t *testing.T) {
	const n, steps = 50_000, 40
	s := shape{name: "path", n: n}
	place := func(i uint64) uint64 { return i * 7919 % n }
	for i := range uint64(n - 1) {
		s.tuples = append(s.tuples, [2]uint64{place(i), place(i + 1)})
	}
	run := func(grid graph.Grid, choice delivery.Choice) (levels []any, looked int) {
		way := setting{parts: grid.Rows * grid.Columns, grid: grid, threads: 1}
		way.o.Delivery, way.o.MaxSupersteps = choice, steps
		g := s.loadAs(t, way, edges.Unweighted)
		work := probe(&way.o)
		source, _ := g.Find(place(n / 2))
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(algorithms.BFSLevels{Source: source}),
			teamed(t, way))
		check(t, err)
		defer j.Close()
		_, err = j.Run(t.Context())
		check(t, err)
		for v := range pregel.VertexID(n) {
			levels = append(levels, j.Any(v))
		}
		if _, awake := work.take(delivery.AwakeWords); awake > 4*2*steps {
			t.Errorf("grid %v, %v: %d supersteps with two senders look at %d words for receivers", grid,
				choice, steps, awake)
		}
		_, looked = work.take(delivery.PassedWords)
		return levels, looked
	}
	want, _ := run(graph.Of(1), delivery.ChooseNaive)
	for _, c := range []struct {
		grid   graph.Grid
		choice delivery.Choice
	}{
		{graph.Of(3), delivery.ChooseNaive},
		{graph.Of(3), delivery.ChooseMirrored},
		{graph.Grid{Rows: 2, Columns: 2}, delivery.ChoosePush},
	} {
		levels, looked := run(c.grid, c.choice)
		if !slices.Equal(levels, want) {
			t.Errorf("grid %v, %v: levels differ from those of one partition", c.grid, c.choice)
		}
		// each superstep has two senders, and at most four messages in each exchange
		if looked == 0 || looked > 2*16*4*steps {
			t.Errorf("grid %v, %v: %d supersteps with two senders look at %d words", c.grid, c.choice,
				steps, looked)
		}
	}
}

// TestPushesAreMeasured: the rate of pushes is that of a sample of edges, for each method by which
// a team divides them.
func TestPushesAreMeasured(t *testing.T) {
	s := layered(6, 1500)
	for _, threads := range []int{1, 2} {
		way := setting{parts: 1, threads: threads}
		g := s.loadAs(t, way, edges.Float64)
		for _, p := range []engine.Erased{
			pregel.Erase(algorithms.BFS{}), pregel.Erase(algorithms.SSSP[float64]{}),
		} {
			work := probe(&way.o)
			j, err := engine.NewJob(t.Context(), g, p, teamed(t, way))
			check(t, err)
			if _, n := work.take(delivery.PushedEdges); n < len(s.tuples)/8 {
				t.Errorf("%T, %d threads: pushes were measured over %d of %d edges", p.Program,
					threads, n, len(s.tuples))
			}
			j.Close()
		}
	}
}

// TestModelSharesPushesAsTheEngineDoes: the model predicts one thread for a push that the engine
// runs on one thread. With one more edge, both use the team.
func TestModelSharesPushesAsTheEngineDoes(t *testing.T) {
	for _, degree := range []int{delivery.SerialEdges, delivery.SerialEdges + 1} {
		s := shape{name: "star", n: degree + 1}
		for i := range uint64(degree) {
			s.tuples = append(s.tuples, [2]uint64{0, i + 1})
		}
		way := setting{parts: 1, threads: 2}
		way.o.Delivery, way.o.MaxSupersteps = delivery.ChooseNaive, 2
		g := s.loadAs(t, way, edges.Unweighted)
		for _, p := range []engine.Erased{
			pregel.Erase(algorithms.BFS{}), pregel.Erase(algorithms.BFSLevels{}),
		} {
			work := probe(&way.o)
			j, err := engine.NewJob(t.Context(), g, p, teamed(t, way))
			check(t, err)
			work.take(delivery.PushedEdges) // of measurements
			_, err = j.Run(t.Context())
			check(t, err)
			j.Close()
			rates, load := delivery.Rates{Push: 1}, delivery.Load{
				Grid: graph.Grid{Rows: 1, Columns: 1}, Partitions: 1, Processes: 1, Threads: 2,
				Senders: 1, SenderEdges: degree,
			}
			predicted := rates.Predict(&load)[delivery.Naive]
			tasks, edges := work.take(delivery.PushedEdges)
			if shared := len(tasks) > 1; edges != degree ||
				shared != (degree > delivery.SerialEdges) ||
				shared != (predicted < float64(degree)) {
				t.Errorf("%T, %d edges: %d tasks of threads, predicted %v edges' time", p.Program,
					degree, len(tasks), predicted)
			}
		}
	}
}

// BenchmarkSmallSupersteps searches a lattice, whose supersteps have few senders among many
// vertices.
func BenchmarkSmallSupersteps(b *testing.B) {
	for _, side := range []int{300, 1500} {
		s := shape{name: "lattice", n: side * side}
		for v := range uint64(side * side) {
			if v%uint64(side) > 0 {
				s.tuples = append(s.tuples, [2]uint64{v - 1, v})
			}
			if v >= uint64(side) {
				s.tuples = append(s.tuples, [2]uint64{v - uint64(side), v})
			}
		}
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("side=%d/threads=%d", side, threads), func(b *testing.B) {
				way := setting{parts: 1, threads: threads}
				j, err := engine.NewJob(b.Context(), s.loadAs(b, way, edges.Unweighted),
					pregel.Erase(algorithms.BFS{}), teamed(b, way))
				if err != nil {
					b.Fatal(err)
				}
				defer j.Close()
				supersteps, took := 0, time.Duration(0)
				for b.Loop() {
					o, err := j.Run(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					supersteps, took = supersteps+o.Supersteps, took+time.Duration(j.Seconds()*1e9)
				}
				b.ReportMetric(float64(took.Microseconds())/float64(supersteps), "µs/superstep")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
