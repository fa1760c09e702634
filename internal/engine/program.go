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
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// The optional methods of a program whose signatures have no type parameters. The package comment of pregel lists all;
// pregel.Methods has the others.
type (
	Validating interface{ Validate() error }
	Judging    interface {
		ValidateGraph(g pregel.GraphInfo) error
	}
	Monotonic    interface{ Monotone() }
	NonNegative  interface{ NonNegative() }
	Asynchronous interface{ Asynchronous() }
	Sourced      interface{ Sources() []pregel.VertexID }
	Directed     interface{ Direction() pregel.Direction }
	Aggregating  interface{ Aggregators() []pregel.Aggregate }
	Columnar     interface{ Columns() []pregel.Column }
	Coordinating interface{ Coordinate(c *pregel.Coordinator) }
	Planned      interface{ Plan() pregel.Plan }
	Bounded      interface{ MaxSupersteps() int }
	Converging   interface{ Converges() }
	Mutating     interface{ Mutations() pregel.Mutations }
	ScoreNaming  interface{ ScoreName() string }
	Helpful      interface{ Help() string }
	OfInputIDs   interface{ InputIDs() }
)

// untyped are these as types.
var untyped = []reflect.Type{
	reflect.TypeFor[Validating](), reflect.TypeFor[Judging](), reflect.TypeFor[Monotonic](), reflect.TypeFor[NonNegative](),
	reflect.TypeFor[Asynchronous](), reflect.TypeFor[Sourced](), reflect.TypeFor[Directed](), reflect.TypeFor[Aggregating](),
	reflect.TypeFor[Columnar](), reflect.TypeFor[Coordinating](), reflect.TypeFor[Planned](), reflect.TypeFor[Bounded](),
	reflect.TypeFor[Mutating](), reflect.TypeFor[ScoreNaming](), reflect.TypeFor[Helpful](),
	reflect.TypeFor[OfInputIDs](), reflect.TypeFor[Converging](),
}

// methods is a Program: its optional methods, found once per job.
type methods struct {
	*pregel.Methods
	program      pregel.Erased
	sources      Sourced
	own          *ownProgram // of programs that have a Coordinate, or a state of their own
	coordinates  bool
	mutations    Mutating
	scoreName    ScoreNaming
	validating   Validating
	judging      Judging
	bounded      Bounded
	monotone     bool
	converges    bool
	nonNegative  bool
	asynchronous bool
	inputIDs     bool
	direction    pregel.Direction
	aggregates   []kernel.Aggregate
	properties   []kernel.Property
	plan         *Plan // that runs first, or nil
	// maxSupersteps is what bounded says once validate has asked, or 0.
	maxSupersteps int
}

// inspect finds a program's optional methods. One with a known name and another signature is an error.
func inspect(p pregel.Erased) (m *methods, err error) {
	err = bsp.Contain(Name(p.Program), &bsp.NoSuperstep, func() (err error) {
		m, err = methodsOf(p)
		return err
	})
	return m, err
}

