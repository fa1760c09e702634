package graphio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

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

// readGraph500 reads packed tuples, which are undirected. Parts are cut between blocks. The
// vertices are 0 to the largest endpoint. The file is read twice: first for the largest endpoint,
// then for the tuples. So only the packed list takes memory.
func (r *reader) readGraph500(ctx context.Context, path string) (*edges.RankInput, error) {
	f, err := r.openRecords(ctx, path, packedSize, 2)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w, err := r.openWeights(ctx, f)
	if err != nil {
		return nil, err
	}
	if w != nil {
		defer w.Close()
	}
	check := func(tuples int, last uint64) error {
		if tuples == 0 {
			return noEdges(path)
		}
		return largestTuple(path, last, tuples)
	}
	n := int(f.size()) / packedSize
	part := extent{0, n}
	if r.partial {
		part.from, part.to = edges.Part((n+edges.BlockSize-1)/edges.BlockSize, r.rank, r.ranks)
		part.from, part.to = min(part.from*edges.BlockSize, n), min(part.to*edges.BlockSize, n)
	}
	last, err := r.largestEnd(ctx, f, part)
	if err == nil && (n > 0 || !r.partial) {
		err = check(n, last)
	}
	if err != nil {
		return nil, f.unlessPairs(err)
	}
	list, err := r.load(ctx, f, w, part, last+1)
	if err != nil {
		return nil, err
	}
	s := new(edges.RankInput)
	s.Input = edges.Input{Name: path, Edges: list, Directed: r.directed(false), Free: list.Close}
	if r.partial {
		s.Largest, s.Check = last, check
		from, to := int64(part.from)*packedSize, int64(part.to)*packedSize
		s.Spans = []edges.Span{{From: from, To: to, Size: f.size()}}
		return s, nil
	}
	s.Vertices = int(last) + 1
	s.Account = []string{r.account(f, "Graph500 packed edges", 0, s, w != nil)}
	return s, nil
}

// largestTuple refuses a largest vertex that a graph cannot have, or that is implausible for so few
// tuples: all numbers up to it are vertices.
func largestTuple(path string, last uint64, tuples int) error {
	const all = "files name all vertices up to the largest"
	switch most := mostVertices(tuples); {
	case last >= maxVertices:
		return fileFault(path, fmt.Sprintf("the vertex %d", last),
			fmt.Sprintf("at most %d: %s", maxVertices-1, all))
	case last >= most:
		return fileFault(path,
			fmt.Sprintf("the vertex %d in a file of %s", last, Counted(tuples, "edge")),
			fmt.Sprintf("at most %d: %s, and may name %s (1024 an edge)", most-1, all,
				Thousands(most)))
	}
	return nil
}

// mostVertices returns the maximum number of vertices of a file with n edges. Vertices take memory,
// so a file with a thousand times more vertices than edges is considered damaged.
func mostVertices(n int) uint64 { return max(1024*uint64(n), 1<<20) }

// load makes the list of the tuples in part. Their endpoints must be below vertices, otherwise the
// file has changed. It adds the weights if they are wanted and w is not nil.
func (r *reader) load(
	ctx context.Context, f, w *file, part extent, vertices uint64,
) (*edges.Packed, error) {
	kind, n := r.Weights, part.to-part.from
	if w == nil {
		kind = edges.Unweighted
	}
	need := edges.PackedBytes(vertices, n, kind)
	r.admission(f).admit(need, "the list of "+Counted(n, "edge"))
	list := edges.NewPacked(vertices, n, kind)
	blocks, buffers := make([]edges.Block, r.Team.Size()), make([][]byte, r.Team.Size())
	err := r.records(ctx, f, 0, packedSize, part, func(worker int, p *piece, first int) error {
		b, data, weights := &blocks[worker], p.data, grow(buffers[worker], 0)
		if kind != edges.Unweighted {
			weights = grow(weights, len(data)/packedSize*singleSize)
			if err := w.readAt(weights, int64(first)*singleSize); err != nil {
				return err
			}
			r.progress.add(int64(len(weights)))
		}
		buffers[worker] = weights
		for at := first; len(data) > 0; at += edges.BlockSize {
			b.N = min(edges.BlockSize, len(data)/packedSize)
			for j := range b.N {
				b.U[j], b.V[j] = unpackEdge(data[j*packedSize:])
				if max(b.U[j], b.V[j]) >= vertices {
					return f.changed("other tuples")
				}
			}
			for j := range min(b.N, len(weights)/singleSize) {
				b.W[j] = float64(
					math.Float32frombits(binary.LittleEndian.Uint32(weights[j*singleSize:])))
				if math.IsNaN(b.W[j]) || math.IsInf(b.W[j], 0) {
					return w.fault(fmt.Sprintf("the weight %v of tuple %d", b.W[j], at+j),
						"a finite number")
				}
			}
			list.Write((at-part.from)/edges.BlockSize, b)
			data, weights = data[b.N*packedSize:], weights[min(b.N*singleSize, len(weights)):]
		}
		return nil
	})
	if err == nil && kind != edges.Unweighted {
		err = w.unchanged(ctx)
	}
	if err != nil {
		list.Close()
		return nil, err
	}
	return list, nil
}

