package engine

import (
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/internal/delivery"
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
			Vertices: j.graph.N, Partitions: r.part.Of, Threads: threads,
			AnyOne: r.traits.AnyOne, Bytes: r.traits.Bytes, FoldBytes: int(reflect.TypeFor[M]().Size()),
		},
		Rates: r.measure(),
	}
	if j.options.Alpha > 0 {
		f.Rates.Alpha, f.Rates.Beta = j.options.Alpha, j.options.Beta
	}
	for _, r := range j.runners {
		f.Load.Arcs += r.outEdges
		for _, ways := range r.layout.Blocks {
			if !r.part.HasSendersView(ways.Pull) {
				f.Load.Untransposed += len(ways.Pull.ByReceiver.Adj)
			}
			for q := range ways.Pull.Senders.Groups {
				f.Load.Listed += int(ways.Pull.Senders.Groups[q].Count)
				f.Load.Ghosts += int(ways.Push.Receivers.Groups[q].Count)
			}
		}
	}
	return f
}

// newCoordinator makes the coordinator of a program over the partitions of all processes.
func newCoordinator[V, M any](m *methods[V, M], o Options, facts []*Facts) (*coordinator, error) {
	first := facts[0]
	policy := delivery.Policy{Force: o.Delivery, Rates: first.Rates}
	if o.Deterministic && first.Ordered {
		// Only a pull folds the messages of a vertex in the order of their senders.
		what := "a list program"
		if m.combiner != nil {
			what = "combiner " + m.combiner.String()
		}
		if o.Delivery != delivery.ChooseAuto && o.Delivery != delivery.ChoosePull {
			return nil, fmt.Errorf("a deterministic run with %s pulls: delivery %v cannot be had", what, o.Delivery)
		}
		if o.Uncombined {
			return nil, fmt.Errorf("a deterministic run with %s pulls: messages cannot be pushed uncombined", what)
		}
		policy.Force = delivery.ChoosePull
	}
	if o.Uncombined {
		policy.Force = delivery.ChooseNaive
	}
	load := first.Load
	for _, f := range facts[1:] {
		load.Threads += f.Load.Threads
		load.Arcs += f.Load.Arcs
		load.Untransposed += f.Load.Untransposed
		load.Listed += f.Load.Listed
		load.Ghosts += f.Load.Ghosts
	}
	return &coordinator{
		program: m.coordinate, aggregates: m.aggregates, totals: newCells(m.aggregates, o.Deterministic), policy: policy,
		limit: o.MaxSupersteps, vertices: first.Vertices, edges: first.Edges, load: load,
	}, nil
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
