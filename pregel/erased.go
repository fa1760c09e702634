package pregel

import (
	"reflect"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Erased is a program whose types V and M are erased, for the engine that runs programs: the
// engine has no type parameters. Programs do not need it, and it may change in any version.
type Erased struct {
	// Program is the program, or the list program that List wraps.
	Program any
	// Value and Message are the types V and M.
	Value, Message reflect.Type
	// Wrap erases another value of the program's type, such as one with other parameters.
	Wrap func(program any) Erased
	// Complete says that the parameters' defaults are filled in: a field that is zero is meant.
	Complete bool
	// Inspect finds the optional methods whose signatures have V or M. It calls Combiner and Report.
	Inspect func() *Methods
}

// Erase erases the types of a program. It calls no method of it.
func Erase[V, M any](p Program[V, M]) Erased {
	e := Erased{Program: p, Value: reflect.TypeFor[V](), Message: reflect.TypeFor[M]()}
	l, list := p.(listed[V, M])
	if list {
		e.Program = l.program
		if l.program == nil {
			e.Program = nil
		}
	}
	e.Wrap = func(program any) Erased {
		if list {
			return Erase(List(program.(ListProgram[V, M])))
		}
		return Erase(program.(Program[V, M]))
	}
	e.Inspect = func() *Methods { return inspect(p) }
	return e
}

// Methods are the optional methods of a program whose signatures have V or M.
type Methods struct {
	List bool
	// Found and Wanted are the methods that the program has, and the signatures of all, by name.
	Found  map[string]bool
	Wanted map[string]reflect.Type
	// NoCombiner says that the method Combiner returns nil. Combiner is the combiner's name, or
	// empty, and Weights the kind of edge weights that it wants.
	NoCombiner bool
	Combiner   string
	Weights    reflect.Kind
	// Score, Reached, Group and Number say which functions the program's Report has.
	Score, Reached, Group, Number bool
	ScoreName                     string
	// Instance makes the state of a partition.
	Instance func() Instance
}

// Has reports whether the program has a method.
func (m *Methods) Has(name string) bool { return m.Found[name] }

// methods are a program's methods with their types.
type methods[V, M any] struct {
	program   Program[V, M]
	list      ListProgram[V, M]
	combiner  Combiner[M]
	init      interface{ Init(v *Vertex[V, M]) }
	initBlock interface{ InitBlock(b *Block[V, M]) }
	block     interface{ ComputeBlock(b *Block[V, M]) }
	resend    interface{ Resend(v *Vertex[V, M]) }
	start     interface{ Start() (V, []VertexID) }
	resolve   interface {
		Resolve(r Resolution[V]) (V, bool)
	}
	report Report[V]
	output interface{ Output(dst []byte, v V) []byte }
	naming interface {
		OutputLabels(dst []byte, v V, label func(dst []byte, id VertexID) []byte) []byte
	}
}

func inspect[V, M any](p Program[V, M]) *Methods {
	m := &methods[V, M]{program: p}
	var value any = p
	if l, ok := p.(listed[V, M]); ok {
		m.list, value = l.program, l.program
	}
	all := &Methods{List: m.list != nil, Found: map[string]bool{}, Wanted: map[string]reflect.Type{}}
	all.find("Init", value, &m.init)
	all.find("InitBlock", value, &m.initBlock)
	all.find("ComputeBlock", value, &m.block)
	all.find("Resend", value, &m.resend)
	all.find("Start", value, &m.start)
	all.find("Resolve", value, &m.resolve)
	var reporting interface{ Report() Report[V] }
	all.find("Report", value, &reporting)
	if reporting != nil {
		m.report = reporting.Report()
		all.Score, all.ScoreName, all.Reached = m.report.Score != nil, m.report.ScoreName, m.report.Reached != nil
		all.Group, all.Number = m.report.Group != nil, m.report.Number != nil
	}
	all.find("Output", value, &m.output)
	all.find("OutputLabels", value, &m.naming)
	var combining interface{ Combiner() Combiner[M] }
	all.find("Combiner", value, &combining)
	if combining != nil {
		if m.combiner = combining.Combiner(); m.combiner == nil {
			all.NoCombiner = true
		} else {
			all.Combiner = m.combiner.String()
			if w, ok := m.combiner.(kernel.Weighing); ok {
				all.Weights = w.Weights()
			}
		}
	}
	all.Instance = func() Instance { return &instance[V, M]{methods: m} }
	return all
}

// find notes a method, and whether the program has it with the signature of the interface that to
// points to: then it is put there.
func (m *Methods) find(name string, program, to any) {
	at := reflect.ValueOf(to).Elem()
	m.Wanted[name] = at.Type().Method(0).Type
	if v := reflect.ValueOf(program); v.IsValid() && v.Type().Implements(at.Type()) {
		at.Set(v)
		m.Found[name] = true
	}
}

// Engine is for the engine that runs programs, which reaches the unexported parts of this package
// through it. Programs do not need it, and it may change in any version.
type Engine struct{}

// Aggregate returns the kernel's description of an aggregator.
func (Engine) Aggregate(a Aggregate) kernel.Aggregate { return a.aggregate() }

// Property returns the kernel's description of a property column.
func (Engine) Property(c Column) kernel.Property { return c.column() }

// Coordinator makes the Coordinator of a run, with the aggregators' totals, indexed by their
// numbers. log, if not nil, takes its lines.
func (Engine) Coordinator(vertices, edges uint64, totals []kernel.Cell, log func(line string)) *Coordinator {
	return &Coordinator{NumVertices: vertices, NumEdges: edges, totals: totalsOf(totals), log: log}
}

// End returns how Coordinate ended the run, if it did, for the engine to read and to reset.
func (Engine) End(c *Coordinator) *kernel.End { return &c.end }

// Totals gives access to aggregators' totals, indexed by their numbers, when their run is over.
func (Engine) Totals(totals []kernel.Cell) Context { return totalsOf(totals) }

func totalsOf(cells []kernel.Cell) *Worker { return &Worker{state: kernel.State{Totals: cells}} }

// NewPlan makes the plan that the engine knows as steps.
func (Engine) NewPlan(steps any) Plan { return Plan{steps} }

// Steps returns what the engine knows the plan as; nil for an empty one.
func (Engine) Steps(p Plan) any { return p.steps }