// openRecords opens a file of records of this size. It will be read the given number of times.
func (r *reader) openRecords(ctx context.Context, path string, size, times int64) (*file, error) {
	f, err := r.openRaw(ctx, path)
	if err != nil {
		return nil, err
	}
	r.progress.expect(times * f.size() / int64(r.ranks))
	if _, named := splitCodec(path); named != plain {
		err = f.fault("a name that ends in "+named.suffix(),
			"that of binary data that are not compressed: they are read from several places at once")
	} else if err = f.random("binary data"); err == nil && f.size()%size != 0 {
		err = f.unlessPairs(
			f.fault(Counted(f.size(), "byte"), fmt.Sprintf("a multiple of %d", size)))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// unlessPairs returns err, unless the file has pairs of 64-bit numbers: then it returns an error
// about these.
func (f *file) unlessPairs(err error) error {
	if f.isPairs() {
		return f.fault("edges of 16 bytes, two numbers of 64 bits",
			"packed edges of 12 bytes, 48 bits a vertex; or "+asText)
	}
	return err
}

// isPairs reports whether a file begins with pairs of 64-bit numbers below 2^32. If these were
// packed edges, the target and the source by turns would have only zeros in the low 32 bits.
func (f *file) isPairs() bool {
	head := f.head()
	head = head[:len(head)&^7]
	if f.size()%16 != 0 || len(head) < 6*8 {
		return false
	}
	some := byte(0)
	for ; len(head) > 0; head = head[8:] {
		if binary.LittleEndian.Uint32(head[4:]) != 0 {
			return false
		}
		some |= head[0] | head[1]
	}
	return some != 0
}

// weightsBeside returns the name of the weights file of a file of packed edges.
func weightsBeside(path string) string {
	base, _ := splitCodec(path)
	return base + ".weights"
}

// openWeights opens the weights file of f. It returns nil if there is none.
func (r *reader) openWeights(ctx context.Context, f *file) (*file, error) {
	path, times := weightsBeside(f.path), int64(1)
	if !exists(path) {
		return nil, nil
	}
	if r.Weights == edges.Unweighted {
		times = 0
	}
	w, err := r.openRecords(ctx, path, 1, times)
	if n := f.size() / packedSize; err == nil && w.size() != n*singleSize {
		err = errors.Join(w.fault(Counted(w.size(), "byte"),
			fmt.Sprintf("%s: 4 for each tuple of %s", Thousands(n*singleSize), f.path)), w.Close())
	}
	return w, err
}

// extent is a range of the records of a file. from is a multiple of a list's block size.
type extent struct{ from, to int }

// records calls do with pieces of f that have the records in part. A record has size bytes, and the
// first one is at offset. Pieces begin at multiples of a list's block size if the part does. first
// is the number of a piece's first record.
func (r *reader) records(
	ctx context.Context, f *file, offset int64, size int, part extent,
	do func(worker int, p *piece, first int) error,
) error {
	block := size * edges.BlockSize
	src := &fileSource{f: f, size: int64(max(r.piece/block, 1) * block), records: true}
	src.lo, src.hi = offset+int64(part.from*size), offset+int64(part.to*size)
	err := r.pieces(ctx, src.next, func(worker int, p *piece) error {
		return do(worker, p, int(p.at-offset)/size)
	})
	if err == nil {
		err = f.unchanged(ctx)
	}
	return err
}

// largestEnd returns the largest endpoint of the tuples in part.
func (r *reader) largestEnd(ctx context.Context, f *file, part extent) (uint64, error) {
	largest := make([]uint64, r.Team.Size())
	err := r.records(ctx, f, 0, packedSize, part, func(worker int, p *piece, _ int) error {
		most := largest[worker]
		for i := 0; i < len(p.data); i += packedSize {
			u, v := unpackEdge(p.data[i:])
			most = max(most, u, v)
		}
		largest[worker] = most
		return nil
	})
	return slices.Max(largest), err
}
