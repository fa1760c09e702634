package graphio

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
)

// An adjacency list is a line for each vertex: its id, then those of its neighbours, which have
// lines of their own. It is the vertex-based format of LDBC Graphalytics. A directed edge is in the
// line of its source; an undirected one is in the lines of both ends, and the pair is kept from
// that of the smaller.

// adjacencyLists reads lines of ids between blanks.
type adjacencyLists struct{}

func (adjacencyLists) line(p *parser, line []byte) *fault {
	text := trimLine(line)
	if len(text) == 0 {
		return nil
	}
	if strings.IndexByte(listMarks, text[0]) >= 0 {
		p.comments++
		return nil
	}
	u, rest, f := p.nextID(text)
	if f != nil {
		return f.at(line, text)
	}
	p.listed = append(p.listed, u)
	for len(rest) > 0 {
		var v uint64
		from := rest
		if v, rest, f = p.nextID(rest); f != nil {
			return f.at(line, from)
		}
		p.neighbor(u, v, 0)
	}
	return nil
}

// nextID reads the first id of a text that does not begin with a blank, and returns what follows
// the blanks after it.
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
	return r.readLists(ctx, f, lists{what: "adjacency lists", own: adjacencyLists{}}, 2)
}

// lists says what the lines of lists are, each a vertex and its neighbours.
type lists struct {
	what string     // the format, for people
	own  lineFormat // that reads a line
	from start      // where the first line is
	skip bool       // lines at fault have been left out
}

// columnOf returns where a neighbour is in a line, as far as that is known.
func (d lists) columnOf(line []byte, neighbor int) int {
	if _, plain := d.own.(adjacencyLists); !plain {
		return 1
	}
	return offsetIn(line, fieldAt(line, neighbor+1)) + 1
}

// readLists reads lists of neighbours, of as many columns as given: 3 with weights. The vertices
// are those of the lines.
func (r *reader) readLists(ctx context.Context, f *file, d lists, columns int) (*edges.RankInput, error) {
	directed := r.directed(true)
	d.skip = r.SkipBad > 0
	g := grammar{columns: columns, twice: !directed, high: maxID, single: r.Weights == edges.Float32, own: d.own}
	t, err := r.readTable(ctx, f, d.from, g)
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
		if x, err = r.numberVertices(ctx, f.path, vertices, func(k int, id uint64) error { return repeatedList(f, d, 0, k, id) }); err != nil {
			return nil, err
		}
	}
	path := f.path
	unbalanced := func(ctx context.Context) error {
		return r.reopened(ctx, path, func(f *file) error { return r.unbalanced(ctx, f, d) })
	}
	s, undeclared, err := r.packed(ctx, path, t, x, directed)
	if err != nil {
		return nil, err
	}
	if undeclared >= 0 {
		return nil, undeclaredIn(f, d, t.spans[0].From, !directed, undeclared, t.undeclaredIn(undeclared, x))
	}
	if !r.partial && t.balance != (balance{}) {
		s.Close()
		return nil, r.unbalanced(ctx, f, d)
	}
	s.Account = r.account(f, d.what, t.remarks, s, columns == 3)
	if !r.partial {
		return s, nil
	}
	s.Naming = edges.Listed
	s.Balance, s.Unbalanced = t.balance, unbalanced
	s.IDs = vertices.ids()
	s.Undeclared = func(ctx context.Context, tuple int, id uint64) error {
		return r.reopened(ctx, path, func(f *file) error { return undeclaredIn(f, d, t.spans[0].From, !directed, tuple, id) })
	}
	s.Repeated = func(ctx context.Context, place int, id uint64) error {
		return r.reopened(ctx, path, func(f *file) error { return repeatedList(f, d, t.spans[0].From, place, id) })
	}
	return s, nil
}

func noLists(path string) error { return fileFault(path, "no vertices", "one a line") }

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

// undeclaredIn is the fault of a pair of lists, by its place among those that were kept from an
// offset on, of which an end has no line.
func undeclaredIn(f *file, d lists, from int64, twice bool, pair int, id uint64) error {
	bad := fileFault(f.path, fmt.Sprintf("vertex %d", id), "one of the vertices that have a line")
	if !f.regular { // it cannot be read again
		return bad
	}
	kept := 0
	err := eachList(f, d, func(at int64, line int, text []byte, u uint64, neighbors []uint64) bool {
		for i, v := range neighbors {
			if at >= from && !(twice && v < u) {
				if kept == pair {
					bad.line, bad.column = line, d.columnOf(text, i)
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

// repeatedList is the fault of the k-th list from an offset on, of a vertex that had one before.
func repeatedList(f *file, d lists, from int64, k int, id uint64) error {
	bad := fileFault(f.path, fmt.Sprintf("vertex %d again", id), "every vertex once")
	if !f.regular { // it cannot be read again
		return bad
	}
	return cmp.Or(eachList(f, d, func(at int64, line int, text []byte, _ uint64, _ []uint64) bool {
		if at >= from {
			if k == 0 {
				bad.line, bad.column = line, d.columnOf(text, -1)
			}
			k--
		}
		return bad.line == 0
	}), error(bad))
}

// eachList reads lists that were read before from the beginning, one after the other, for as long
// as each says to go on.
func eachList(f *file, d lists, each func(at int64, line int, text []byte, u uint64, neighbors []uint64) bool) error {
	f.restart()
	l := lineReader{r: f.content}
	p := parser{grammar: grammar{columns: 2, high: maxID, own: d.own}}
	for rows := 0; ; rows += p.rows {
		at := l.offset
		line, err := l.next()
		if err != nil {
			return endOfLists(err)
		}
		p.reset()
		p.first = rows
		if at < d.from.offset {
			continue
		}
		bad := d.own.line(&p, line)
		if bad != nil && d.skip {
			continue
		}
		if bad != nil {
			return inFile(l.at(bad), f.path)
		}
		var u uint64
		switch {
		case len(p.listed) > 0:
			u = p.listed[0]
		case len(p.ids) > 0:
			u = p.ids[0]
		default:
			continue
		}
		neighbors := p.ids[:0]
		for i := 1; i < len(p.ids); i += 2 {
			neighbors = append(neighbors, p.ids[i])
		}
		if !each(at, l.line, line, u, neighbors) {
			return nil
		}
	}
}
