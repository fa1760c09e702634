// Package engine runs vertex programs over the partitions of a graph, superstep by superstep: it delivers messages with the
// combiners' kernels, calls the program, and counts.
//
// A [Job] binds a program to a graph and has a runner for each partition. The coordinator of package bsp takes the runners' reports
// and commands the next superstep. Several runners are goroutines that exchange columns through a transport; a single one is
// called directly.
package engine

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// The optional methods of a program, which the package comment of pregel lists.
type (
	Validating interface{ Validate() error }
	Judging    interface {
		ValidateGraph(g pregel.GraphInfo) error
	}
	Monotonic                   interface{ Monotone() }
	NonNegative                 interface{ NonNegative() }
	Asynchronous                interface{ Asynchronous() }
	Combining[M any]            interface{ Combiner() pregel.Combiner[M] }
	Initializing[V, M any]      interface{ Init(v *pregel.Vertex[V, M]) }
	Starting[V any]             interface{ Initial() V }
	Sourced                     interface{ Sources() []pregel.VertexID }
	Directed                    interface{ Direction() pregel.Direction }
	Aggregating                 interface{ Aggregators() []pregel.Aggregate }
	Columnar                    interface{ Columns() []pregel.Column }
	Coordinating                interface{ Coordinate(c *pregel.Coordinator) }
	BlockComputing[V, M any]    interface{ ComputeBlock(b *pregel.Block[V, M]) }
	BlockInitializing[V, M any] interface{ InitBlock(b *pregel.Block[V, M]) }
	Resending[V, M any]         interface{ Resend(v *pregel.Vertex[V, M]) }
	Planned                     interface{ Plan() pregel.Plan }
	Bounded                     interface{ MaxSupersteps() int }
	Mutating                    interface{ Mutations() pregel.Mutations }
	Resolving[V any]            interface {
		Resolve(r pregel.Resolution[V]) (V, bool)
	}
	Scoring[V any]   interface{ Score(v V) float64 }
	ScoreNaming      interface{ ScoreName() string }
	Searching[V any] interface{ Reached(v V) bool }
	Grouping[V any]  interface{ Group(v V) pregel.VertexID }
	Numbering[V any] interface{ Group(v V) uint64 }
	Writing[V any]   interface{ Output(dst []byte, v V) []byte }
	Naming[V any]    interface {
		OutputLabels(dst []byte, v V, label func(pregel.VertexID) uint64) []byte
	}
)

// methods are a program's optional methods, found once per job.
type methods[V, M any] struct {
	program      pregel.Program[V, M]
	list         pregel.ListProgram[V, M]
	combiner     pregel.Combiner[M]
	init         Initializing[V, M]
	initBlock    BlockInitializing[V, M]
	block        BlockComputing[V, M]
	resend       Resending[V, M]
	initial      Starting[V]
	sources      Sourced
	coordinate   Coordinating
	output       Writing[V]
	naming       Naming[V]
	mutations    Mutating
	resolving    Resolving[V]
	score        Scoring[V]
	scoreName    ScoreNaming
	reached      Searching[V]
	group        grouping[V]
	validating   Validating
	judging      Judging
	bounded      Bounded
	monotone     bool
	nonNegative  bool
	asynchronous bool
	direction    pregel.Direction
	aggregates   []kernel.Aggregate
	properties   []kernel.Property
	plan         *Plan // that runs first, or nil
	// maxSupersteps is what bounded says once validate has asked, or 0.
	maxSupersteps int
}

// inspect finds a program's optional methods. One with a known name and another signature is an error.
func inspect[V, M any](p pregel.Program[V, M]) (m *methods[V, M], err error) {
	err = bsp.Contain(programName(p), &bsp.NoSuperstep, func() (err error) {
		m, err = methodsOf(p)
		return err
	})
	return m, err
}

