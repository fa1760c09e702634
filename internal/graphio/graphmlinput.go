package graphio

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/superstep-go/superstep/internal/edges"
)

// tokenReader passes bytes to the decoder, but limits the bytes of a key, a node or an edge, or of
// a token elsewhere.
type tokenReader struct {
	*bufio.Reader
	left int
	err  error // of the file
}

var errLongToken = errors.New("an element or a text of more than 1 MiB")

func (t *tokenReader) ReadByte() (byte, error) {
	if t.left--; t.left < 0 {
		return 0, errLongToken
	}
	b, err := t.Reader.ReadByte()
	if err != nil && err != io.EOF {
		t.err = err
	}
	return b, err
}

// undeclared returns a fault for the first edge with an end that is not a node.
func (g *graphml) undeclared() *fault {
	if len(g.pending) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Values(g.pending)))
	return wrong("an edge with an end that is no node", "a <node> for every end").onLine(first, 0)
}

// input makes the input from the parsed file.
func (g *graphml) input(ctx context.Context) (*edges.RankInput, error) {
	f, r := g.f, g.r
	switch n := uint64(g.names.Len()); { // every name is that of a node
	case n > maxVertices-1:
		return nil, inFile(tooMany(n), f.path)
	case n == 0:
		return nil, f.fault("no nodes", "one or more")
	}
	what := "GraphML"
	if g.weight != "" {
		what += ", weight " + strconv.Quote(g.weightName)
	}
	p := &parsed{f: f, table: g.t, what: what, directed: g.directed, names: g.names}
	p.weighted = g.weight != ""
	defer p.close()
	if g.numeric {
		if err := g.byNumber(ctx, p); err != nil {
			return nil, err
		}
	}
	s, err := r.finish(ctx, p)
	if err != nil || !r.partial {
		return s, err
	}
	s.Spans = []edges.Span{{From: int64(g.from), To: int64(g.to), Size: f.size()}}
	if !g.numeric {
		n := s.Names.Len() // of all ranks
		lo, hi := edges.Part(n, r.rank, r.ranks)
		s.Naming, s.Vertices, s.Names = edges.Numbers, n, s.Names.Part(uint64(lo), uint64(hi))
	}
	return s, nil
}

// owner returns the rank whose part contains the current position in the plain or compressed file.
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

// byNumber replaces the names in the edges by numbers; all names are numbers. It lists the numbers
// of this rank's part of the nodes.
func (g *graphml) byNumber(ctx context.Context, p *parsed) error {
	d, named := g.names.Sort(g.r.Team)
	defer named.Close()
	ids := make([]uint64, d.Len())
	for i := range ids {
		ids[i], _ = strconv.ParseUint(d.Name(uint64(i)), 10, 64)
	}
	old := p.table
	defer old.slabs.close()
	p.table = g.r.newTable(g.f, g.p.columns)
	for i := range old.batches {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		g.p.reset()
		if i == 0 { // flush made it, even if there are no edges
			lo, hi := edges.Part(len(ids), g.r.rank, g.r.ranks)
			g.p.listed = append(g.p.listed, ids[lo:hi]...)
		}
		for j := range old.batches[i].n {
			u, v := old.batches[i].tuple(j)
			g.p.ids = append(g.p.ids, ids[named.Of(u)], ids[named.Of(v)])
			if old.weighted {
				g.p.weights = append(g.p.weights, math.Float64frombits(old.batches[i].weights[j]))
			}
		}
		p.table.store(0, i, &g.p)
		old.slabs.release(i + 1)
	}
	p.table.seal()
	wrong := func(context.Context, int, uint64) error { return g.f.changed("other nodes") }
	p.names, p.listed, p.only, p.undeclared, p.repeated = nil, p.table.vertices(),
		true, wrong, wrong
	return nil
}
