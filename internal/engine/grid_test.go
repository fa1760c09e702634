package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

var twoByTwo = setting{parts: 4, grid: graph.Grid{Rows: 2, Columns: 2}, threads: 2}

// TestWhatGridsRefuse: a feature that a grid does not support fails, before the run or at the first
// use, with an error that tells what to use instead.
func TestWhatGridsRefuse(t *testing.T) {
	s := shapes(6)[7]
	g := s.loadAs(t, twoByTwo, edges.Unweighted)
	ranks := algorithms.PageRank{Damping: 0.85, Iterations: 3}
	refused(t, g, ranks, engine.Options{Deterministic: true},
		"combiner Sum[float64] is not possible in a grid of 2x2: use a grid of 4x1")
	refused(t, g, ranks, engine.Options{Delivery: delivery.ChooseNaive},
		"delivery naive is not possible in a grid of 2x2: use push, or a grid of 4x1")
	refused(t, g, ranks, engine.Options{Delivery: delivery.ChooseMirrored},
		"delivery mirrored is not possible in a grid of 2x2")
	refused(t, g, ranks, engine.Options{Delivery: delivery.ChooseLalp},
		"delivery lalp is not possible in a grid of 2x2: use push, or a grid of 4x1")
	refused(t, g, ranks, engine.Options{Delivery: delivery.ChooseRingPull},
		"not enough for combiner Sum[float64]", "use delivery pull")
	refused(t, g, algorithms.BFS{},
		engine.Options{Delivery: delivery.ChooseRingPull, Deterministic: true},
		"a deterministic run", "use delivery pull")
	refused(t, g, pregel.List(listener{}), engine.Options{Delivery: delivery.ChoosePull},
		"a list program always pushes in a grid of 2x2", "a grid of 4x1")
	refused(t, g, pregel.Program[int, int64](looks{}), engine.Options{}, "program looks, vertex ",
		"superstep 0: Edges: ", "a grid of 4x1 keeps them together (--grid 4x1)")
}

type looks struct{}

func (looks) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (looks) Compute(v *pregel.Vertex[int, int64], _ int64) {
	for range v.Edges() {
		v.Set(1)
	}
	v.VoteToHalt()
}

func refused[V, M any](
	t *testing.T, g *graph.Graph, p pregel.Program[V, M], o engine.Options, texts ...string,
) {
	t.Helper()
	_, _, err := tryRun(t, g, p, setting{threads: 2, o: o})
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) ||
			strings.Contains(err.Error(), "\n") {
			t.Fatalf("%T, %+v: the error is %v, want %q", p, o, err, text)
		}
	}
	if grids := o.Delivery != delivery.ChooseRingPull; errors.Is(err, pregel.ErrGrid) != grids {
		t.Errorf("%v: is an ErrGrid: %t, want %t", err, !grids, grids)
	}
}

// TestFlatGridsHaveOneRing: in a flat grid block pull and ring pull are the same as a pull.
func TestFlatGridsHaveOneRing(t *testing.T) {
	s := shapes(6)[7]
	for _, choice := range []delivery.Choice{delivery.ChooseBlockPull, delivery.ChooseRingPull} {
		way := setting{parts: 3, threads: 1, o: engine.Options{Delivery: choice}}
		run(t, s.loadAs(t, way, edges.Unweighted),
			algorithms.PageRank{Damping: 0.85, Iterations: 3}, way)
	}
}

// lines is an endpoint that records which partitions send to each other.
type lines struct {
	transport.Endpoint
	mu    *sync.Mutex
	spoke map[[2]int]map[transport.Kind]int
}

func (l lines) Send(f *transport.Frame) error {
	l.mu.Lock()
	at := [2]int{f.From, f.To}
	if l.spoke[at] == nil {
		l.spoke[at] = map[transport.Kind]int{}
	}
	l.spoke[at][f.Kind]++
	l.mu.Unlock()
	return l.Endpoint.Send(f)
}

// TestFramesGoAlongLines: a partition sends only to partitions of its processor row and column.
// Expand and the first hop of Send use the column. Fold, ring pulls, finished vertices and the
// second hop use the row.
func TestFramesGoAlongLines(t *testing.T) {
	s := shapes(6)[9]
	grid := graph.Grid{Rows: 3, Columns: 4}
	g := s.loadAs(t, setting{parts: 12, grid: grid}, edges.Unweighted)
	for _, choice := range []delivery.Choice{delivery.ChoosePush, delivery.ChooseBlockPull, delivery.ChooseRingPull} {
		spoke := speak(t, g, algorithms.BFS{Source: 0}, engine.Options{Delivery: choice})
		kinds := map[transport.Kind]bool{}
		for at, counts := range spoke {
			for kind := range counts {
				kinds[kind] = true
				column := kind == transport.Expand || kind == transport.Sends
				if column && grid.Column(at[0]) != grid.Column(at[1]) || !column &&
					grid.Row(at[0]) != grid.Row(at[1]) {
					t.Errorf("%v: partition %d sent %d an %v frame", choice, at[0], at[1], kind)
				}
			}
		}
		if !kinds[transport.Expand] || !kinds[transport.Fold] ||
			kinds[transport.Ring] != (choice == delivery.ChooseRingPull) ||
			kinds[transport.Finished] != (choice == delivery.ChooseBlockPull) {
			t.Errorf("%v: frames of kinds %v", choice, kinds)
		}
	}
	for at, counts := range speak(t, g, chatter{}, engine.Options{MaxSupersteps: 4}) {
		if (counts[transport.Sends] > 0) != (grid.Column(at[0]) == grid.Column(at[1])) ||
			(counts[transport.SendsOn] > 0) != (grid.Row(at[0]) == grid.Row(at[1])) {
			t.Errorf("partition %d sent %d %v", at[0], at[1], counts)
		}
	}
}

// speak runs a program with a job per partition, and returns the number of frames of each kind, by
// sender and receiver.
func speak[V, M any](t *testing.T, g *graph.Graph, p pregel.Program[V, M], o engine.Options,
) map[[2]int]map[transport.Kind]int {
	t.Helper()
	local := transport.NewLocal(len(g.Parts))
	l := lines{mu: new(sync.Mutex), spoke: map[[2]int]map[transport.Kind]int{}}
	all, d := apart(t, g, p, o, alone(g))
	_, err := all.run(context.Background(), d, func(i int) transport.Endpoint {
		of := l
		of.Endpoint = local.Endpoint(i)
		return of
	}, local.Close)
	check(t, err)
	return l.spoke
}
