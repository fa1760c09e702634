// Package sets connects vertex sets with the command line: it makes them of lists and of results,
// lists them, and puts their vertices into parameters. Package vertexset has the sets themselves.
package sets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/vertexset"
)

// numbered is a graph as package vertexset needs it. Sets of a part of a graph have the numbers of
// the whole graph.
type numbered struct{ *graph.Graph }

func (g numbered) Vertex(id uint64) (pregel.VertexID, bool) { return g.Number(id) }
func (g numbered) Named(name string) (pregel.VertexID, bool) {
	if g.Names == nil {
		return pregel.None, false
	}
	label, ok := g.Names.Find(name)
	if !ok {
		return pregel.None, false
	}
	return g.Number(label)
}

// Recipe describes a set: the vertices of the list From and of the sets Union that are also in all
// sets And, and in no set Not. All are files.
type Recipe struct {
	From            string
	Union, And, Not []string
}

// Make makes the set. It needs a graph only for From.
func (r *Recipe) Make(ctx context.Context, g *graph.Graph) (s vertexset.Set, err error) {
	if r.From != "" {
		f, err := graphio.Open(ctx, r.From)
		if err != nil {
			return s, err
		}
		defer func() { _ = f.Close() }()
		s, err = vertexset.ReadList(f, numbered{g}, g.Names != nil)
		if wrong := new(vertexset.LineError); errors.As(err, &wrong) {
			return s, graphio.LineError(r.From, wrong.Line, wrong.Found, wrong.Expected)
		} else if err != nil {
			return s, fmt.Errorf("%s: %w", r.From, err)
		}
	}
	for _, step := range []struct {
		files   []string
		combine func(a, b vertexset.Set) (vertexset.Set, error)
	}{
		{r.Union, vertexset.Set.Union},
		{r.And, vertexset.Set.Intersect},
		{r.Not, vertexset.Set.Minus},
	} {
		for _, file := range step.files {
			other, err := vertexset.ReadFile(ctx, file)
			if err != nil {
				return s, err
			}
			if s, err = step.combine(s, other); err != nil {
				return s, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return s, nil
}

// List writes a line for each vertex of a set, with its input id or name.
func List(w io.Writer, g *graph.Graph, s vertexset.Set) error {
	labels, err := g.Members(s)
	for _, label := range labels {
		line := g.AppendName(nil, label)
		if g.Names != nil {
			line = graphio.AppendField(nil, func(dst []byte) []byte { return append(dst, line...) })
		}
		if _, err = w.Write(append(line, '\n')); err != nil {
			break
		}
	}
	return err
}

// Save writes a set of the vertices in the lines that fill writes. It leaves out vertices that the
// run added, and returns their number.
func Save(
	ctx context.Context, path string, g *graph.Graph, form resultlines.Form,
	fill func(ctx context.Context, w io.Writer) error,
) (added int, err error) {
	of := numbered{g}
	return save(ctx, path, of, fill, func(line []byte) (v pregel.VertexID, ok bool, err error) {
		text, _ := form.Cut(line)
		if form.Named {
			v, ok = of.Named(resultlines.Unquoted(string(text)))
			return v, ok, nil
		}
		label, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil {
			return pregel.None, false, nil
		}
		v, ok = of.Vertex(label)
		return v, ok, nil
	})
}

// Numbering is the numbering of a graph on a cluster.
type Numbering struct {
	Fingerprint uint64
	IDs         int
}

// Numbering implements vertexset.Graph.
func (n Numbering) Numbering() (fingerprint uint64, ids int) { return n.Fingerprint, n.IDs }

// Vertex and Named find nothing.
func (Numbering) Vertex(uint64) (pregel.VertexID, bool) { return pregel.None, false }
func (Numbering) Named(string) (pregel.VertexID, bool)  { return pregel.None, false }

// SaveNumbered is Save for a graph on a cluster and lines that end with the vertices' numbers.
func SaveNumbered(
	ctx context.Context, path string, of Numbering,
	fill func(ctx context.Context, w io.Writer) error,
) (added int, err error) {
	return save(ctx, path, of, fill, func(line []byte) (pregel.VertexID, bool, error) {
		_, text, err := resultlines.CutNumber(line)
		if err != nil || string(text) == "-" { // the run added the vertex
			return pregel.None, false, err
		}
		number, err := strconv.ParseUint(string(text), 10, 32)
		if err != nil {
			err = fmt.Errorf("found the line %.80q, expected the number of a vertex at its end", line)
		}
		return pregel.VertexID(number), true, err
	})
}

func save(
	ctx context.Context, path string, of vertexset.Graph,
	fill func(ctx context.Context, w io.Writer) error,
	vertex func(line []byte) (v pregel.VertexID, ok bool, err error),
) (added int, err error) {
	l := &lines{vertex: vertex}
	if err := fill(ctx, l); err != nil {
		return 0, err
	}
	s, err := vertexset.Of(of, slices.Values(l.vertices))
	if err != nil {
		return 0, err
	}
	return l.added, s.WriteFile(ctx, path)
}

// lines collects the vertices of lines of a result.
type lines struct {
	vertex   func(line []byte) (v pregel.VertexID, ok bool, err error)
	cutter   resultlines.Cutter
	vertices []pregel.VertexID
	added    int
}

func (l *lines) Write(data []byte) (int, error) {
	return l.cutter.Each(data, func(line []byte) error {
		v, ok, err := l.vertex(line)
		if ok {
			l.vertices = append(l.vertices, v)
		} else {
			l.added++
		}
		return err
	})
}

// Parameters returns a program's parameters with input ids in place of names of vertices, and of
// set:FILE. It calls tell with a line for each set of which the graph lacks vertices.
func Parameters(
	ctx context.Context, g *graph.Graph, of []engine.Parameter, given map[string]string,
	tell func(line string),
) (map[string]string, error) {
	var find func(name string) (uint64, bool)
	if g.Names != nil {
		find = g.Names.Find
	}
	values, err := engine.Vertices(of, given, func(file string) ([]uint64, error) {
		labels, of, err := Members(ctx, g, file)
		if len(labels) > 0 && len(labels) < of {
			tell(graph.Fewer(file, len(labels), of))
		}
		return labels, err
	}, find)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.Name, err)
	}
	return values, nil
}

// Members returns the input ids of the graph's vertices in a set's file. of is the size of the set.
func Members(ctx context.Context, g *graph.Graph, file string) (labels []uint64, of int, err error) {
	s, err := vertexset.ReadFile(ctx, file)
	if err != nil {
		return nil, 0, err
	}
	if labels, err = g.Members(s); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", file, err)
	}
	return labels, s.Len(), nil
}
