package cli

import (
	"context"
	"io"
	"os"
	"strconv"

	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// RunSpoiled is Run with programs whose result is wrong at one vertex.
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

// RunReplaced is Run with a program that replaces the built-in one of the same name. Run itself
// refuses this.
func RunReplaced(args []string, other engine.Registered) int {
	entries := builtin.Programs()
	for i := range entries {
		if entries[i].Name == other.Name {
			entries[i] = other
		}
	}
	return (&app{name: "replaced", programs: entries, out: os.Stdout, err: os.Stderr, in: os.Stdin}).main(args)
}

// spoiled is a program whose result is wrong at the last vertex.
type spoiled struct{ engine.Program }

func (s spoiled) Bind(ctx context.Context, g *graph.Graph, o engine.Options) (engine.Bound, error) {
	bound, err := s.Program.Bind(ctx, g, o)
	if err != nil {
		return nil, err
	}
	return wrong{bound, g}, nil
}

type wrong struct {
	engine.Bound
	graph *graph.Graph
}

// Append corrupts the value of the last vertex.
func (w wrong) Append(dst []byte, id pregel.VertexID) []byte {
	if int(id) == w.graph.N-1 {
		switch value := w.Any(id).(type) {
		case pregel.VertexID:
			return strconv.AppendUint(dst, w.graph.Label((value+1)%pregel.VertexID(w.graph.N)), 10)
		case float64:
			return strconv.AppendFloat(dst, value/2+1e-3, 'g', -1, 64)
		case int64:
			return strconv.AppendInt(dst, value+1, 10)
		case uint64:
			return strconv.AppendUint(dst, value+1, 10)
		default: // a type whose text ends in a number
			return append(w.Bound.Append(dst, id), '1')
		}
	}
	return w.Bound.Append(dst, id)
}

// Asynchronous returns the standard error of a command that serves others. Its output goes to w;
// flush writes the rest.
func Asynchronous(w io.Writer) (stderr io.Writer, flush func()) {
	a := &app{err: w}
	a.writeAsync()
	return a.err, a.flush
}
