package pregel

import "github.com/superstep-go/superstep/internal/kernel"

// Program is a vertex program. The package comment lists its optional methods. One value serves all
// vertices, from several goroutines at once, so its fields are read-only during a run.
type Program[V, M any] interface {
	Compute(v *Vertex[V, M], msg M)
}

// Registered is a program with its name. Only [Register] makes one.
type Registered interface{ ProgramName() string }

// Register names a program for the command line and for a cluster. The name consists of letters,
// digits, _ . and -. The program replaces a built-in program of the same name. Its parameters are
// its exported fields with a param tag:
//
//	Source pregel.VertexID `param:"source" help:"where to start"`
//	Limit  int             `param:"limit" default:"10" help:"how far to go"`
//
// The package comment lists the types of parameters. Parameters of a program have different names,
// of the same characters as the program's name. The command line checks these rules, and exits with
// status 2 if one is broken.
func Register[V, M any](name string, p Program[V, M]) Registered {
	return kernel.Named[VertexID]{Name: name, Program: Erase(p)}
}

// ListProgram is a program that gets every message separately, in no particular order. It has no
// combiner, and an edge costs about twice as much. Pass it as [List](p). msgs is only valid during
// the call.
type ListProgram[V, M any] interface {
	Compute(v *Vertex[V, M], msgs []M)
}

// List makes a Program of a ListProgram.
func List[V, M any](p ListProgram[V, M]) Program[V, M] { return listed[V, M]{p} }

type listed[V, M any] struct{ program ListProgram[V, M] }

// Compute is never called: the engine unwraps the program.
func (listed[V, M]) Compute(*Vertex[V, M], M) { panic("pregel: a list program must be unwrapped") }
