package pregel

import (
	"reflect"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Short names of the engine's types.
type (
	erasedProgram = kernel.Erased[VertexID]
	erasedMethods = kernel.Methods[VertexID]
	erasedLane    = kernel.Lane[VertexID]
)

// Erase is for the engine, which has no type parameters: it erases the types of a program. It calls
// no method of the program.
func Erase[V, M any](p Program[V, M]) kernel.Erased[VertexID] {
	e := erasedProgram{Program: p, Value: reflect.TypeFor[V](), Message: reflect.TypeFor[M]()}
	l, list := p.(listed[V, M])
	if list {
		e.Program = l.program
		if l.program == nil {
			e.Program = nil
		}
	}
	e.Wrap = func(program any) erasedProgram {
		if list {
			return Erase(List(program.(ListProgram[V, M])))
		}
		return Erase(program.(Program[V, M]))
	}
	e.Inspect = func() *erasedMethods { return inspect(p) }
	return e
}

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

func inspect[V, M any](p Program[V, M]) *erasedMethods {
	m := &methods[V, M]{program: p}
	var value any = p
	if l, ok := p.(listed[V, M]); ok {
		m.list, value = l.program, l.program
	}
	all := &erasedMethods{
		List: m.list != nil, Found: map[string]bool{}, Wanted: map[string]reflect.Type{},
	}
	find(all, "Init", value, &m.init)
	find(all, "InitBlock", value, &m.initBlock)
	find(all, "ComputeBlock", value, &m.block)
	find(all, "Resend", value, &m.resend)
	find(all, "Start", value, &m.start)
	find(all, "Resolve", value, &m.resolve)
	var reporting interface{ Report() Report[V] }
	find(all, "Report", value, &reporting)
	if reporting != nil {
		m.report = reporting.Report()
		all.Score, all.ScoreName, all.Reached = m.report.Score != nil, m.report.ScoreName,
			m.report.Reached != nil
		all.Group, all.Number = m.report.Group != nil, m.report.Number != nil
	}
	find(all, "Output", value, &m.output)
	find(all, "OutputLabels", value, &m.naming)
	var combining interface{ Combiner() Combiner[M] }
	find(all, "Combiner", value, &combining)
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
	all.Instance = func() kernel.Instance[VertexID] { return &instance[V, M]{methods: m} }
	return all
}

// find sets *to to the program, if the program has the method that *to's interface type wants, and
// records that in Found. Wanted gets the method's expected type.
func find(m *erasedMethods, name string, program, to any) {
	at := reflect.ValueOf(to).Elem()
	m.Wanted[name] = at.Type().Method(0).Type
	if v := reflect.ValueOf(program); v.IsValid() && v.Type().Implements(at.Type()) {
		at.Set(v)
		m.Found[name] = true
	}
}

func init() {
	kernel.Pregel.Aggregate = func(listed any) kernel.Aggregate {
		return listed.(Aggregate).aggregate()
	}
	kernel.Pregel.Property = func(listed any) kernel.Property { return listed.(Column).column() }
	kernel.Pregel.Coordinator = func(vertices, edges uint64, totals []kernel.Cell,
		log func(string),
	) any {
		w := &partition{state: kernel.State{Totals: totals}}
		return &Coordinator{NumVertices: vertices, NumEdges: edges, totals: w, log: log}
	}
	kernel.Pregel.End = func(coordinator any) *kernel.End { return &coordinator.(*Coordinator).end }
}
