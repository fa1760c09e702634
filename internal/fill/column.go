// Package fill sets the initial values of property columns from files. Read column.go first.
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
	parts := uint64(len(c.graph.Parts))
	partition, i := int(uint64(from)%parts), uint32(uint64(from)/parts)
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

// vertex returns a vertex by its name, if it has one and the graph has names, else by its input id.
func (c *Column) vertex(label uint64, name []byte) (pregel.VertexID, bool) {
	if name != nil && c.graph.Names != nil {
		var ok bool
		if label, ok = c.graph.Names.Find(string(name)); !ok {
			return 0, false
		}
	}
	return c.graph.Find(label)
}

// byID returns the text of a value. If the value names a vertex, byID replaces the name by the
// input id.
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