func methodsOf[V, M any](p pregel.Program[V, M]) (*methods[V, M], error) {
	m := &methods[V, M]{program: p}
	var value any = p
	var engine pregel.Engine[V, M]
	if list, ok := engine.Unlist(p); ok {
		m.list, value = list, list
	}
	if value == nil {
		return nil, errors.New("the program is nil")
	}
	var errs []error
	find(value, "Validate", &m.validating, &errs)
	find(value, "ValidateGraph", &m.judging, &errs)
	find(value, "MaxSupersteps", &m.bounded, &errs)
	find(value, "Init", &m.init, &errs)
	find(value, "InitBlock", &m.initBlock, &errs)
	find(value, "ComputeBlock", &m.block, &errs)
	find(value, "Resend", &m.resend, &errs)
	find(value, "Initial", &m.initial, &errs)
	find(value, "Sources", &m.sources, &errs)
	find(value, "Coordinate", &m.coordinate, &errs)
	find(value, "Output", &m.output, &errs)
	find(value, "Mutations", &m.mutations, &errs)
	find(value, "Resolve", &m.resolving, &errs)
	find(value, "OutputLabels", &m.naming, &errs)
	find(value, "Score", &m.score, &errs)
	find(value, "ScoreName", &m.scoreName, &errs)
	find(value, "Reached", &m.reached, &errs)
	if numbering, ok := value.(Numbering[V]); ok {
		m.group.byNumber = numbering
	} else {
		find(value, "Group", &m.group.byVertex, &errs)
	}
	var planned Planned
	find(value, "Plan", &planned, &errs)
	var combining Combining[M]
	var directed Directed
	var aggregating Aggregating
	var columnar Columnar
	var monotonic Monotonic
	var nonNegative NonNegative
	var asynchronous Asynchronous
	find(value, "Combiner", &combining, &errs)
	find(value, "Direction", &directed, &errs)
	find(value, "Aggregators", &aggregating, &errs)
	find(value, "Columns", &columnar, &errs)
	find(value, "Monotone", &monotonic, &errs)
	find(value, "NonNegative", &nonNegative, &errs)
	find(value, "Asynchronous", &asynchronous, &errs)
	m.monotone, m.nonNegative, m.asynchronous = monotonic != nil, nonNegative != nil, asynchronous != nil
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	name := Name(value)
	switch {
	case m.list != nil && combining != nil:
		return nil, fmt.Errorf("%s: a list program gets every message: it has no Combiner", name)
	case m.initBlock != nil && m.init == nil:
		return nil, fmt.Errorf("%s: InitBlock does the work of Init, which is missing", name)
	case m.list != nil && m.byBlock() != "":
		return nil, fmt.Errorf("%s: a list program has no %s", name, m.byBlock())
	case m.list == nil && combining == nil:
		return nil, fmt.Errorf("%s: the method Combiner() pregel.Combiner[%s] is missing; or wrap a program of all messages in pregel.List", name, reflect.TypeFor[M]())
	case m.output != nil && m.naming != nil:
		return nil, fmt.Errorf("%s: Output and OutputLabels do the same: a program has one of them", name)
	case m.mutations != nil && m.byBlock() != "":
		return nil, fmt.Errorf("%s: a program that changes the graph has no %s, in which no vertex asks", name, m.byBlock())
	case m.mutations != nil && m.resend != nil:
		return nil, fmt.Errorf("%s: a program that changes the graph has no Resend: what it sent went along the edges of before", name)
	case m.mutations == nil && m.resolving != nil:
		return nil, fmt.Errorf("%s: Resolve is for programs that change the graph: the method Mutations() pregel.Mutations is missing", name)
	case m.asynchronous && !m.monotone:
		return nil, fmt.Errorf("%s: Asynchronous is for programs that are Monotone", name)
	case (m.initial == nil) != (m.sources == nil):
		return nil, fmt.Errorf("%s: Initial and Sources go together", name)
	}
	if combining != nil {
		if m.combiner = combining.Combiner(); m.combiner == nil {
			return nil, fmt.Errorf("%s: method Combiner returns nil, want a combiner", name)
		}
	}
	if directed != nil {
		if m.direction = directed.Direction(); m.direction > pregel.Either {
			return nil, fmt.Errorf("%s: method Direction returns %v, want pregel.Out, pregel.In, pregel.Both or pregel.Either", name, m.direction)
		}
	}
	if m.direction == pregel.Either && m.byBlock() != "" {
		return nil, fmt.Errorf("%s: a program of direction either has no %s, whose messages go one way", name, m.byBlock())
	}
	if planned != nil {
		if err := bsp.Contain(name, &bsp.NoSuperstep, func() error {
			p := PlanOf(planned.Plan())
			m.plan = &p
			return nil
		}); err != nil {
			if failed := new(pregel.ProgramError); errors.As(err, &failed) {
				failed.Method = "Plan"
			}
			return nil, err
		}
	}
	if aggregating != nil {
		for _, given := range aggregating.Aggregators() {
			a := engine.Aggregate(given)
			if slices.ContainsFunc(m.aggregates, func(b kernel.Aggregate) bool { return a.Name == b.Name }) {
				return nil, fmt.Errorf("%s: two aggregators are named %s", name, a.Name)
			}
			m.aggregates = append(m.aggregates, a)
		}
	}
	for _, a := range m.aggregates {
		if a.Name == trace.GroupsName && !m.group.none() || (a.Name == trace.TopName || a.Name == trace.TopByName) && m.score != nil || a.Name == trace.ReachedName && m.reached != nil {
			return nil, fmt.Errorf("%s: an aggregator is named %s, as is what reports say of the values", name, a.Name)
		}
	}
	if columnar != nil {
		for _, given := range columnar.Columns() {
			c := engine.Property(given)
			if slices.ContainsFunc(m.properties, func(b kernel.Property) bool { return c.Name == b.Name && c.OfEdges == b.OfEdges }) {
				return nil, fmt.Errorf("%s: two columns are named %s", name, c.Name)
			}
			m.properties = append(m.properties, c)
		}
	}
	return m, nil
}

// Inner returns the list program that p wraps, or else p.
func Inner[V, M any](p pregel.Program[V, M]) any {
	var engine pregel.Engine[V, M]
	if list, ok := engine.Unlist(p); ok {
		return list
	}
	return p
}

