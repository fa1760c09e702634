package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/pregel"
)

// fetch gets what the job computed, verifies it here if that was asked for, and writes it.
func (j *clusterRun) fetch(ctx context.Context, job *control.Job) error {
	if !job.Spec.GetKeepResult() {
		return nil
	}
	if !j.verify {
		return j.app.saveResult(ctx, j.wait.client, job, j.output, j.wait.display)
	}
	return j.verifyHere(ctx, job)
}

const fetching = "fetching the result"

// saveResult writes the result of a job to a file, which appears whole or not at all, or to standard output.
func (a *app) saveResult(ctx context.Context, from *client.Client, job *control.Job, output string, show stages) error {
	if output == "" {
		return nil
	}
	var failed error
	fill := func(w io.Writer) error {
		_, failed = from.Result(ctx, job.Id, &counting{w: w, total: int64(job.ResultBytes), show: show})
		return failed
	}
	if output == "-" {
		return fill(a.out)
	}
	err := graphio.WriteFile(ctx, output, 1, fill)
	if failed != nil && !errors.As(failed, new(*os.PathError)) {
		return failed // of the cluster, not of the file
	}
	return err
}

// counting shows how much is written.
type counting struct {
	w           io.Writer
	done, total int64
	show        stages
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.done += int64(n)
	c.show.stage(fetching, c.done, c.total)
	return n, err
}

// verifiable finds out before the job is submitted whether its result can be verified here, where the graph is read again.
func (j *clusterRun) verifiable(ctx context.Context, spec *control.JobSpec) error {
	if err := j.verifies(spec.Program, spec.Parameters); err != nil {
		return err
	}
	j.source = spec.Source
	if spec.Graph != "" {
		g, err := j.wait.client.Graph(ctx, spec.Graph)
		if err != nil {
			return err
		}
		j.source = g.Source
	}
	if generate.IsGenerator(j.source.GetInput()) {
		return nil
	}
	if err := graphio.Present(j.source.GetInput(), graphio.Format(j.source.GetFormat())); err != nil {
		return fmt.Errorf("--verify reads the graph here too: %w", err)
	}
	return nil
}

// verifies refuses --verify where nothing could be said of the result.
func (r *runCommand) verifies(program string, values map[string]string) error {
	switch {
	case !r.verify:
	case certificates[program] == nil:
		return usagef("--verify: there is no certificate for %s, only for the algorithms that come with superstep", program)
	case values["weights"] == "float32":
		return usagef("--verify: there is no certificate for distances of type float32")
	}
	return nil
}

// verifyHere checks the result against the graph, which it loads as the workers did, and writes it.
func (j *clusterRun) verifyHere(ctx context.Context, job *control.Job) error {
	e, err := j.app.program(job.Spec.Program)
	if err != nil {
		return err
	}
	team, err := j.run.team()
	if err != nil {
		return err
	}
	defer team.Close()
	s := j.source
	d, err := graph.ParseDuplicates(s.GetDuplicates())
	if err != nil {
		return fmt.Errorf("--verify: %w", err)
	}
	here := *j.runCommand
	here.graph = s.GetInput()
	here.input = inputFlags{format: s.GetFormat(), directed: s.GetDirected(), undirected: s.Directed != nil && !s.GetDirected()}
	if s.GetMaxExpand() > 0 {
		here.input.maxExpand = fmt.Sprint(s.GetMaxExpand())
	}
	local := &runJob{
		runCommand: &here, entry: e, values: job.Spec.GetParameters(), team: team, progress: j.wait.display, report: &runReport{}, grid: graph.Of(1), seen: &sight{},
		stored: graph.Options{Duplicates: d, DropLoops: s.GetDropLoops(), UnitWeights: s.GetUnitWeights()},
	}
	if s.GetWeights() == "float32" {
		local.stored.Weights = edges.Float32
	}
	defer local.close()
	if err := local.load(ctx); err != nil {
		return fmt.Errorf("--verify reads the graph here too: %w", err)
	}
	if n := uint64(local.graph.N); n != job.Vertices {
		return fmt.Errorf("--verify: %s has %d vertices here and %d on the cluster: is it the same graph?", s.GetInput(), n, job.Vertices)
	}
	var lines bytes.Buffer
	if _, err := j.wait.client.Result(ctx, job.Id, &counting{w: &lines, total: int64(job.ResultBytes), show: j.wait.display}); err != nil {
		return err
	}
	values, err := newFetched(local.graph, &lines)
	if err != nil {
		return fmt.Errorf("the result of job %s: %w", job.Id, err)
	}
	local.computed = values
	if err := local.verified(ctx, &bsp.Outcome{Supersteps: int(job.Supersteps), Converged: job.Converged}); err != nil {
		return err
	}
	if values.err != nil {
		return fmt.Errorf("the result of job %s: %w", job.Id, values.err)
	}
	j.report.Verified = local.report.Verified
	return local.write(ctx)
}

// fetched is a result as lines of text, by input vertex.
type fetched struct {
	graph *graph.Graph
	texts []string

	once sync.Once
	err  error // the first value that is none
}

// Append appends the text of a value.
func (f *fetched) Append(dst []byte, id pregel.VertexID) []byte {
	return append(dst, f.texts[f.graph.Order[id]]...)
}

func newFetched(g *graph.Graph, lines io.Reader) (*fetched, error) {
	labels, texts, err := graphio.ReadValues(lines, "the master's answer")
	if err != nil {
		return nil, err
	}
	if len(labels) != g.N {
		return nil, fmt.Errorf("found %d values for %d vertices", len(labels), g.N)
	}
	f := &fetched{graph: g, texts: make([]string, g.N)}
	seen := make([]bool, g.N)
	for i, label := range labels {
		v := uint64(i)
		if g.Labels.Of(v) != label {
			found, ok := g.Labels.Find(label, g.N)
			if !ok {
				return nil, fmt.Errorf("found a value for %d, which is no vertex of %s", label, g.Name)
			}
			v = uint64(found)
		}
		if seen[v] {
			return nil, fmt.Errorf("found two values for %d", label)
		}
		seen[v], f.texts[v] = true, texts[i]
	}
	return f, nil
}

// valuesOf returns how to read the values of a result of vertices, of the types that certificates look at.
func valuesOf[V any](f *fetched) func(id pregel.VertexID) V {
	return func(id pregel.VertexID) (value V) {
		text := f.texts[f.graph.Order[id]]
		var err error
		expected := "" // of the types there are
		switch v := any(&value).(type) {
		case *pregel.VertexID:
			*v, err = f.vertex(text)
			expected = "the id of a vertex, or -1"
		case *int64:
			*v, err = strconv.ParseInt(text, 10, 64)
			expected = "a whole number"
		case *float64:
			*v, err = strconv.ParseFloat(text, 64)
			expected = "a number"
		default:
			err = errors.ErrUnsupported
		}
		if err != nil {
			f.once.Do(func() {
				f.err = fmt.Errorf("found the value %.80q of vertex %d, expected %s", text, f.graph.Label(id), expected)
			})
		}
		return value
	}
}

// vertex reads the input id of a vertex; -1 is none.
func (f *fetched) vertex(text string) (pregel.VertexID, error) {
	if text == "-1" {
		return pregel.None, nil
	}
	label, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, err
	}
	id, ok := f.graph.Find(label)
	if !ok {
		return 0, fmt.Errorf("no vertex %d", label)
	}
	return id, nil
}
