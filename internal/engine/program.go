// Package engine runs vertex programs over the partitions of a graph, superstep by superstep. It
// delivers messages with the combiners' kernels, calls the program, and counts.
//
// A [Job] binds a program to a graph and has a runner for each partition. The driver of package bsp
// commands each superstep and takes the runners' reports. Several runners are goroutines that
// exchange columns through a transport; a single runner is called directly.
//
// Read job.go and runner.go first, then deliver.go, pull.go and push.go.
package engine

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/plans"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
)

// The optional methods of a program whose signatures have no type parameters. The package comment
// of pregel lists all optional methods; Methods has the others.
type (
	Stating    interface{ Traits() pregel.Traits }
	Validating interface {
		Validate(g *pregel.GraphInfo) error
	}
	Coordinating interface{ Coordinate(c *pregel.Coordinator) }
	Planned      interface{ Plan() pregel.Plan }
)

// untyped has these as types.
var untyped = []reflect.Type{
	reflect.TypeFor[Stating](), reflect.TypeFor[Validating](), reflect.TypeFor[Coordinating](),
	reflect.TypeFor[Planned](),
}

// replaced has the methods of earlier versions, and what replaces them.
var replaced = map[string]string{
	"Direction": "the field Direction of Traits", "Monotone": "the field Monotone of Traits",
	"Asynchronous":  "the field Asynchronous of Traits",
	"NonNegative":   "the field NonNegative of Traits",
	"Mutations":     "the field Mutates of Traits",
	"MaxSupersteps": "the field MaxSupersteps of Traits",
	"Aggregators":   "the field Aggregators of Traits", "Columns": "the field Columns of Traits",
	"Converges": "the field Converges of Traits", "InputIDs": "the field InputIDs of Traits",
	"Help":  "the field Help of Traits",
	"Score": "the field Score of Report", "ScoreName": "the field ScoreName of Report",
	"Reached": "the field Reached of Report",
	"Group":   "the field Group of Report, or Number",
	"Initial": "Start", "Sources": "Start", "ValidateGraph": "Validate",
}

// The types of package kernel, for programs of package pregel.
type (
	Erased   = kernel.Erased[pregel.VertexID]
	Named    = kernel.Named[pregel.VertexID]
	Methods  = kernel.Methods[pregel.VertexID]
	Instance = kernel.Instance[pregel.VertexID]
	Lane     = kernel.Lane[pregel.VertexID]
)

// Program is a type-erased vertex program, with its optional methods.
type Program struct {
	*Methods
	program     Erased
	traits      pregel.Traits
	own         *ownProgram // of programs with Coordinate or their own state
	coordinates bool
	validating  Validating
	aggregates  []kernel.Aggregate
	properties  []kernel.Property
	plan        *Plan // that runs before the program, or nil
}

func traitsOf(program any) (t pregel.Traits) {
	if p, ok := program.(Stating); ok {
		t = p.Traits()
	}
	return t
}

// NewProgram finds a program's optional methods. It returns an error if one has a wrong signature.
func NewProgram(p Erased) (m *Program, err error) {
	err = bsp.Contain(Name(p.Program), &bsp.NoSuperstep, func() (err error) {
		m, err = methodsOf(p)
		return err
	})
	return m, err
}

