package graphio

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/names"
)

// tokenReader gives the decoder bytes, of which a token may take so many.
type tokenReader struct {
	f    *file
	left int
	err  error // of the file
}

var errLongToken = errors.New("an element or a text of more than 1 MiB")

func (t *tokenReader) ReadByte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, errLongToken
	}
	b, err := t.f.content.ReadByte()
	if err != nil && err != io.EOF {
		t.err = err
	}
	return b, err
}

// Read is not called: the decoder takes bytes.
func (t *tokenReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b, err := t.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = b
	return 1, nil
}

// undeclared is the fault of the first edge with an end that is no node.
func (g *graphml) undeclared() *fault {
	first := 0
	for _, line := range g.pending {
		if first == 0 || line < first {
			first = line
		}
	}
	if first == 0 {
		return nil
	}
	return wrong("an edge with an end that is no node", "a <node> for every end").onLine(first, 0)
}

// input makes the input of what was read.
func (g *graphml) input(ctx context.Context) (*edges.RankInput, error) {
	f, r := g.f, g.r
	if uint64(g.nodes) > maxVertices-1 {
		return nil, inFile(tooMany(uint64(g.nodes)), f.path)
	}
	if g.nodes == 0 {
		return nil, fileFault(f.path, "no nodes", "one or more")
	}
	dictionary, named := g.names.Sort(r.Team)
	defer named.Close()
	x := &numbering{n: dictionary.Len(), named: named}
	if g.numeric {
		x.byNumber(dictionary)
	}
	what := "GraphML"
	if g.weight != "" {
		what += ", weight " + strconv.Quote(g.weightName)
	}
	s, err := r.finish(ctx, &parsed{f: f, table: g.t, what: what, directed: g.directed, weighted: g.weight != "", numbering: x})
	if err != nil {
		return nil, err
	}
	if !g.numeric {
		s.Names = dictionary
	}
	if r.partial {
		if err := g.ofRank(s, dictionary); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// owner returns the rank whose part has what is read now: by its place in the file, or in what is
// packed.
func (g *graphml) owner() int {
	at := g.f.consumed()
	if g.f.codec == plain {
		at = g.d.InputOffset()
	}
	if g.r.ranks == 1 || g.f.size() == 0 {
		return g.r.rank
	}
	return min(int(at*int64(g.r.ranks)/g.f.size()), g.r.ranks-1)
}

// ofRank makes s, whose endpoints are numbers of the vertices of the whole file, the input of one
// of several ranks: of names it has those of the rank's part alone, and of numbers the endpoints,
// and the part of the vertices, by these.
func (g *graphml) ofRank(s *edges.RankInput, dictionary *names.Dictionary) error {
	lo, hi := edges.Part(s.Vertices, g.r.rank, g.r.ranks)
	s.Spans = []edges.Span{{From: int64(g.from), To: int64(g.to), Size: g.f.size()}}
	if !g.numeric {
		s.Names = dictionary.Part(uint64(lo), uint64(hi))
		return nil
	}
	labels := s.Labels
	s.IDs = make([]uint64, 0, hi-lo)
	for v := lo; v < hi; v++ {
		s.IDs = append(s.IDs, labels.Of(uint64(v)))
	}
	s.Naming, s.Vertices, s.Labels, s.Edges = edges.Listed, 0, edges.Labels{}, edges.Labelled(s.Edges, labels)
	var b edges.Block
	for i := range edges.Blocks(s.Edges) {
		if err := s.Edges.Read(i, &b); err != nil {
			return err
		}
		s.Largest = max(s.Largest, slices.Max(b.U[:b.N]), slices.Max(b.V[:b.N]))
	}
	wrong := func(context.Context, int, uint64) error { return g.f.changed("other nodes") }
	s.Undeclared, s.Repeated = wrong, wrong
	return nil
}

// byNumber numbers vertices whose names are numbers by these.
func (x *numbering) byNumber(d *names.Dictionary) {
	type place struct{ id, at uint64 }
	order := make([]place, d.Len())
	for i := range order {
		id, _ := strconv.ParseUint(d.Name(uint64(i)), 10, 64)
		order[i] = place{id, uint64(i)}
	}
	slices.SortFunc(order, func(a, b place) int { return cmp.Compare(a.id, b.id) })
	ranks := make([]uint32, len(order))
	x.ids = make([]uint64, len(order))
	for i, o := range order {
		x.ids[i], ranks[o.at] = o.id, uint32(i)
	}
	x.named.Renumber(ranks)
}
