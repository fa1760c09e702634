// Package fill sets the initial values of property columns from files. Read column.go first.
package fill

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strconv"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/pregel"
)

// Column sets the values of a property from texts, in the format of results. Make it with New.
type Column struct {
	*engine.Prefilled
	graph   *graph.Graph
	values  map[int]reflect.Value // []T by local partition
	seen    map[int][]uint64      // bits of the values that are set
	scratch reflect.Value         // a T
	// Count is the number of values, including repeated ones of parallel edges that are stored as
	// one.
	Count int
}

// New returns a Column for the initial values of a property.
func New(p *engine.Prefilled, g *graph.Graph) (*Column, error) {
	if err := engine.Readable(p.Property); err != nil {
		return nil, err
	}
	c := &Column{
		Prefilled: p, graph: g, values: map[int]reflect.Value{}, seen: map[int][]uint64{},
		scratch: reflect.New(p.Type()).Elem(),
	}
	for i, storage := range p.Storage {
		c.values[i] = reflect.ValueOf(storage.Slice())
		c.seen[i] = make([]uint64, bitmap.Words(storage.Len()))
	}
	return c, nil
}

// Set sets the value of a local vertex or, for a property of edges, of the edge from a vertex to
// another, at each local end. It returns the error, if any, as found and expected. A vertex that
// already has a value is an error.
func (c *Column) Set(
	from, to pregel.VertexID, v *graphio.Value, find engine.Find,
) (found, expected string) {
	if c.OfEdges {
		return c.setEdge(from, to, v, find)
	}
	partition, i := c.graph.Deal.Of(uint32(from))
	if v.OfID = bitmap.Get(c.seen[partition], i); v.OfID {
		return "vertex " + v.Vertex(0) + " again", "every vertex once"
	}
	bitmap.Set(c.seen[partition], i)
	c.Count++
	return engine.SetText(c.values[partition].Index(int(i)), v.Text, find)
}

// File sets the values in one column of a file, in the format of results. It returns their number.
// In a graph with names the file has vertices by name; ends of edges only in a table, otherwise by
// input id. All partitions must be in this process. A vertex that is not in the file keeps zero,
// but every edge needs a value. It is an error if a vertex or edge is not in the graph, or if a
// vertex occurs twice.
func File(
	ctx context.Context, p *engine.Prefilled, g *graph.Graph, path string, of graphio.Column,
) (values int, err error) {
	c, err := New(p, g)
	if err != nil {
		return 0, err
	}
	if graph.IsSet(path) {
		err = c.setFile(ctx, path)
		return c.Count, err
	}
	of.OfEdges, of.Named = p.OfEdges, !p.OfEdges && g.Names != nil
	in := Vertices{Find: g.Find}
	if g.Names != nil {
		in.Name = g.Names.Find
	}
	err = graphio.ReadColumn(ctx, path, of, func(v *graphio.Value) (found, expected string) {
		return c.Line(v, in, g.Name)
	})
	if err == nil {
		if found, expected := c.Missing(); found != "" {
			err = graphio.LineError(path, 0, found, expected)
		}
	}
	return c.Count, err
}

// Vertices finds the vertices of a graph that lines name. Name returns the input id of a name; it is
// nil if the graph has no names, or the lines have none.
type Vertices struct {
	Name func(name string) (uint64, bool)
	Find engine.Find
}

// label returns the input id of an end of a line.
func (in *Vertices) label(v *graphio.Value, end int) (uint64, bool) {
	if v.Names[end] != nil && in.Name != nil {
		return in.Name(string(v.Names[end]))
	}
	return [2]uint64{v.ID, v.To}[end], true
}

// byID returns the text of a value. If the value names a vertex, byID replaces the name by the
// input id.
func (in *Vertices) byID(c *Column, text []byte) (_ []byte, ok bool) {
	name, ok := nameIn(c.Property, text)
	if in.Name == nil || !ok {
		return text, true
	}
	label, ok := in.Name(name)
	return strconv.AppendUint(nil, label, 10), ok
}

// ends returns the number of vertices that a line begins with.
func (c *Column) ends() int {
	if c.OfEdges {
		return 2
	}
	return 1
}

// Names appends the names of vertices in a line with names.
func (c *Column) Names(to []string, v *graphio.Value) []string {
	to = append(to, string(v.Names[0]))
	if name, ok := nameIn(c.Property, v.Text); ok {
		to = append(to, name)
	}
	return to
}

// Labels appends the input ids of vertices in a line.
func (c *Column) Labels(to []uint64, v *graphio.Value, in Vertices) []uint64 {
	for end := range c.ends() {
		if label, ok := in.label(v, end); ok {
			to = append(to, label)
		}
	}
	if c.Type() == vertexType {
		text, _ := in.byID(c, v.Text)
		label, err := strconv.ParseUint(string(bytes.Trim(text, " \t")), 10, 64)
		if err == nil {
			to = append(to, label)
		}
	}
	return to
}

// Line sets the value of a line, see Set, if its vertex or an end of its edge is local. of is the
// name of the graph, for errors.
func (c *Column) Line(v *graphio.Value, in Vertices, of string) (found, expected string) {
	var ends [2]pregel.VertexID
	here := false
	for end := range c.ends() {
		label, ok := in.label(v, end)
		if ok {
			ends[end], ok = in.Find(label)
		}
		if v.OfID = !ok || uint64(ends[end]) >= uint64(c.graph.N); v.OfID {
			return "vertex " + v.Vertex(end), "one of " + of
		}
		here = here || c.here(ends[end])
	}
	if !here {
		return "", ""
	}
	text, ok := in.byID(c, v.Text)
	if !ok {
		name, _ := nameIn(c.Property, v.Text)
		return fmt.Sprintf("vertex %.80q as a value", name), "one of the graph, or -1"
	}
	v.Text = text
	return c.Set(ends[0], ends[1], v, in.Find)
}
