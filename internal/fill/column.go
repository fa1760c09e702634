// Package fill gives property columns the values that files have: what they begin with in a run.
package fill

import (
	"context"
	"reflect"
	"strconv"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/pregel"
)

// Column sets the values of a property from their texts, as results are written. Make it with New.
type Column struct {
	*engine.Prefilled
	graph   *graph.Graph
	values  map[int]reflect.Value // []T by partition here
	seen    map[int][]uint64      // bits of values that are set
	scratch reflect.Value         // a T
	// Count is of values that were set, or were those of edges set before.
	Count int
}

// New returns a Column of what a property begins with.
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

// Set sets the value of a vertex here, or, of a property of edges, of the edge from it to another,
// at those of its ends that are here. It returns what is wrong, if anything, as found and
// expected; a vertex that has its value already is.
func (c *Column) Set(
	from, to pregel.VertexID, v *graphio.Value, find engine.Find,
) (found, expected string) {
	if c.OfEdges {
		return c.setEdge(from, to, v, find)
	}
	parts := uint64(len(c.graph.Parts))
	partition, i := int(uint64(from)%parts), uint32(uint64(from)/parts)
	if v.OfID = bitmap.Get(c.seen[partition], i); v.OfID {
		return "vertex " + v.Vertex(0) + " again", "every vertex once"
	}
	bitmap.Set(c.seen[partition], i)
	c.Count++
	return engine.SetText(c.values[partition].Index(int(i)), v.Text, find)
}

// File sets the values that a file has, as results are written, in one of its columns. It returns
// how many these are. Vertices of a graph with names are called by their names there; ends of edges
// but those in a table, by their input ids. The graph is in this process as a whole. A vertex that
// the file does not name keeps its zero, but all edges have values; what is not in the graph is an
// error, and so is a vertex that is named twice.
func File(
	ctx context.Context, p *engine.Prefilled, g *graph.Graph, path string, of graphio.Column,
) (values int, err error) {
	c, err := New(p, g)
	if err != nil {
		return 0, err
	}
	of.OfEdges, of.Named = p.OfEdges, !p.OfEdges && g.Names != nil
	err = graphio.ReadColumn(ctx, path, of, func(v *graphio.Value) (found, expected string) {
		v.OfID = true
		from, ok := c.vertex(v.ID, v.Names[0])
		if !ok {
			return "vertex " + v.Vertex(0), "one of " + g.Name
		}
		to := from
		if p.OfEdges {
			if to, ok = c.vertex(v.To, v.Names[1]); !ok {
				return "vertex " + v.Vertex(1), "one of " + g.Name
			}
		}
		v.OfID = false
		if v.Text, found, expected = c.byID(v.Text); found != "" {
			return found, expected
		}
		return c.Set(from, to, v, g.Find)
	})
	if err == nil {
		if found, expected := c.Missing(); found != "" {
			err = graphio.LineError(path, 0, found, expected)
		}
	}
	return c.Count, err
}

// vertex finds a vertex of the graph by its name, if it has one and the graph has names, else by
// its input id.
func (c *Column) vertex(label uint64, name []byte) (pregel.VertexID, bool) {
	if name != nil && c.graph.Names != nil {
		var ok bool
		if label, ok = c.graph.Names.Find(string(name)); !ok {
			return 0, false
		}
	}
	return c.graph.Find(label)
}

// byID returns the text of a value, with the input id of a vertex that it names.
func (c *Column) byID(text []byte) (byID []byte, found, expected string) {
	name, ok := NameIn(c.Property, text)
	if c.graph.Names == nil || !ok {
		return text, "", ""
	}
	label, ok := c.graph.Names.Find(name)
	if !ok {
		return nil, "vertex " + strconv.Quote(name) + " as a value", "one of the graph, or -1"
	}
	return strconv.AppendUint(nil, label, 10), "", ""
}