func methodsOf(p Erased) (*Program, error) {
	if p.Program == nil {
		return nil, errors.New("the program is nil")
	}
	p, err := Complete(p, nil)
	if err != nil {
		return nil, err
	}
	value := p.Program
	m := &Program{program: p, Methods: p.Inspect()}
	if err := m.checkNames(value); err != nil {
		return nil, err
	}
	m.validating, _ = value.(Validating)
	if _, m.coordinates = value.(Coordinating); m.coordinates || m.HasState() {
		m.own = &ownProgram{given: value}
	}
	planned, _ := value.(Planned)
	m.traits = traitsOf(value)
	t, name := &m.traits, Name(value)
	switch {
	case m.List && m.Has("Combiner"):
		return nil, fmt.Errorf("%s: a list program gets every message: it has no Combiner", name)
	case m.Has("InitBlock") && !m.Has("Init"):
		return nil, fmt.Errorf("%s: InitBlock does the work of Init, which is missing", name)
	case m.List && m.byBlock() != "":
		return nil, fmt.Errorf("%s: a list program has no %s", name, m.byBlock())
	case !m.List && !m.Has("Combiner"):
		return nil, fmt.Errorf("%s: the method Combiner() pregel.Combiner[%s] is missing; or wrap a list program in pregel.List", name, p.Message)
	case m.Has("Output") && m.Has("OutputLabels"):
		return nil, fmt.Errorf("%s: Output and OutputLabels do the same: a program has one of them",
			name)
	case t.InputIDs && p.Value.Kind() != reflect.Uint64:
		return nil, fmt.Errorf("%s: InputIDs is for values of type uint64", name)
	case t.Mutates && m.byBlock() != "":
		return nil,
			fmt.Errorf("%s: a program that changes the graph cannot have %s (for 64 vertices)",
				name, m.byBlock())
	case t.Mutates && m.Has("Resend"):
		return nil, fmt.Errorf("%s: a program that changes the graph cannot have Resend: its messages crossed edges that may be gone", name)
	case !t.Mutates && m.Has("Resolve"):
		return nil, fmt.Errorf(
			"%s: Resolve is for programs that change the graph: the trait Mutates is missing", name)
	case t.CreateOnMessage && !t.Mutates:
		return nil, fmt.Errorf("%s: CreateOnMessage is for programs that change the graph: the trait Mutates is missing", name)
	case t.Asynchronous && !t.Monotone:
		return nil, fmt.Errorf("%s: Asynchronous is for programs that are Monotone", name)
	case m.Group && m.Number:
		return nil,
			fmt.Errorf("%s: Group and Number of Report do the same: a program has one of them",
				name)
	case m.NoCombiner:
		return nil, fmt.Errorf("%s: method Combiner returns nil, want a combiner", name)
	case t.Direction > pregel.Either:
		return nil, fmt.Errorf("%s: Direction is %v, want pregel.Out, pregel.In, pregel.Both or pregel.Either", name, t.Direction)
	case t.Direction == pregel.Either && m.byBlock() != "":
		return nil,
			fmt.Errorf("%s: a program of direction either cannot have %s: messages go one way",
				name, m.byBlock())
	}
	if planned != nil {
		if err := bsp.Contain(name, &bsp.NoSuperstep, func() error {
			step, _ := planned.Plan().Steps.(plans.Step)
			m.plan = &Plan{Step: step}
			m.plan.add(&step)
			return nil
		}); err != nil {
			if failed := new(pregel.ProgramError); errors.As(err, &failed) {
				failed.Method = "Plan"
			}
			return nil, err
		}
	}
	for _, given := range t.Aggregators {
		a := kernel.Pregel.Aggregate(given)
		if slices.ContainsFunc(m.aggregates,
			func(b kernel.Aggregate) bool { return a.Name == b.Name }) {
			return nil, fmt.Errorf("%s: two aggregators are named %s", name, a.Name)
		}
		if a.Name == trace.GroupsName && (m.Group || m.Number) || (a.Name == trace.TopName ||
			a.Name == trace.TopByName) && m.Score || a.Name == trace.ReachedName && m.Reached {
			return nil,
				fmt.Errorf("%s: an aggregator is named %s, which is a name in reports",
					name, a.Name)
		}
		m.aggregates = append(m.aggregates, a)
	}
	for _, given := range t.Columns {
		c := kernel.Pregel.Property(given)
		if slices.ContainsFunc(m.properties,
			func(b kernel.Property) bool { return c.Name == b.Name && c.OfEdges == b.OfEdges }) {
			return nil, fmt.Errorf("%s: two columns are named %s", name, c.Name)
		}
		m.properties = append(m.properties, c)
	}
	return m, nil
}

