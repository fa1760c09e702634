package graphio

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/edges"
)

// ReadShare reads the part of a file that the given one of several ranks has: together they read all of it, in order.
// Plain files are cut by bytes, at the ends of lines or records; compressed ones by pieces, of which a rank decodes those
// before its own too. Errors name the file and line that Read would: of several, the one of the lowest rank comes first.
// What only all ranks together can tell, the share's Check, Stranger and Repeated say. The caller closes the result.
func ReadShare(ctx context.Context, path string, rank, ranks int, o ReadOptions) (*edges.Share, error) {
	r := newReader(o, pieceSize)
	r.rank, r.ranks = rank, ranks
	return r.share(ctx, path)
}

func (r *reader) share(ctx context.Context, path string) (*edges.Share, error) {
	r.shares = true
	return within(ctx, r, path, formats[*edges.Share]{r.shareEdgeList, r.shareMatrixMarket, r.shareLDBC, r.shareGraph500})
}

// shareEdgeList is readEdgeList of a part: the ids stay what they are.
func (r *reader) shareEdgeList(ctx context.Context, f *file, format Format) (*edges.Share, error) {
	t, err := r.readTable(ctx, f, start{}, r.listGrammar(format == WEL, pairs))
	if err != nil {
		return nil, err
	}
	defer t.slabs.close()
	s, err := r.shareOf(ctx, f, t, nil, r.directed(true))
	if err != nil {
		return nil, err
	}
	s.Naming = edges.Named
	path := f.path
	s.Check = func(tuples int, _ uint64) error {
		if tuples == 0 {
			return noEdges(path)
		}
		return nil
	}
	s.Account = []string{r.shareAccount(f, listNames[format], s)}
	return s, nil
}

// shareOf makes a share of what was parsed, with the numbers that x gives, or the ids as they are.
func (r *reader) shareOf(ctx context.Context, f *file, t *table, x *numbering, directed bool) (*edges.Share, error) {
	largest := t.max
	list, _, err := pack(ctx, r.Team, t, x, r.Weights)
	if err != nil {
		return nil, err
	}
	return &edges.Share{
		Input: edges.Input{Name: f.path, Edges: list, Directed: directed, Free: list.Close}, Largest: largest, Spans: []edges.Span{t.span},
	}, nil
}

// shareAccount says in one line what was understood of a part of a file.
func (r *reader) shareAccount(f *file, what string, s *edges.Share) string {
	if f.codec != plain {
		what += ", " + f.codec.String()
	}
	return fmt.Sprintf("%s: %s, part %d of %d: %s, %s", f.path, what, r.rank+1, r.ranks, counted(s.Edges.Len(), "edge", "edges"), directedAccount(s.Directed))
}

// shareMatrixMarket is readMatrixMarket of a part of the entries; everybody reads the header.
func (r *reader) shareMatrixMarket(ctx context.Context, f *file) (*edges.Share, error) {
	lines := &lineReader{r: f.content}
	h, err := readMTXHeader(lines)
	if err != nil {
		return nil, inFile(err, f.path)
	}
	if err := h.allows(r, f.path); err != nil {
		return nil, err
	}
	t, err := r.readTable(ctx, f, start{lines.offset, lines.line}, h.grammar(r.Weights == edges.Float32))
	if err != nil {
		return nil, err
	}
	defer t.slabs.close()
	x := consecutive(1, int(h.rows))
	s, err := r.shareOf(ctx, f, t, x, r.directed(!h.symmetric))
	if err != nil {
		return nil, err
	}
	s.Vertices, s.Labels = x.n, x.labels()
	path := f.path
	s.Check = func(tuples int, _ uint64) error {
		if err := h.check(tuples); err != nil {
			return inFile(err, path)
		}
		return nil
	}
	s.Account = []string{r.shareAccount(f, h.what(), s)}
	return s, nil
}

// shareLDBC is readLDBC of a part of the vertices and a part of the edges.
func (r *reader) shareLDBC(ctx context.Context, path string) (*edges.Share, error) {
	g, err := r.openLDBC(ctx, path)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	vertices, err := r.readTable(ctx, g.v, start{}, vertexGrammar)
	if err != nil {
		return nil, err
	}
	defer vertices.slabs.close()
	t, err := r.readTable(ctx, g.e, start{}, r.listGrammar(g.weighted, ldbcPairs))
	if err != nil {
		return nil, err
	}
	defer t.slabs.close()
	if err := g.v.unchanged(); err != nil {
		return nil, err
	}
	s, err := r.shareOf(ctx, g.e, t, nil, r.directed(g.directed()))
	if err != nil {
		return nil, err
	}
	if err := r.admission(g.v).admit(8*int64(vertices.n), "the list of its vertices"); err != nil {
		s.Close()
		return nil, err
	}
	s.Name, s.Naming = path, edges.Listed
	s.IDs = make([]uint64, 0, vertices.n)
	for _, b := range vertices.batches {
		s.IDs = append(s.IDs, b.words...)
	}
	s.Spans = append(s.Spans, vertices.span)
	s.Stranger = func(ctx context.Context, tuple int, id uint64) error {
		line, err := r.lineIn(ctx, g.edges, t.span.From, tuple)
		if err != nil {
			return err
		}
		return strangerAt(g.edges, line, id, g.vertices)
	}
	s.Repeated = func(ctx context.Context, place int, id uint64) error {
		line, err := r.lineIn(ctx, g.vertices, vertices.span.From, place)
		if err != nil {
			return err
		}
		return vertexAgain(g.vertices, line, id)
	}
	s.Account = []string{r.shareAccount(g.e, "Graphalytics edges", s), g.account(r.Directed)}
	return s, nil
}

// lineIn opens a file anew and returns the line of the k-th line of data of the part that begins at an offset.
func (r *reader) lineIn(ctx context.Context, path string, from int64, k int) (int, error) {
	f, err := r.open(ctx, path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return lineOf(f, from, k, listMarks)
}

// shareGraph500 is readGraph500 of a part of the tuples: whole blocks, but for the last.
func (r *reader) shareGraph500(ctx context.Context, path string) (*edges.Share, error) {
	f, w, shut, err := r.openPacked(ctx, path)
	if err != nil {
		return nil, err
	}
	defer shut()
	n, part := int(f.size())/packedSize, all
	if f.codec != plain {
		if n, _, err = r.scanTuples(ctx, f, all); err != nil {
			return nil, err
		}
	}
	blocks := (n + edges.BlockSize - 1) / edges.BlockSize
	part.from, part.to = edges.Part(blocks, r.rank, r.ranks)
	part.from, part.to = min(part.from*edges.BlockSize, n), min(part.to*edges.BlockSize, n)
	_, last, err := r.scanTuples(ctx, f, part)
	if err != nil {
		return nil, err
	}
	list, err := r.load(ctx, f, w, n, part, last+1)
	if err != nil {
		return nil, err
	}
	s := &edges.Share{
		Input:   edges.Input{Name: path, Edges: list, Directed: r.directed(false), Free: list.Close},
		Largest: last,
		Spans:   []edges.Span{{From: int64(part.from) * packedSize, To: int64(part.to) * packedSize, Size: f.size()}},
		Check: func(tuples int, last uint64) error {
			if tuples == 0 {
				return noEdges(path)
			}
			return largestTuple(path, last)
		},
	}
	s.Account = []string{r.shareAccount(f, "Graph500 packed edges", s)}
	return s, nil
}
