package graphio

import (
	"context"

	"github.com/superstep-go/superstep/internal/edges"
)

// readGiraph reads Giraph's lines.
func (r *reader) readGiraph(ctx context.Context, f *file) (*edges.RankInput, error) {
	if lines, _ := headLines(f.head(), true); f.headIsAll() && len(lines) == 0 {
		return nil, noLists(f.path)
	}
	return r.readLists(ctx, f, "Giraph JSON", 3, giraphLine)
}

const giraphForm = "[id, value, [[target, weight], ...]]"

// giraphLine reads a line of Apache Giraph's JsonLongDoubleFloatDoubleVertexInputFormat:
//
//	[id, value, [[target, weight], ...]]
//
// The value is ignored. As in adjacency lists, every vertex has a line.
func giraphLine(p *parser, line []byte) *fault {
	c := newJSONCursor(line)
	if len(c.text) == 0 {
		return nil
	}
	if !c.take('[') {
		return c.bad(giraphForm)
	}
	u, bad := c.vertex(p)
	if bad != nil {
		return bad
	}
	if !c.take(',') {
		return c.bad(giraphForm)
	}
	if bad := c.skip(0); bad != nil {
		return bad
	}
	if !c.take(',') || !c.take('[') {
		return c.bad(giraphForm)
	}
	p.listed = append(p.listed, u)
	for first := true; ; first = false {
		more, bad := c.list(']', first)
		if bad == nil && more {
			bad = c.giraphEdge(p, u)
		}
		if bad != nil {
			return bad
		}
		if !more {
			break
		}
	}
	if !c.take(']') {
		return c.bad("the end of the list: " + giraphForm)
	}
	return c.end()
}

// giraphEdge reads an edge of u.
func (c *jsonCursor) giraphEdge(p *parser, u uint64) *fault {
	if !c.take('[') {
		return c.bad("an edge: [target, weight]")
	}
	v, bad := c.vertex(p)
	if bad != nil {
		return bad
	}
	if !c.take(',') {
		return c.bad("a comma and a weight: [target, weight]")
	}
	f, bad := c.field(2)
	if bad != nil {
		return bad
	}
	w, bad := weight(f.text, p.single)
	if bad != nil {
		bad.column = f.column
		return bad
	}
	if !c.take(']') {
		return c.bad("the end of an edge: [target, weight]")
	}
	p.neighbor(u, v, w)
	return nil
}

// vertex reads an id.
func (c *jsonCursor) vertex(p *parser) (uint64, *fault) {
	f, bad := c.field(0)
	if bad != nil {
		return 0, bad
	}
	if len(f.text) == 0 {
		return 0, wrong("nothing", "the number of a vertex").inColumn(f.column)
	}
	id, bad := p.id(f.text)
	if bad != nil {
		bad.column = f.column
	}
	return id, bad
}

// neighbor adds v, with a weight if lines have any, to the list of u. For an edge in the lists of
// both ends it keeps the copy in the list of the smaller end.
func (p *parser) neighbor(u, v uint64, w float64) {
	if p.twice {
		p.balance.edge(u, v, w)
		if v < u {
			return
		}
	}
	p.ids = append(p.ids, u, v)
	if p.columns == 3 {
		p.weights = append(p.weights, w)
	}
}