func methodsOf(p pregel.Erased) (*methods, error) {
	if p.Program == nil {
		return nil, errors.New("the program is nil")
	}
	p, err := Complete(p, nil)
	if err != nil {
		return nil, err
	}
	value := p.Program
	m := &methods{program: p, Methods: p.Inspect()}
	var engine pregel.Engine
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(m.Wanted)) {
		if !m.Has(name) {
			misnamed(value, name, m.Wanted[name], &errs)
		}
	}
	for _, t := range untyped {
		if !reflect.TypeOf(value).Implements(t) {
			misnamed(value, t.Method(0).Name, t.Method(0).Type, &errs)
		}
	}
	m.validating, _ = value.(Validating)
	m.judging, _ = value.(Judging)
	m.bounded, _ = value.(Bounded)
	m.sources, _ = value.(Sourced)
	if _, m.coordinates = value.(Coordinating); m.coordinates || m.HasState() {
		m.own = &ownProgram{given: value}
	}
	m.mutations, _ = value.(Mutating)
	m.scoreName, _ = value.(ScoreNaming)
	planned, _ := value.(Planned)
	directed, _ := value.(Directed)
	aggregating, _ := value.(Aggregating)
	columnar, _ := value.(Columnar)
	monotonic, _ := value.(Monotonic)
	_, m.converges = value.(Converging)
	nonNegative, _ := value.(NonNegative)
	asynchronous, _ := value.(Asynchronous)
	_, m.inputIDs = value.(OfInputIDs)
	m.monotone, m.nonNegative, m.asynchronous = monotonic != nil, nonNegative != nil, asynchronous != nil
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	name := Name(value)
	switch {
	case m.List && m.Has("Combiner"):
		return nil, fmt.Errorf("%s: a list program gets every message: it has no Combiner", name)
	case m.Has("InitBlock") && !m.Has("Init"):
		return nil, fmt.Errorf("%s: InitBlock does the work of Init, which is missing", name)
	case m.List && m.byBlock() != "":
		return nil, fmt.Errorf("%s: a list program has no %s", name, m.byBlock())
	case !m.List && !m.Has("Combiner"):
		return nil, fmt.Errorf("%s: the method Combiner() pregel.Combiner[%s] is missing; or wrap a program of all messages in pregel.List", name, p.Message)
	case m.Has("Output") && m.Has("OutputLabels"):
		return nil, fmt.Errorf("%s: Output and OutputLabels do the same: a program has one of them", name)
	case m.inputIDs && p.Value.Kind() != reflect.Uint64:
		return nil, fmt.Errorf("%s: InputIDs is for values of type uint64", name)
	case m.mutations != nil && m.byBlock() != "":
		return nil, fmt.Errorf("%s: a program that changes the graph has no %s, in which no vertex asks", name, m.byBlock())
	case m.mutations != nil && m.Has("Resend"):
		return nil, fmt.Errorf("%s: a program that changes the graph has no Resend: what it sent went along the edges of before", name)
	case m.mutations == nil && m.Has("Resolve"):
		return nil, fmt.Errorf("%s: Resolve is for programs that change the graph: the method Mutations() pregel.Mutations is missing", name)
	case m.asynchronous && !m.monotone:
		return nil, fmt.Errorf("%s: Asynchronous is for programs that are Monotone", name)
	case m.Has("Initial") != (m.sources != nil):
		return nil, fmt.Errorf("%s: Initial and Sources go together", name)
	case m.NoCombiner:
		return nil, fmt.Errorf("%s: method Combiner returns nil, want a combiner", name)
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
		if a.Name == trace.GroupsName && m.Has("Group") || (a.Name == trace.TopName || a.Name == trace.TopByName) && m.Has("Score") || a.Name == trace.ReachedName && m.Has("Reached") {
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

// byBlock names a method that takes 64 vertices at once, or is empty if the program has none.
func (m *methods) byBlock() string {
	switch {
	case m.Has("ComputeBlock"):
		return "ComputeBlock"
	case m.Has("InitBlock"):
		return "InitBlock"
	}
	return ""
}

// alike reports whether columns and kernels that were made for one of two programs of a type serve the other.
func (m *methods) alike(other *methods) bool {
	if m.List != other.List || m.Combiner != other.Combiner {
		return false
	}
	number := func(a, b kernel.Aggregate) bool { return a.Number == b.Number }
	column := func(a, b kernel.Property) bool { return a.Number == b.Number }
	return slices.EqualFunc(m.aggregates, other.aggregates, number) && slices.EqualFunc(m.properties, other.properties, column)
}

// validate refuses parameters that make no sense.
func (m *methods) validate() (err error) {
	if m.validating != nil {
		err = validated(m.validating, m.Name())
	}
	if err == nil {
		m.maxSupersteps, err = m.bound()
	}
	return err
}

// bound returns how many supersteps the program says that it runs at most, 0 if it does not say so. Its parameters make sense.
func (m *methods) bound() (most int, err error) {
	if m.bounded == nil {
		return 0, nil
	}
	err = bsp.Contain(m.Name(), &bsp.NoSuperstep, func() error {
		if most = m.bounded.MaxSupersteps(); most < 0 {
			return fmt.Errorf("method MaxSupersteps returns %d, want how many there are at most, or 0 if that is not known", most)
		}
		return nil
	})
	return most, err
}

// Fits refuses a graph that the program cannot run on.
func (m *methods) Fits(g *graph.Graph) error {
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
func (m *methods) validateGraph(name string, about pregel.GraphInfo) error {
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
	err := bsp.Contain(m.Name(), &bsp.NoSuperstep, func() error { return m.judging.ValidateGraph(about) })
	if err != nil && !errors.As(err, new(*bsp.ProgramError)) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// misnamed adds an error if value has a method that would be ignored: one of the name with another
// signature than is wanted, or one of the signature whose name is one letter off.
func misnamed(value any, name string, want reflect.Type, errs *[]error) {
	t := reflect.TypeOf(value)
	if method, ok := t.MethodByName(name); ok {
		*errs = append(*errs, fmt.Errorf("%s: method %s is %s, want %s", Name(value), name, signature(method.Type, true), signature(want, false)))
		return
	}
	if t.Kind() != reflect.Pointer {
		if _, ok := reflect.PointerTo(t).MethodByName(name); ok {
			*errs = append(*errs, fmt.Errorf("%s: method %s has a pointer receiver: pass &%s{...}, or give it a value receiver", Name(value), name, Name(value)))
			return
		}
	}
	if len(name) < leastMisspelled {
		return
	}
	for _, m := range found(t) {
		if oneLetterOff(m.Name, name) && signature(m.Type, true) == signature(want, false) {
			*errs = append(*errs, fmt.Errorf(
				"%s: method %s has the signature of %s and nearly its name: it would be ignored", Name(value), m.Name, name))
		}
	}
}

// foundMethods are the methods of types: reflect makes each anew, and all programs are looked at when a
// process starts, for each optional method.
var foundMethods sync.Map

func found(t reflect.Type) []reflect.Method {
	if known, ok := foundMethods.Load(t); ok {
		return known.([]reflect.Method)
	}
	list := make([]reflect.Method, t.NumMethod())
	for i := range list {
		list[i] = t.Method(i)
	}
	foundMethods.Store(t, list)
	return list
}

// leastMisspelled is the length from which a name that differs in one letter is taken for a mistake.
const leastMisspelled = 7

// oneLetterOff reports whether a is b with one letter changed, left out, added, or swapped with the
// next.
func oneLetterOff(a, b string) bool {
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	a, b = a[first:], b[first:]
	switch len(a) - len(b) {
	case -1:
		return a == b[1:]
	case 1:
		return a[1:] == b
	case 0:
		return a != "" && (a[1:] == b[1:] || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:])
	}
	return false
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
