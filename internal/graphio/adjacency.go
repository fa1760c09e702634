package graphio

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// An adjacency list has a line for each vertex: the vertex's id, then the ids of its neighbours.
// Every neighbour has a line of its own. It is the vertex-based format of LDBC Graphalytics. A
// directed edge is in the line of its source. An undirected edge is in the lines of both ends, and
// the reader keeps the copy in the line of the smaller end.

// adjacencyLine reads a line of ids, separated by blanks.
func adjacencyLine(p *parser, line []byte) *fault {
	text := bytes.Trim(line, " \t")
	if len(text) == 0 {
		return nil
	}
	if strings.IndexByte(listMarks, text[0]) >= 0 {
		p.comments++
		return nil
	}
	u, rest, bad := p.nextID(text)
	if bad != nil {
		return bad.at(line, text)
	}
	p.listed = append(p.listed, u)
	return p.neighbors(u, line, rest)
}

// neighbors reads the neighbours of u from text, the rest of a line. If the format has weights, the
// weight of the edge follows each neighbour.
func (p *parser) neighbors(u uint64, line, text []byte) *fault {
	for len(text) > 0 {
		from, w := text, 0.0
		v, rest, bad := p.nextID(text)
		if bad != nil {
			return bad.at(line, from)
		}
		if v == u && p.low == 1 {
			return wrong(fmt.Sprintf("vertex %d among its own neighbours", u),
				"other vertices: a METIS graph has no loops").at(line, from)
		}
		if text = rest; p.columns == 3 {
			from = text
			var field []byte
			if field, text = cutField(text); len(field) == 0 {
				return wrong(fmt.Sprintf("the neighbour %d without a weight", v),
					"neighbours and weights of edges by turns").inColumn(len(line) + 1)
			}
			if w, bad = weight(field, p.single); bad != nil {
				return bad.at(line, from)
			}
		}
		p.neighbor(u, v, w)
	}
	return nil
}

// nextID reads the id at the beginning of text, which does not begin with a blank. It skips the
// blanks after the id and returns the rest.
func (p *parser) nextID(text []byte) (id uint64, rest []byte, f *fault) {
	id, end := digits(text, 0)
	if end == 0 || end > 19 || end < len(text) && !isBlank(text[end]) || id < p.low || id > p.high {
		var field []byte
		field, rest = cutField(text)
		id, f = p.id(field)
		return id, rest, f
	}
	return id, bytes.TrimLeft(text[end:], " \t"), nil
}

// readAdjacency reads adjacency lists. Each line is a vertex of the graph.
func (r *reader) readAdjacency(ctx context.Context, p *parsed) error {
	p.grammar, p.own = r.grammar(false), adjacencyLine
	return r.readLists(ctx, p, "adjacency lists")
}

// readLists reads lists of neighbours. Each line is a vertex of the graph.
func (r *reader) readLists(ctx context.Context, p *parsed, what string) (err error) {
	if columns(p.f.head()) == 0 && p.f.headIsAll() {
		return noLists(p.f.path)
	}
	p.what, p.only, p.Directed = what, true, r.directed(true)
	p.twice = !p.Directed
	if p.table, err = r.readTable(ctx, p.textFile); err != nil {
		return err
	}
	p.listed = p.table.vertices()
	from := p.table.spans[0].From
	p.Undeclared = r.lineOf(p.textFile, from, false, "", "one of the vertices that have a line")
	p.Repeated = r.lineOf(p.textFile, from, true, " again", "every vertex once")
	p.Unbalanced = r.unbalanced(p.textFile)
	if p.listed.n == 0 && !r.partial {
		return noLists(p.f.path)
	}
	return nil
}

func noLists(path string) error { return fileFault(path, "no vertices", "one a line") }

// vertices returns a table of the ids at the beginnings of the lines.
func (t *table) vertices() *table {
	v := &table{columns: 1, batches: make([]batch, len(t.batches))}
	v.slabs.admission = t.slabs.admission
	for i := range t.batches {
		b := &v.batches[i]
		b.words, b.n = t.batches[i].listed, len(t.batches[i].listed)
		for _, id := range b.words {
			b.max = max(b.max, id)
		}
	}
	v.seal()
	return v
}
