package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
)

// Program is a vertex program whose types are forgotten: all that the command line and a cluster know of it.
type Program interface {
	// Name is the program's type.
	Name() string
	// Weights is the type of weights its combiner wants, or Unweighted.
	Weights() edges.Weights
	// Ready makes what of a graph the program needs and loading it did not make.
	Ready(ctx context.Context, g *graph.Graph, team *parallel.Team) error
	// Bind makes a job of it.
	Bind(g *graph.Graph, o Options) (Bound, error)
	// Share makes a job's part of a graph of which only some partitions are here, and Lead coordinates such parts.
	Share(g *graph.Graph, o Options) (Share, error)
	Lead(o Options, facts []*Facts) (Lead, error)
	// Printable is an error if nothing, or nothing that others could read, can be written of its values.
	Printable() error
	// Codec encodes its messages between processes: nil if they travel as they lie in memory. It is an error if they, or
	// what aggregators hold, cannot travel.
	Codec() (transport.Codec, error)
}

// Bound is a job whose types are forgotten.
type Bound interface {
	Run(ctx context.Context) (*Outcome, error)
	// Times returns the seconds of each superstep.
	Times() []float64
	// Append writes a vertex's value as result files have it.
	Append(dst []byte, id pregel.VertexID) []byte
	// Any returns a vertex's value.
	Any(id pregel.VertexID) any
	Close()
}

// Erase makes a Program of a typed one.
func Erase[V, M any](p pregel.Program[V, M]) (Program, error) {
	m, err := inspect(p)
	if err != nil {
		return nil, err
	}
	return &erased[V, M]{p, m}, nil
}

type erased[V, M any] struct {
	program pregel.Program[V, M]
	methods *methods[V, M]
}

func (e *erased[V, M]) Name() string { return programName(e.program) }

func (e *erased[V, M]) Weights() edges.Weights {
	w, ok := e.methods.combiner.(pregel.Weighing)
	if !ok {
		return edges.Unweighted
	}
	switch w.Weights() {
	case reflect.Float32:
		return edges.Float32
	case reflect.Float64:
		return edges.Float64
	default:
		return edges.Unweighted
	}
}

func (e *erased[V, M]) Ready(ctx context.Context, g *graph.Graph, team *parallel.Team) error {
	if e.methods.direction == pregel.Out {
		return nil
	}
	return g.Turn(ctx, team)
}

func (e *erased[V, M]) Bind(g *graph.Graph, o Options) (Bound, error) {
	j, err := NewJob(g, e.program, o)
	if err != nil {
		return nil, err
	}
	return j, nil
}

func (e *erased[V, M]) Share(g *graph.Graph, o Options) (Share, error) {
	j, err := newJob(g, e.program, o)
	if err != nil {
		return nil, err
	}
	return newShare(j), nil
}

func (e *erased[V, M]) Codec() (transport.Codec, error) {
	for _, a := range e.methods.aggregates {
		if err := pack.Carried(a.Type()); err != nil {
			return nil, fmt.Errorf("%s: aggregator %s: values of type %v cannot travel between processes: %w", e.Name(), a.Name(), a.Type(), err)
		}
	}
	if mem.PointerFree[M]() {
		return nil, nil
	}
	c, err := pack.New[M]()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name(), err)
	}
	return c, nil
}

func (e *erased[V, M]) Lead(o Options, facts []*Facts) (Lead, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if len(facts) == 0 {
		return nil, errors.New("no process has a share of the job")
	}
	c, err := newCoordinator(e.methods, o, facts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name(), err)
	}
	l := &lead{name: e.Name(), aggregates: e.methods.aggregates, c: c}
	for range c.load.Partitions {
		l.cells = append(l.cells, newCells(e.methods.aggregates, o.Deterministic))
	}
	return l, nil
}

// Any returns a vertex's value.
func (j *Job[V, M]) Any(id pregel.VertexID) any { return j.Value(id) }

// Append writes a vertex's value as result files have it: by the program's Output, or plainly, with vertices under
// their input ids.
func (j *Job[V, M]) Append(dst []byte, id pregel.VertexID) []byte {
	return j.appendAs(dst, id, j.graph.Label)
}
