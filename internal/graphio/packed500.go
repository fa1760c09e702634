package graphio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/edges"
)

// packedSize is the size in bytes of a tuple of a Graph500 file, 48 bits an endpoint (struct
// packed_edge of the reference code), all words little-endian:
//
//	| v0, low 32 bits | v1, low 32 bits | v0, high 16 bits | v1, high 16 bits |
//	0                 4                 8                  10                 12
const packedSize = 12

// singleSize is the size of a weight in FILE.weights: a little-endian float32 for each tuple.
const singleSize = 4

// unpackEdge decodes the tuple at the beginning of data.
func unpackEdge(data []byte) (u, v uint64) {
	low := binary.LittleEndian.Uint64(data)
	high := uint64(binary.LittleEndian.Uint32(data[8:]))
	return low&math.MaxUint32 | high&0xffff<<32, low>>32 | high>>16<<32
}

// appendEdge encodes a tuple whose endpoints are below 2^48.
func appendEdge(dst []byte, u, v uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, u&math.MaxUint32|v<<32)
	return binary.LittleEndian.AppendUint32(dst, uint32(u>>32|v>>32<<16))
}

// readGraph500 reads packed tuples, undirected. Its vertices are 0 to the largest endpoint.
func (r *reader) readGraph500(ctx context.Context, path string) (*edges.RankInput, error) {
	f, err := r.openRecords(ctx, path, packedSize)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w, err := r.openWeights(ctx, f)
	if err != nil {
		return nil, err
	}
	columns := 2
	if w != nil {
		defer w.Close()
		columns = 3
	}
	n := int(f.size()) / packedSize
	t, err := r.readRecords(ctx, f, r.recordsOf(f, 0, n, packedSize), grammar{columns: columns}, func(q *parser, p *piece) error {
		for data := p.data; len(data) > 0; data = data[packedSize:] {
			u, v := unpackEdge(data)
			q.ids = append(q.ids, u, v)
		}
		if w == nil || r.Weights == edges.Unweighted {
			return nil
		}
		return w.singles(q, p.at/packedSize)
	})
	if err == nil && w != nil {
		err = w.unchanged()
	}
	if err != nil {
		return nil, err
	}
	check := func(tuples int, last uint64) error {
		if tuples == 0 {
			return noEdges(path)
		}
		return largestTuple(path, last, tuples)
	}
	if err := check(n, t.max); err != nil && (n > 0 || !r.partial) {
		t.slabs.close()
		return nil, err
	}
	s, err := r.finish(ctx, &parsed{
		f: f, table: t, what: "Graph500 packed edges", weighted: w != nil, check: check,
		numbering: consecutive(0, int(t.max)+1),
	})
	if err == nil && r.partial {
		s.Vertices, s.Largest = 0, t.max
	}
	return s, err
}

// singles adds the weights, from the given one on, of the tuples in q.
func (f *file) singles(q *parser, first int64) error {
	data := make([]byte, len(q.ids)/2*singleSize)
	if err := f.readAt(data, first*singleSize); err != nil {
		return err
	}
	f.progress.add(int64(len(data)))
	for i := 0; i < len(data); i += singleSize {
		x := float64(math.Float32frombits(binary.LittleEndian.Uint32(data[i:])))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return f.fault(fmt.Sprintf("the weight %v of tuple %d", x, first+int64(i)/singleSize),
				"a finite number")
		}
		q.weights = append(q.weights, x)
	}
	return nil
}

// largestTuple refuses a largest vertex that a graph cannot have, or that so many tuples do not
// make likely: all up to it are vertices.
func largestTuple(path string, last uint64, tuples int) error {
	const all = "files name all vertices up to the largest"
	switch most := mostVertices(tuples); {
	case last >= maxVertices:
		return fileFault(path, fmt.Sprintf("the vertex %d", last), fmt.Sprintf("at most %d: %s", maxVertices-1, all))
	case last >= most:
		return fileFault(path, fmt.Sprintf("the vertex %d in a file of %s", last, counted(tuples, "edge")),
			fmt.Sprintf("at most %d: %s, and may name %s (1024 an edge)", most-1, all, thousands(most)))
	}
	return nil
}

// mostVertices is how many vertices a file of n edges may have. Vertices cost memory that no edge
// pays for, so a file that asks for a thousand times more of them than it has edges is taken for a
// damaged one.
func mostVertices(n int) uint64 { return max(1024*uint64(n), 1<<20) }

// openRecords opens a file of records of a size.
func (r *reader) openRecords(ctx context.Context, path string, size int64) (*file, error) {
	f, err := r.openRaw(ctx, path)
	if err != nil {
		return nil, err
	}
	r.progress.expect(f.size() / int64(r.ranks))
	if _, named := splitCodec(path); named != plain {
		err = f.fault("a name that ends in "+named.suffix(),
			"that of binary data that are not compressed: they are read from several places at once")
	} else if err = f.random("binary data"); err == nil && f.size()%size != 0 {
		err = f.fault(counted(f.size(), "byte"), fmt.Sprintf("a multiple of %d", size))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// weightsBeside is the name of the weights beside a file of packed edges.
func weightsBeside(path string) string {
	base, _ := splitCodec(path)
	return base + ".weights"
}

// openWeights opens the weights beside f, or returns nil when there are none.
func (r *reader) openWeights(ctx context.Context, f *file) (*file, error) {
	path := weightsBeside(f.path)
	if !exists(path) {
		return nil, nil
	}
	w, err := r.openRecords(ctx, path, 1)
	if n := f.size() / packedSize; err == nil && w.size() != n*singleSize {
		err = errors.Join(w.fault(counted(w.size(), "byte"),
			fmt.Sprintf("%s: 4 for each tuple of %s", thousands(n*singleSize), f.path)), w.Close())
	}
	if err == nil && r.Weights == edges.Unweighted { // it is not read
		r.progress.expect(-w.size() / int64(r.ranks))
	}
	return w, err
}

// recordsOf returns this rank's part of the n records of f, of the size given, that begin at from.
func (r *reader) recordsOf(f *file, from int64, n, size int) *fileSource {
	lo, hi := edges.Part(n, r.rank, r.ranks)
	src := &fileSource{f: f, from: from, size: int64((r.piece/8 + 1) * size), records: true}
	src.lo, src.hi = from+int64(lo*size), from+int64(hi*size)
	return src
}

// readRecords makes a table of the records of src, a part of f, that decode adds to a parser.
func (r *reader) readRecords(ctx context.Context, f *file, src *fileSource, g grammar,
	decode func(q *parser, p *piece) error,
) (*table, error) {
	t, parsers := r.newTable(f, g.columns), make([]parser, r.Team.Size())
	_, err := r.pieces(ctx, src.next, func(worker int, p *piece) error {
		q := &parsers[worker]
		q.grammar = g
		q.reset()
		if err := decode(q, p); err != nil {
			return err
		}
		b, err := t.store(worker, p.index, q)
		t.put(p.index, b)
		return err
	})
	if err == nil {
		err = f.unchanged()
	}
	if err != nil {
		t.slabs.close()
		return nil, err
	}
	t.seal()
	t.spans = []edges.Span{src.span()}
	return t, nil
}
