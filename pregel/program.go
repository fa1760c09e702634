package pregel

// Program is a vertex program; the package comment lists its optional methods. One value serves all vertices, from
// several goroutines at once: its fields are read-only while it runs.
type Program[V, M any] interface {
	Compute(v *Vertex[V, M], msg M)
}

// Registered is a program with the name by which it is asked for: what superstep.Register returns, and nothing else.
type Registered interface{ ProgramName() string }

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
