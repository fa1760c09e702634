package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
)

// ValidateGraph returns an error if the program rejects a graph. name is the graph's name in the
// error.
func (m *Program) ValidateGraph(name string, about pregel.GraphInfo) error {
	if err := m.validateGraph(name, about); err != nil {
		return fmt.Errorf("%s: %w", m.Name(), err)
	}
	return nil
}

// Name is the program's type.
func (m *Program) Name() string { return Name(m.program.Program) }

// Type is the program's type; Restart must be called with a program of the same type. Plan is the
// program's plan, or nil.
func (m *Program) Type() reflect.Type { return reflect.TypeOf(m.program.Program) }
func (m *Program) Plan() *Plan        { return m.plan }

// MaxSupersteps is the largest number of supersteps of a run, by the program's and the user's
// limits, or 0 if unknown. A limit of 0 means none.
func (m *Program) MaxSupersteps(limit int) (int, error) {
	own, err := m.bound()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", m.Name(), err)
	}
	return bsp.LeastLimit(own, limit), nil
}

func (m *Program) Properties() []kernel.Property { return m.properties }

// Mutates reports whether the program, or a phase of its plan, changes the graph.
func (m *Program) Mutates() bool {
	phases, _ := m.plan.Phases()
	return m.traits.Mutates || slices.ContainsFunc(phases, (*Program).Mutates)
}

// Weights is the type of weights that its combiner, or the combiner of a phase of its plan, needs;
// or Unweighted.
func (m *Program) Weights() edges.Weights {
	switch m.Methods.Weights {
	case reflect.Float32:
		return edges.Float32
	case reflect.Float64:
		return edges.Float64
	}
	phases, _ := m.plan.Phases()
	for _, p := range phases {
		if w := p.Weights(); w != edges.Unweighted {
			return w
		}
	}
	return edges.Unweighted
}

// Bind makes a job of the program on the partitions of a graph in this process.
func (m *Program) Bind(ctx context.Context, g *graph.Graph, o Options) (*Job, error) {
	return NewJob(ctx, g, m.program, o)
}

// Restart replaces the program of a job whose run is over. The job's program must have the same
// type.
func (m *Program) Restart(job *Job) error { return job.Restart(m.program) }

// Codec encodes messages between processes. It is nil if messages are sent as they are in memory.
// The error is not nil if messages or aggregators cannot be encoded.
func (m *Program) Codec() (transport.Codec, error) {
	for _, a := range m.aggregates {
		if err := pack.Carried(a.Type); err != nil {
			return nil, fmt.Errorf("%s: aggregator %s: values of type %v cannot be encoded: %w",
				m.Name(), a.Name, a.Type, err)
		}
	}
	if mem.PointerFreeType(m.program.Message) {
		return nil, nil
	}
	c, err := pack.New(m.program.Message)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name(), err)
	}
	return c, nil
}

// Aggregates returns the program's aggregators, for a deterministic or another run.
func (m *Program) Aggregates(deterministic bool) bsp.Aggregates {
	return bsp.Aggregates{All: m.aggregates, Exact: deterministic}
}

// Driver makes a driver of the program over the partitions of several processes, described by
// facts.
func (m *Program) Driver(o Options, facts []*bsp.Facts) (*bsp.Driver, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return bsp.New(m.describe(o.Deterministic), o.driver(nil), facts)
}

// describe returns the facts about the program that a driver needs.
func (m *Program) describe(deterministic bool) *bsp.Program {
	p := &bsp.Program{
		Name: m.Name(), List: m.List, Sized: !mem.PointerFreeType(m.program.Message),
		Combiner: m.Combiner, Aggregates: m.aggregates,
		Mutates: m.Mutates(), Types: m.savedTypes(deterministic),
		MaxSupersteps: m.traits.MaxSupersteps,
		Converges:     m.traits.Converges,
	}
	if m.own != nil {
		p.Own = m.own
	}
	if m.coordinates {
		p.Coordinate = m.own
	}
	return p
}

// Partitions is the number of partitions of the graph. ValueType is the type of the vertices'
// values.
func (j *Job) Partitions() int { return len(j.owners) }

func (j *Job) ValueType() reflect.Type { return j.methods.program.Value }

// Own returns the numbers of the partitions in this process.
func (j *Job) Own() []int {
	var own []int
	for _, r := range j.runners {
		own = append(own, r.part.Index)
	}
	return own
}

// Aggregates returns the program's aggregators, which encode cells for other processes.
func (j *Job) Aggregates() bsp.Aggregates { return j.methods.Aggregates(j.options.Deterministic) }

// MayHaveVertices reports whether the text of values may contain vertices.
func (j *Job) MayHaveVertices() bool {
	return j.methods.Has("OutputLabels") || !j.methods.Has("Output") &&
		MayHaveVertices(j.methods.program.Value)
}

// MayHaveVertices reports whether values of a type may contain vertices.
func MayHaveVertices(t reflect.Type) bool { return mayHaveVertices(t, 8) }

// mayHaveVertices is MayHaveVertices down to a depth.
func mayHaveVertices(t reflect.Type, depth int) bool {
	switch {
	case depth == 0 || t == reflect.TypeFor[pregel.VertexID]() || t.Kind() == reflect.Interface:
		return true
	case t.Kind() == reflect.Array || t.Kind() == reflect.Slice:
		return mayHaveVertices(t.Elem(), depth-1)
	case t.Kind() == reflect.Struct:
		for _, f := range shown(t) {
			if mayHaveVertices(f.Type, depth-1) {
				return true
			}
		}
	}
	return false
}

func (j *Job) Any(id pregel.VertexID) any {
	r, local := j.at(id)
	return r.instance.Values().Any(int(local))
}

// Append appends the text of a vertex's value in result files: by the program's Output, or in the
// default format. Vertices in the text are input ids.
func (j *Job) Append(dst []byte, id pregel.VertexID) []byte {
	return j.AppendAs(dst, id, j.Label, nil)
}

// vertexName returns the name of the vertex with an input id, or "" if the input has no names or
// they are not in this process.
func (j *Job) vertexName(label uint64) string {
	name, _ := j.graph.NameOf(label)
	return name
}
