package pregel

import "github.com/superstep-go/superstep/internal/kernel"

// Program is a vertex program; the package comment lists its optional methods. One value serves all
// vertices, from several goroutines at once: its fields are read-only while it runs.
type Program[V, M any] interface {
	Compute(v *Vertex[V, M], msg M)
}

// Registered is a program with the name by which it is asked for: what [Register] returns, and
// nothing else.
type Registered interface{ ProgramName() string }

// Register gives a program a name on the command line and in a cluster, of letters, digits, _ . and
// -. It takes the place of a built-in program of this name. Its parameters are its exported fields
// with a param tag:
//
//	Source pregel.VertexID `param:"source" help:"where to start"`
//	Limit  int             `param:"limit" default:"10" help:"how far to go"`
//
// The package comment says which types they may have. Parameters have different names, of the same
// characters. A command line refuses what does not hold to this, with exit status 2.
func Register[V, M any](name string, p Program[V, M]) Registered {
	return kernel.Named[VertexID]{Name: name, Program: Erase(p)}
}

// ListProgram is a program that wants every message by itself, in no particular order: there is no
// combiner, and an edge costs about twice as much. It is passed as [List](p). msgs is only valid
// during the call.
type ListProgram[V, M any] interface {
	Compute(v *Vertex[V, M], msgs []M)
}

// List makes a Program of a ListProgram.
func List[V, M any](p ListProgram[V, M]) Program[V, M] { return listed[V, M]{p} }

type listed[V, M any] struct{ program ListProgram[V, M] }

// Compute is never called: the engine unwraps the program.
func (listed[V, M]) Compute(*Vertex[V, M], M) { panic("pregel: a list program must be unwrapped") }