// byBlock names a method that takes 64 vertices at once, or is empty if the program has none.
func (m *methods[V, M]) byBlock() string {
	switch {
	case m.block != nil:
		return "ComputeBlock"
	case m.initBlock != nil:
		return "InitBlock"
	}
	return ""
}

// singly has the program called for each vertex by itself.
func (m *methods[V, M]) singly() { m.initBlock, m.block = nil, nil }

// alike reports whether columns and kernels that were made for one of two programs of a type serve the other.
func (m *methods[V, M]) alike(other *methods[V, M]) bool {
	if (m.combiner == nil) != (other.combiner == nil) || m.combiner != nil && m.combiner.String() != other.combiner.String() {
		return false
	}
	number := func(a, b kernel.Aggregate) bool { return a.Number == b.Number }
	column := func(a, b kernel.Property) bool { return a.Number == b.Number }
	return slices.EqualFunc(m.aggregates, other.aggregates, number) && slices.EqualFunc(m.properties, other.properties, column)
}

// validate refuses parameters that make no sense.
func (m *methods[V, M]) validate() (err error) {
	if m.validating != nil {
		err = validated(m.validating, programName(m.program))
	}
	if err == nil {
		m.maxSupersteps, err = m.bound()
	}
	return err
}

// bound returns how many supersteps the program says that it runs at most, 0 if it does not say so. Its parameters make sense.
func (m *methods[V, M]) bound() (most int, err error) {
	if m.bounded == nil {
		return 0, nil
	}
	err = bsp.Contain(programName(m.program), &bsp.NoSuperstep, func() error {
		if most = m.bounded.MaxSupersteps(); most < 0 {
			return fmt.Errorf("method MaxSupersteps returns %d, want how many there are at most, or 0 if that is not known", most)
		}
		return nil
	})
	return most, err
}

// fits refuses a graph that the program cannot run on.
func (m *methods[V, M]) fits(g *graph.Graph) error {
	err := m.validateGraph(g.Name, pregel.GraphInfo{
		NumVertices: uint64(g.Vertices()), NumEdges: g.Arcs, Directed: g.Directed, Weighted: g.Weights != edges.Unweighted, Partitions: len(g.Parts),
	})
	if err != nil || !m.nonNegative || g.LeastWeight >= 0 {
		return err
	}
	if from, to, weight, ok := g.LightestEdge(); ok {
		return fmt.Errorf("%s: the edge from %d to %d has weight %g: no weight may be negative", g.Name, from, to, weight)
	}
	return fmt.Errorf("%s: an edge has weight %g: no weight may be negative", g.Name, g.LeastWeight) // the edge is another process's
}

// validateGraph asks the program, and the phases of its plan, whether they can run on a graph.
func (m *methods[V, M]) validateGraph(name string, about pregel.GraphInfo) error {
	if m.plan != nil {
		phases, err := m.plan.Phases()
		for _, p := range phases {
			err = errors.Join(err, p.ValidateGraph(name, about))
		}
		if err != nil {
			return err
		}
	}
	if m.judging == nil {
		return nil
	}
	err := bsp.Contain(programName(m.program), &bsp.NoSuperstep, func() error { return m.judging.ValidateGraph(about) })
	if err != nil && !errors.As(err, new(*bsp.ProgramError)) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// find sets into to value if value implements the interface. A method of that name with another signature is an error, since
// it would be ignored.
func find[T any](value any, name string, into *T, errs *[]error) {
	if t, ok := value.(T); ok {
		*into = t
		return
	}
	t := reflect.TypeOf(value)
	want := reflect.TypeFor[T]().Method(0)
	if method, ok := t.MethodByName(name); ok {
		*errs = append(*errs, fmt.Errorf("%s: method %s is %s, want %s", Name(value), name, signature(method.Type, true), signature(want.Type, false)))
		return
	}
	if t.Kind() != reflect.Pointer {
		if _, ok := reflect.PointerTo(t).MethodByName(name); ok {
			*errs = append(*errs, fmt.Errorf("%s: method %s has a pointer receiver: pass &%s{...}, or give it a value receiver", Name(value), name, Name(value)))
		}
	}
}

func signature(t reflect.Type, receiver bool) string {
	s := t.String()
	if !receiver {
		return s
	}
	var in, out []string
	for i := 1; i < t.NumIn(); i++ {
		in = append(in, t.In(i).String())
	}
	for i := range t.NumOut() {
		out = append(out, t.Out(i).String())
	}
	s = "func(" + strings.Join(in, ", ") + ")"
	switch len(out) {
	case 0:
		return s
	case 1:
		return s + " " + out[0]
	default:
		return s + " (" + strings.Join(out, ", ") + ")"
	}
}

// Name is the name of a program's type, without its package.
func Name(program any) string {
	t := reflect.TypeOf(program)
	if t == nil {
		return "nil"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := t.Name()
	if name == "" {
		return t.String()
	}
	return name
}
