package cli

import (
	"context"
	"io"
	"os"
	"reflect"

	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
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

func (s spoiled) Bind(ctx context.Context, g *graph.Graph, o engine.Options) (*engine.Job, error) {
	end := &spoiler{graph: g}
	if o.Trace == nil {
		o.Trace = end
	} else {
		o.Trace = trace.Tee{o.Trace, end}
	}
	job, err := s.Program.Bind(ctx, g, o)
	end.job = job
	return job, err
}

// spoiler changes the value of the last vertex when the run ends.
type spoiler struct {
	graph *graph.Graph
	job   *engine.Job
}

func (s *spoiler) Record(e trace.Event) error {
	if _, ok := e.(*trace.End); ok {
		last, of := s.graph.N-1, len(s.graph.Parts)
		values := reflect.ValueOf(s.job.Values(last % of).Slice())
		s.spoil(values.Index(last / of))
	}
	return nil
}

// spoil changes the last number of a value, and reports whether there is one.
func (s *spoiler) spoil(v reflect.Value) bool {
	switch {
	case v.Type() == reflect.TypeFor[pregel.VertexID]():
		v.SetUint((v.Uint() + 1) % uint64(s.graph.N))
	case v.CanFloat():
		v.SetFloat(v.Float()/2 + 1e-3)
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	case v.Kind() == reflect.Struct:
		for i := v.NumField() - 1; i >= 0; i-- {
			if v.Field(i).CanSet() && s.spoil(v.Field(i)) {
				return true
			}
		}
		return false
	case v.Kind() == reflect.Slice && v.Len() == 0:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		return v.Len() > 0 && s.spoil(v.Index(v.Len()-1))
	default:
		return false
	}
	return true
}

// Asynchronous returns the standard error of a command that serves others. Its output goes to w;
// flush writes the rest.
func Asynchronous(w io.Writer) (stderr io.Writer, flush func()) {
	a := &app{err: w}
	a.writeAsync()
	return a.err, a.flush
}
