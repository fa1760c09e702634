package cli

import (
	"io"
	"os"

	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// RunSpoiled is Run with programs whose results are wrong at one vertex.
func RunSpoiled(args []string) int {
	entries := builtin.Programs()
	for i := range entries {
		sound := entries[i].New
		entries[i].New = func(values map[string]string, find engine.Find) (engine.Program, error) {
			p, err := sound(values, find)
			return spoiled{p}, err
		}
	}
	return (&app{name: "spoiled", programs: entries, out: os.Stdout, err: os.Stderr}).main(args)
}

// RunReplaced is Run with a program in the place of the built-in one of its name, which Run refuses.
func RunReplaced(args []string, other engine.Registered) int {
	entries := builtin.Programs()
	for i := range entries {
		if entries[i].Name == other.Name {
			entries[i] = other
		}
	}
	return (&app{name: "replaced", programs: entries, out: os.Stdout, err: os.Stderr, in: os.Stdin}).main(args)
}

// spoiled is a program whose last vertex has a wrong value.
type spoiled struct{ engine.Program }

func (s spoiled) Bind(g *graph.Graph, o engine.Options) (engine.Bound, error) {
	bound, err := s.Program.Bind(g, o)
	if err != nil {
		return nil, err
	}
	last := pregel.VertexID(g.N - 1)
	switch job := bound.(type) {
	case valued[pregel.VertexID]:
		return wrong[pregel.VertexID]{bound, job, last, func(v pregel.VertexID) pregel.VertexID { return (v + 1) ^ 1 }}, nil
	case valued[float64]:
		return wrong[float64]{bound, job, last, func(x float64) float64 { return x/2 + 1e-3 }}, nil
	case valued[int64]:
		return wrong[int64]{bound, job, last, func(n int64) int64 { return n + 1 }}, nil
	}
	return bound, nil
}

type valued[V any] interface{ Value(id pregel.VertexID) V }

type wrong[V any] struct {
	engine.Bound
	job   valued[V]
	at    pregel.VertexID
	spoil func(V) V
}

func (w wrong[V]) Value(id pregel.VertexID) V {
	if id == w.at {
		return w.spoil(w.job.Value(id))
	}
	return w.job.Value(id)
}

// Asynchronous returns the standard error of a command that serves others, which ends up in w, and what flushes it.
func Asynchronous(w io.Writer) (stderr io.Writer, flush func()) {
	a := &app{err: w}
	a.writeAsync()
	return a.err, a.flush
}
