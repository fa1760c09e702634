package pregel

// Program is a vertex program; the package comment lists its optional methods. One value serves all vertices, from
// several goroutines at once: its fields are read-only while it runs.
type Program[V, M any] interface {
	Compute(v *Vertex[V, M], msg M)
}

// ListProgram is a program that wants every message by itself, in no particular order: there is no combiner, and an
// edge costs about twice as much. It is passed as [List](p). msgs is only valid during the call.
type ListProgram[V, M any] interface {
	Compute(v *Vertex[V, M], msgs []M)
}

// List makes a Program of a ListProgram.
func List[V, M any](p ListProgram[V, M]) Program[V, M] { return listed[V, M]{p} }

type listed[V, M any] struct{ program ListProgram[V, M] }

// Compute is never called: the engine unwraps the program.
func (listed[V, M]) Compute(*Vertex[V, M], M) { panic("pregel: a list program must be unwrapped") }

// Unlist returns the program inside p when p was made by [List].
func Unlist[V, M any](p Program[V, M]) (ListProgram[V, M], bool) {
	l, ok := p.(listed[V, M])
	return l.program, ok
}

// The optional methods of a program, by the names the package comment lists them under.
type (
	Validating               interface{ Validate() error }
	Monotonic                interface{ Monotone() }
	NonNegative              interface{ NonNegative() }
	Combining[M any]         interface{ Combiner() Combiner[M] }
	Initializing[V, M any]   interface{ Init(v *Vertex[V, M]) }
	Starting[V any]          interface{ Initial() V }
	Sourced                  interface{ Sources() []VertexID }
	Directed                 interface{ Direction() Direction }
	Aggregating              interface{ Aggregators() []Aggregate }
	Columnar                 interface{ Columns() []Column }
	Coordinating             interface{ Coordinate(c *Coordinator) }
	Before                   interface{ BeforeSuperstep(w *Worker) }
	After                    interface{ AfterSuperstep(w *Worker) }
	BlockComputing[V, M any] interface{ ComputeBlock(b *Block[V, M]) }
	Writing[V any]           interface{ Output(dst []byte, v V) []byte }
)
