package graphio

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
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

// describe describes the file, which was read.
func (g *graphml) describe(ctx context.Context) error {
	p := g.to
	switch n := uint64(p.named.Len()); { // every name is that of a node
	case n > maxVertices-1:
		return tooMany(n)
	case n == 0:
		return p.f.fault("no nodes", "one or more")
	}
	p.what, p.columns, p.Directed, p.only = "GraphML", g.p.columns, g.directed, true
	if g.weight != "" {
		p.what += ", weight " + strconv.Quote(g.weightName)
	}
	if g.numeric {
		if err := g.byNumber(ctx); err != nil {
			return err
		}
	}
	p.table.spans = []edges.Span{{From: int64(g.first), To: int64(g.last), Size: p.f.size()}}
	return nil
}

// owner returns the rank whose part contains the current position in the plain or compressed file.
func (g *graphml) owner() int {
	f := g.to.f
	at := f.consumed()
	if f.codec == plain {
		at = g.d.InputOffset()
	}
	if g.r.ranks == 1 || f.size() == 0 {
		return g.r.rank
	}
	return min(int(at*int64(g.r.ranks)/f.size()), g.r.ranks-1)
}

// byNumber replaces the names in the edges by numbers; all names are numbers. It lists the numbers
// of this rank's part of the nodes.
func (g *graphml) byNumber(ctx context.Context) error {
	p := g.to
	d, named := p.named.Sort(g.r.Team)
	defer named.Close()
	ids := make([]uint64, d.Len())
	for i := range ids {
		ids[i], _ = strconv.ParseUint(d.Name(uint64(i)), 10, 64)
	}
	old := p.table
	defer old.slabs.close()
	p.table = g.r.newTable(p.f, g.p.columns)
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
	wrong := func(context.Context, int, uint64) error { return p.f.changed("other nodes") }
	p.named, p.listed, p.Undeclared, p.Repeated = nil, p.table.vertices(), wrong, wrong
	return nil
}
