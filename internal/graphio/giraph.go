package graphio

import "context"

// readGiraph reads Giraph's lines.
func (r *reader) readGiraph(ctx context.Context, p *parsed) error {
	p.grammar, p.own = r.grammar(true), giraphLine
	return r.readLists(ctx, p, "Giraph JSON")
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
	c.expect('[', giraphForm)
	u := c.vertex(p)
	c.expect(',', giraphForm)
	c.skip(0)
	c.expect(',', giraphForm)
	c.expect('[', giraphForm)
	p.listed = append(p.listed, u)
	for first := true; c.more(']', first); first = false {
		c.expect('[', "an edge: [target, weight]")
		v := c.vertex(p)
		c.expect(',', "a comma and a weight: [target, weight]")
		f := c.field(2)
		w, bad := weight(f.text, p.single)
		if bad != nil {
			c.fail(bad.inColumn(f.column))
		}
		if c.expect(']', "the end of an edge: [target, weight]"); c.bad == nil {
			p.neighbor(u, v, w)
		}
	}
	c.expect(']', "the end of the list: "+giraphForm)
	c.end()
	return c.bad
}

// vertex reads an id.
func (c *jsonCursor) vertex(p *parser) uint64 {
	f := c.field(0)
	id, bad := p.id(f.text)
	if len(f.text) == 0 {
		bad = wrong("nothing", "the number of a vertex")
	}
	if bad != nil {
		c.fail(bad.inColumn(f.column))
	}
	return id
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
