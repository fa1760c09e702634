package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/superstep-go/superstep/algorithms/verify"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/names"
	"github.com/superstep-go/superstep/internal/sets"
	"github.com/superstep-go/superstep/internal/trace"
)

// certificate checks results by their properties, independently of the engine.
type certificate struct {
	check func(c *claim) error
	// stopped means that the result may be checked after any number of supersteps. tolerance means
	// that a result is final only if the run has converged.
	stopped, tolerance bool
}

// claim is a result for a certificate to check. Values are indexed by input vertex, as in package
// verify.
type claim struct {
	verify.Graph
	text       func(dst []byte, v int) []byte     // appends the text of a value
	values     map[string]string                  // given parameters
	iterations int                                // supersteps except the first
	columns    []columnFile                       // initial values of vertex columns
	members    func(set string) ([]uint64, error) // input ids in the file of a vertex set
	names      *names.Dictionary                  // names of vertices by input id, or nil
	named      bool                               // values contain names
	aggregates trace.Aggregates                   // as reported
	ended      trace.Ended

	wrong atomic.Pointer[valueError] // an invalid value, or nil
}

// check rejects a job that cannot run, or that --verify cannot check.
func (r *runCommand) check(programs engine.Registry, spec *job.Spec, grid graph.Grid) error {
	if err := resolve.CheckProgram(programs, spec, grid); err != nil || !r.result.Verify {
		return err
	}
	return certifiable(programs, spec)
}

// certifiable rejects a job that --verify cannot check.
func certifiable(programs engine.Registry, spec *job.Spec) error {
	switch p, _ := programs.Find(spec.Program); {
	case p.Own || certificates[spec.Program].check == nil:
		return usagef("--verify: found %s, expected an algorithm with a certificate", spec.Program)
	case spec.Parameters["weights"] == "float32":
		return usagef("--verify: there is no certificate for distances of type float32")
	}
	return nil
}

// certify checks a result of the job against the graph. text appends the value of a vertex. named
// means that values contain names of vertices.
func (l *loaded) certify(
	ctx context.Context, text func(dst []byte, v int) []byte, named bool,
	supersteps int, ended trace.Ended, aggregates trace.Aggregates,
) error {
	name := fmt.Sprintf("%s on %s", l.spec.Program, l.name)
	check := certificates[l.spec.Program]
	if final := ended.Complete() && (ended != trace.Iterations || !check.tolerance); !final &&
		!check.stopped {
		return fmt.Errorf("%s: found no final result to verify: the run stopped after %d supersteps", name, supersteps)
	}
	in, g, unit := l.in, l.graph, l.graph.Options.UnitWeights
	if g.Dropped > 0 || g.Options.DropLoops && g.Loops > 0 {
		// The program saw the stored edges, not all edges of the input.
		in.Close()
		in, unit = g.Input(), false
		defer in.Close()
	}
	l.progress.stage("verifying", 0, 0)
	parameters, err := sets.Parameters(ctx, g, l.entry.Parameters, l.spec.Parameters,
		func(string) {})
	if err != nil {
		return err
	}
	c := &claim{
		Graph: verify.Graph{
			Edges: in.Edges, Vertices: g.N, Directed: g.Directed, UnitWeights: unit,
			Labels: g.Labels, Team: l.team, Stop: ctx.Err,
			Progress: func(done, all int64) { l.progress.stage("verifying", done, all) },
		},
		text: text, values: parameters, iterations: max(supersteps-1, 0), ended: ended,
		columns: l.columns, names: g.Names, named: named, aggregates: aggregates,
		members: func(set string) ([]uint64, error) {
			labels, _, err := sets.Members(ctx, g, set)
			return labels, err
		},
	}
	err = check.check(c)
	switch wrong := c.wrong.Load(); {
	case wrong != nil:
		return wrong
	case errors.As(err, new(*verify.Violation)):
		return fmt.Errorf("%s: the result is wrong: %w", name, err)
	case err != nil:
		return fmt.Errorf("verifying: %w", err)
	}
	return nil
}

// vertex returns the input vertex with an id.
func (c *claim) vertex(id string) (int64, error) {
	label, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0, err
	}
	v, ok := c.Labels.Find(label, c.Vertices)
	if !ok {
		return 0, fmt.Errorf("the graph has no vertex %d", label)
	}
	return int64(v), nil
}

// called returns the input vertex for a text in a value: a name if values contain names, otherwise
// an id.
func (c *claim) called(text string) (int64, error) {
	if c.named {
		if label, ok := c.names.Find(text); ok {
			text = strconv.FormatUint(label, 10)
		}
	}
	return c.vertex(text)
}

// begins reads the initial values of a column of numbers; nil if there are none.
func (c *claim) begins(name string) ([]float64, error) {
	i := slices.IndexFunc(c.columns, func(f columnFile) bool { return f.name == name })
	if i < 0 {
		return nil, nil
	}
	all := make([]float64, c.Vertices)
	file := c.columns[i]
	if graph.IsSet(file.path) {
		labels, err := c.members(file.path)
		for _, label := range labels {
			v, _ := c.Labels.Find(label, c.Vertices)
			all[v] = 1
		}
		return all, err
	}
	file.at.Named = c.names != nil
	read := func(v *graphio.Value) (found, expected string) {
		id, ok := v.ID, true
		if c.names != nil {
			id, ok = c.names.Find(string(v.Names[0]))
		}
		x, err := strconv.ParseFloat(string(v.Text), 64)
		u, known := c.Labels.Find(id, c.Vertices)
		if !ok || !known || err != nil {
			return fmt.Sprintf("%s %.80q", v.Vertex(0), v.Text), "a vertex and a number"
		}
		all[u] = x
		return "", ""
	}
	return all, graphio.ReadColumn(context.Background(), file.path, file.at, read)
}

// valueError is the error of an invalid value.
type valueError struct{ error }

// column parses the values of all vertices from their texts, so that it checks what was written. It
// returns nil if a value is invalid.
func column[T any](c *claim, expected string, parse func(text string) (T, error)) []T {
	all := make([]T, c.Vertices)
	c.Team.For(len(all), 1<<14, func(_, lo, hi int) {
		var text []byte
		for v := lo; v < hi && c.wrong.Load() == nil; v++ {
			text = c.text(text[:0], v)
			var err error
			if all[v], err = parse(string(text)); err != nil {
				c.wrong.Store(&valueError{fmt.Errorf("found the value %.80q of vertex %d, expected %s", text, c.Labels.Of(uint64(v)), expected)})
			}
		}
	})
	if c.wrong.Load() != nil {
		return nil
	}
	return all
}