// byBlock returns the name of a method for 64 vertices at once, or "" if the program has none.
func (m *Program) byBlock() string {
	switch {
	case m.Has("ComputeBlock"):
		return "ComputeBlock"
	case m.Has("InitBlock"):
		return "InitBlock"
	}
	return ""
}

// compatible reports whether a job's columns and kernels work for both of two programs of the same
// type.
func (m *Program) compatible(other *Program) bool {
	facts := func(m *Program) [12]bool {
		t := m.traits
		return [...]bool{
			m.List, m.Score, m.Reached, m.Group, m.Number, t.Converges, t.InputIDs,
			t.Monotone, t.Asynchronous, t.NonNegative, t.Mutates, t.CreateOnMessage,
		}
	}
	if m.Combiner != other.Combiner || facts(m) != facts(other) {
		return false
	}
	number := func(a, b kernel.Aggregate) bool { return a.Number == b.Number }
	column := func(a, b kernel.Property) bool { return a.Number == b.Number }
	return slices.EqualFunc(m.aggregates, other.aggregates, number) &&
		slices.EqualFunc(m.properties, other.properties, column)
}

// validate checks the program's parameters.
func (m *Program) validate() error {
	if err := validated(m.program.Program); err != nil {
		return err
	}
	_, err := m.bound()
	return err
}

// bound returns the largest number of supersteps that the program declares, or 0 if unknown.
func (m *Program) bound() (int, error) {
	n := m.traits.MaxSupersteps
	if n < 0 {
		return 0, fmt.Errorf(
			"MaxSupersteps is %d, want the largest number of supersteps, or 0 if unknown", n)
	}
	return n, nil
}

// Fits is ValidateGraph that also rejects a graph with weights that the program cannot use. Bind
// calls it. Before the phases of a plan are bound, it must be called for the program that has the
// plan.
func (m *Program) Fits(g *graph.Graph) error {
	err := m.validateGraph(g.Name, pregel.GraphInfo{
		NumVertices: uint64(g.Vertices()), NumEdges: g.Arcs, Directed: g.Directed,
		Weighted: g.Weights != edges.Unweighted, Partitions: len(g.Parts),
	})
	if err != nil || !m.traits.NonNegative || g.LeastWeight >= 0 {
		return err
	}
	if from, to, weight, ok := g.LightestEdge(); ok {
		return fmt.Errorf("%s: the edge from %d to %d has weight %g: no weight may be negative",
			g.Name, from, to, weight)
	}
	// another process has the edge
	return fmt.Errorf("%s: an edge has weight %g: no weight may be negative", g.Name, g.LeastWeight)
}

// validateGraph calls Validate of the program, and of the phases of its plan.
func (m *Program) validateGraph(name string, about pregel.GraphInfo) error {
	phases, err := m.plan.Phases()
	for _, p := range phases {
		err = errors.Join(err, p.ValidateGraph(name, about))
	}
	if err != nil || m.validating == nil {
		return err
	}
	err = bsp.Contain(m.Name(), &bsp.NoSuperstep,
		func() error { return m.validating.Validate(&about) })
	if err != nil && !errors.As(err, new(*bsp.ProgramError)) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// has reports whether a program, or a pointer to it, has a method.
func has(program any, name string) bool {
	t := reflect.TypeOf(program)
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	_, ok := t.MethodByName(name)
	return ok
}

// leastMisspelled is the least length of an optional method's name for which a name that differs in
// one letter is an error. For methods without parameters it is leastUnasked, because few other
// methods have their result types.
const (
	leastMisspelled = 7
	leastUnasked    = 5
)

// Name returns the name of a program's type, without its package.
func Name(program any) string {
	t := indirect(program)
	if t == nil {
		return "nil"
	}
	return cmp.Or(t.Name(), t.String())
}
