package graphio

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
)

// An adjacency list is a line for each vertex: its id, then those of its neighbours, which have lines of their own. It is the
// vertex-based format of LDBC Graphalytics. A directed edge is in the line of its source; an undirected one is in the lines of both ends,
// and the pair is kept from that of the smaller.

// list reads the line of a vertex.
func (p *parser) list(text []byte) *fault {
	u, rest, f := p.nextID(text)
	if f != nil {
		return f
	}
	p.listed = append(p.listed, u)
	for len(rest) > 0 {
		var v uint64
		if v, rest, f = p.nextID(rest); f != nil {
			return f
		}
		if p.twice {
			p.balance.edge(u, v)
		}
		if p.twice && v < u {
			continue
		}
		p.ids = append(p.ids, u, v)
	}
	return nil
}

// nextID reads the first id of a text that does not begin with a blank, and returns what follows the blanks after it.
func (p *parser) nextID(text []byte) (id uint64, rest []byte, f *fault) {
	id, end := digits(text, 0)
	switch {
	case end == 0 || end > 19 || end < len(text) && !isBlank(text[end]):
		var field []byte
		field, rest = cutField(text)
		id, f = p.id(field)
		return id, rest, f
	default:
		return id, bytes.TrimLeft(text[end:], " \t"), nil
	}
}

// readAdjacency reads adjacency lists. The vertices are those of the lines.
func (r *reader) readAdjacency(ctx context.Context, f *file) (*edges.RankInput, error) {
	if columns(f.head()) == 0 && f.headIsAll() {
		return nil, noLists(f.path)
	}
	directed := r.directed(true)
	t, err := r.readTable(ctx, f, start{}, grammar{columns: 2, lists: true, twice: !directed, marks: listMarks, high: maxID})
	if err != nil {
		return nil, err
	}
	defer t.slabs.close()
	vertices := t.vertices()
	var x *numbering
	if !r.partial {
		if vertices.n == 0 {
			return nil, noLists(f.path)
		}
		if x, err = r.numberVertices(ctx, f, vertices); err != nil {
			return nil, err
		}
	}
	path := f.path
	unbalanced := func(ctx context.Context) error {
		return r.reopened(ctx, path, func(f *file) error { return r.unbalanced(ctx, f) })
	}
	list, undeclared, err := pack(ctx, r.Team, t, x, r.Weights)
	if err != nil {
		return nil, err
	}
	if undeclared >= 0 {
		return nil, undeclaredIn(f, t.span.From, !directed, undeclared, t.undeclaredIn(undeclared, x))
	}
	if !r.partial && t.balance != (balance{}) {
		list.Close()
		return nil, r.unbalanced(ctx, f)
	}
	s := r.input(path, list, x, directed)
	s.Account = r.account(f, "adjacency lists", t.remarks, s, false)
	if !r.partial {
		return s, nil
	}
	s.Naming, s.Largest, s.Spans = edges.Listed, t.max, []edges.Span{t.span}
	s.Balance, s.Unbalanced = t.balance, unbalanced
	s.IDs = make([]uint64, 0, vertices.n)
	for _, b := range vertices.batches {
		s.IDs = append(s.IDs, b.words...)
	}
	s.Undeclared = func(ctx context.Context, tuple int, id uint64) error {
		return r.reopened(ctx, path, func(f *file) error { return undeclaredIn(f, t.span.From, !directed, tuple, id) })
	}
	s.Repeated = func(ctx context.Context, place int, id uint64) error {
		return r.reopened(ctx, path, func(f *file) error { return repeatedAt(f, t.span.From, place, id) })
	}
	return s, nil
}

func noLists(path string) error { return &fault{path, 0, "no vertices", "one a line"} }

// vertices are the ids of the lines of lists, as a table of their own.
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

// undeclaredIn is the fault of a pair of lists, by its place among those that were kept from an offset on, of which an end has no line.
func undeclaredIn(f *file, from int64, twice bool, pair int, id uint64) error {
	bad := &fault{f.path, 0, fmt.Sprintf("vertex %d", id), "one of the vertices that have a line"}
	if !f.regular { // it cannot be read again
		return bad
	}
	kept := 0
	err := eachList(f, func(at int64, line int, u uint64, neighbors []uint64) bool {
		for _, v := range neighbors {
			if at >= from && !(twice && v < u) {
				if kept == pair {
					bad.line = line
				}
				kept++
			}
		}
		return bad.line == 0
	})
	if err != nil {
		return err
	}
	return bad
}

// eachList reads lists that were read before from the beginning, one after the other, for as long as each says to go on.
func eachList(f *file, each func(at int64, line int, u uint64, neighbors []uint64) bool) error {
	f.restart()
	l := lineReader{r: f.content}
	p := parser{grammar: grammar{lists: true, high: maxID}}
	for {
		at := l.offset
		line, err := l.next()
		if err != nil {
			return endOfLists(err)
		}
		text := trimLine(line)
		if len(text) == 0 || strings.IndexByte(listMarks, text[0]) >= 0 {
			continue
		}
		p.reset()
		if bad := p.list(text); bad != nil {
			return inFile(l.at(bad), f.path)
		}
		neighbors := p.ids[:0]
		for i := 1; i < len(p.ids); i += 2 {
			neighbors = append(neighbors, p.ids[i])
		}
		if !each(at, l.line, p.listed[0], neighbors) {
			return nil
		}
	}
}
