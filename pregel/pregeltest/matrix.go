package pregeltest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/laws"
	"github.com/superstep-go/superstep/pregel"
)

// Matrix runs a program on a graph with many combinations of partitions, grids, deliveries and
// threads, deterministic or not. If two results differ, it fails the test and prints both settings.
// It returns the result of the first run, with one partition and one thread.
//
// Values are compared by reflect.DeepEqual, but NaN equals NaN; the numbers of supersteps and
// messages must be equal too. If values may differ, as sums of floats do, pass a function that
// compares two values, such as [Within]. The values of deterministic runs must be equal in any
// case. Matrix skips a grid in which the program fails with [pregel.ErrGrid].
//
// The test also fails if
//   - memory that a message points to changes after the message was sent: Matrix compares messages
//     when they are sent, and after each superstep until they have been read;
//   - a vertex or Coordinate changes a field of the program;
//   - Resend sends other messages than the program sent.
//
// The slice of messages of a list program is cleared after each call, so that a program that keeps
// the slice gets a wrong result.
func Matrix[V, M any](t testing.TB, g *superstep.Graph, p pregel.Program[V, M], same ...func(a,
	b V) bool,
) *superstep.Result[V] {
	t.Helper()
	return MatrixWith(t, g, p, superstep.Options{}, same...)
}

// MatrixWith is [Matrix] with options for all its runs, such as Columns and Seed. It sets Threads,
// Delivery and Deterministic itself.
func MatrixWith[V, M any](
	t testing.TB, g *superstep.Graph, p pregel.Program[V, M], o superstep.Options,
	same ...func(a, b V) bool,
) *superstep.Result[V] {
	t.Helper()
	m := matrix[V, M]{g: g, p: p, o: o, same: laws.Same[V], counts: len(same) == 0}
	if len(same) > 0 {
		m.same = same[0]
	}
	for _, w := range ways() {
		if err := m.run(w); err != nil {
			t.Fatalf("pregeltest.Matrix: %T: %v", pregel.Erase(p).Program, err)
		}
	}
	return m.first
}

// Within returns a function that compares floats. Two are equal if their difference is at most the
// tolerance, or the tolerance times their size if the size exceeds 1.
func Within[F ~float32 | ~float64](tolerance float64) func(a, b F) bool {
	return func(a, b F) bool {
		x, y := float64(a), float64(b)
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			return true
		}
		size := max(1, math.Abs(x), math.Abs(y))
		return !math.IsInf(size, 0) && math.Abs(x-y) <= tolerance*size
	}
}

// way is one combination of options for a run.
type way struct {
	grid superstep.Grid
	o    superstep.Options
}

func (w way) String() string {
	s := fmt.Sprintf("%d partitions, Options{Threads: %d, Delivery: %v", w.grid.Rows*w.grid.Columns,
		w.o.Threads, w.o.Delivery)
	if !w.grid.Flat() {
		s = fmt.Sprintf("a grid of %v, ", w.grid) + s
	}
	if w.o.Deterministic {
		s += ", Deterministic: true"
	}
	return s + "}"
}

// ways returns all combinations, the simplest first.
func ways() []way {
	deliveries := []superstep.Delivery{
		superstep.Auto, superstep.Naive, superstep.Mirrored, superstep.Lalp, superstep.Pull,
	}
	var all []way
	for _, partitions := range []int{1, 2, 3, 7} {
		grid := superstep.Grid{Rows: partitions, Columns: 1}
		for _, delivery := range deliveries {
			for _, threads := range []int{1, 3} {
				if threads == 3 && delivery == superstep.Naive || threads == 1 &&
					delivery == superstep.Mirrored {
					continue // equivalent to another combination
				}
				o := superstep.Options{Threads: threads, Delivery: delivery}
				all = append(all, way{grid, o})
			}
		}
		all = append(all, way{grid, superstep.Options{Threads: 2, Deterministic: true}})
	}
	deliveries = []superstep.Delivery{superstep.Push, superstep.Pull, superstep.Whole}
	for i, sides := range [][2]int{{2, 2}, {3, 2}, {2, 3}} {
		grid := superstep.Grid{Rows: sides[0], Columns: sides[1]}
		for j, delivery := range deliveries {
			all = append(all,
				way{grid, superstep.Options{Threads: 1 + (i+j)%3, Delivery: delivery}})
		}
		all = append(all, way{grid, superstep.Options{Deterministic: true}})
	}
	return all
}

// matrix runs a program in many ways and compares the results.
type matrix[V, M any] struct {
	g      *superstep.Graph
	p      pregel.Program[V, M]
	o      superstep.Options
	same   func(a, b V) bool
	counts bool // compare supersteps and messages too

	first  *superstep.Result[V]
	exact  *superstep.Result[V] // the result of the first deterministic run
	parted *superstep.Graph
	plain  way
	plainD way
}

func (m *matrix[V, M]) run(w way) error {
	ctx := context.Background()
	if m.parted == nil || m.parted.Grid() != w.grid {
		parted, err := m.g.Repartition(ctx, superstep.LoadOptions{Grid: w.grid})
		if err != nil {
			return err
		}
		m.parted = parted // not closed: results name vertices by it
	}
	o := m.o
	o.Threads, o.Delivery, o.Deterministic = w.o.Threads, w.o.Delivery, w.o.Deterministic
	res, err := superstep.Run(engine.Watch(ctx, new(sentMessages)), m.parted, m.p, o)
	if errors.Is(err, pregel.ErrGrid) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("with %v: %w", w, err)
	}
	if m.first == nil {
		m.first, m.plain = res, w
	}
	if err := m.compare(m.first, m.plain, res, w, m.same); err != nil || !w.o.Deterministic {
		return err
	}
	if m.exact == nil {
		m.exact, m.plainD = res, w
	}
	return m.compare(m.exact, m.plainD, res, w, laws.Same[V])
}

func (m *matrix[V, M]) compare(
	want *superstep.Result[V], plain way, got *superstep.Result[V], w way, same func(a, b V) bool,
) error {
	for i := range m.g.NumVertices() {
		id := pregel.VertexID(i)
		if a, b := want.Value(id), got.Value(id); !same(a, b) {
			return fmt.Errorf("the value of vertex %d is\n%v with %v, and\n%v with %v",
				m.g.Label(id), show(a), plain, show(b), w)
		}
	}
	if !m.counts {
		return nil
	}
	if want.Supersteps != got.Supersteps || want.Ended != got.Ended {
		return fmt.Errorf("there are %d supersteps with %v, and %d with %v", want.Supersteps, plain,
			got.Supersteps, w)
	}
	if want.Messages != got.Messages {
		return fmt.Errorf("there are %d messages with %v, and %d with %v", want.Messages, plain,
			got.Messages, w)
	}
	return nil
}

func show(v any) string { return fmt.Sprintf("%+v", v) }
