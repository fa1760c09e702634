package engine

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// Facts are what the coordinator must know of a process's partitions before the first superstep.
type Facts struct {
	Partitions      int // of the whole graph
	Vertices, Edges uint64
	Ordered         bool // the result depends on the order of messages

	Load  delivery.Load // what these partitions add to it, the graph's vertices apart
	Rates delivery.Rates
}

// facts returns those of the job's partitions.
func (j *Job[V, M]) facts() *Facts {
	r := j.runners[0]
	threads := 1
	if j.options.Team != nil {
		threads = j.options.Team.Size()
	}
	f := &Facts{
		Partitions: r.part.Of, Vertices: uint64(j.graph.N), Edges: j.graph.Arcs, Ordered: r.traits.Ordered,
		Load: delivery.Load{
			Vertices: j.graph.N, Partitions: r.part.Of, Grid: r.part.Grid, SubSteps: j.options.subSteps(), Threads: threads,
			AnyOne: r.traits.AnyOne, Bytes: r.traits.Bytes, FoldBytes: int(reflect.TypeFor[M]().Size()),
		},
		Rates: r.measure(),
	}
	if j.options.Alpha > 0 {
		f.Rates.Alpha, f.Rates.Beta = j.options.Alpha, j.options.Beta
	}
	for _, r := range j.runners {
		f.Load.Arcs += r.outEdges
		r.classes(&f.Load.Classes)
		for _, ways := range r.layout.Blocks {
			if !r.part.HasSendersView(ways.Pull) {
				f.Load.Untransposed += len(ways.Pull.ByReceiver.Adj)
			}
			f.Load.Listed += ways.Pull.Senders.Count()
			f.Load.Ghosts += ways.Push.Receivers.Count()
		}
	}
	return f
}

// classes counts the partition's vertices by in-degree.
func (r *runner[V, M]) classes(into *[33]int) {
	for w, d := range r.inEqual {
		if d != unequal {
			into[bits.Len32(d)] += 64
			continue
		}
		for _, d := range r.inDegrees[w<<6 : w<<6+64] {
			into[bits.Len32(d)]++
		}
	}
}

// newCoordinator makes the coordinator of a program over the partitions of all processes.
func newCoordinator[V, M any](m *methods[V, M], o Options, facts []*Facts) (*coordinator, error) {
	first := facts[0]
	force, err := forced(m, o, first)
	if err != nil {
		return nil, err
	}
	policy := delivery.Policy{Force: force, Rates: first.Rates}
	load := first.Load
	for _, f := range facts[1:] {
		load.Threads += f.Load.Threads
		load.Arcs += f.Load.Arcs
		for i, n := range f.Load.Classes {
			load.Classes[i] += n
		}
		load.Untransposed += f.Load.Untransposed
		load.Listed += f.Load.Listed
		load.Ghosts += f.Load.Ghosts
	}
	return &coordinator{
		program: m.coordinate, aggregates: m.aggregates, totals: newCells(m.aggregates, o.Deterministic), policy: policy,
		limit: o.MaxSupersteps, vertices: first.Vertices, edges: first.Edges, load: load, sized: !mem.PointerFree[M](),
	}, nil
}

// forced returns how messages are to be delivered: as the options say, where the program and the grid leave a choice.
func forced[V, M any](m *methods[V, M], o Options, f *Facts) (delivery.Choice, error) {
	what := "a list program"
	if m.combiner != nil {
		what = "combiner " + m.combiner.String()
	}
	flat, list := f.Load.Grid.Flat(), m.list != nil
	use := graph.Of(f.Partitions) // where a grid does not do
	ordered := o.Deterministic && f.Ordered
	switch d := o.Delivery; {
	case ordered && !flat:
		return 0, gridError(fmt.Sprintf("a deterministic run with %s cannot be had in a grid of %v: use a grid of %v", what, f.Load.Grid, use))
	case ordered && d != delivery.ChooseAuto && !d.Allows(delivery.Pull):
		// Only a pull folds the messages of a vertex in the order of their senders.
		return 0, fmt.Errorf("a deterministic run with %s pulls: delivery %v cannot be had", what, d)
	case ordered && o.Uncombined:
		return 0, fmt.Errorf("a deterministic run with %s pulls: messages cannot be pushed uncombined", what)
	case ordered:
		return delivery.ChoosePull, nil
	case flat && o.Uncombined:
		return delivery.ChooseNaive, nil
	case flat && (d == delivery.ChooseRing || d == delivery.ChooseWhole): // a row of one block
		return delivery.ChoosePull, nil
	case flat:
		return d, nil
	case d == delivery.ChooseNaive || d == delivery.ChooseMirrored:
		return 0, gridError(fmt.Sprintf("delivery %v cannot be had in a grid of %v: use push, or a grid of %v", d, f.Load.Grid, use))
	case list && d != delivery.ChooseAuto && d != delivery.ChoosePush:
		return 0, gridError(fmt.Sprintf("%s is pushed in a grid of %v: delivery %v cannot be had, but in a grid of %v", what, f.Load.Grid, d, use))
	case d == delivery.ChooseRing && !f.Load.AnyOne:
		if o.Deterministic {
			return 0, errors.New("delivery ring takes any one message, and a deterministic run always the same: use delivery pull")
		}
		return 0, fmt.Errorf("delivery ring takes any one message, which is not enough for %s: use delivery pull", what)
	case list || o.Uncombined:
		return delivery.ChoosePush, nil
	}
	return o.Delivery, nil
}

// newCells makes cells for aggregators, by their numbers.
func newCells(aggregates []pregel.Aggregate, exact bool) []pregel.Cell {
	var cells []pregel.Cell
	for _, a := range aggregates {
		for len(cells) <= a.Number() {
			cells = append(cells, nil)
		}
		cells[a.Number()] = a.NewCell(exact)
	}
	return cells
}
