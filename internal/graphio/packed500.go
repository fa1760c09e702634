package graphio

import (
	"context"
	"encoding/binary"
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

// readGraph500 reads packed tuples, undirected; as a part, whole blocks of them, but for the last.
// Its vertices are 0 to the largest endpoint. The file is read twice, first for the largest
// endpoint and then for the tuples, so that nothing but the packed list takes memory.
func (r *reader) readGraph500(ctx context.Context, path string) (*edges.RankInput, error) {
	f, err := r.openRecords(ctx, path, 2)
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
	n, last := int(f.size())/packedSize, uint64(0)
	if !r.partial || f.codec != plain {
		n, last, err = r.scanTuples(ctx, f, all)
	}
	part := extent{0, n}
	if r.partial && err == nil {
		part.from, part.to = edges.Part((n+edges.BlockSize-1)/edges.BlockSize, r.rank, r.ranks)
		part.from, part.to = min(part.from*edges.BlockSize, n), min(part.to*edges.BlockSize, n)
		_, last, err = r.scanTuples(ctx, f, part)
	}
	if err == nil && (n > 0 || !r.partial) {
		err = check(n, last)
	}
	if err != nil {
		if f.restart(); f.isPairs() {
			err = fileFault(path, "edges of 16 bytes, two numbers of 64 bits", "packed edges of 12 bytes, 48 bits a vertex; or "+asText)
		}
		return nil, err
	}
	list, err := r.load(ctx, f, w, n, part, last+1)
	if err != nil {
		return nil, err
	}
	s := r.input(path, list, consecutive(0, int(last)+1), r.directed(false))
	s.Account = r.account(f, "Graph500 packed edges", 0, s, w != nil)
	if r.partial {
		s.Vertices, s.Largest, s.Check = 0, last, check
		s.Spans = []edges.Span{{From: int64(part.from) * packedSize, To: int64(part.to) * packedSize, Size: f.size()}}
	}
	return s, nil
}

// largestTuple refuses a largest vertex that a graph cannot have, or that so many tuples do not
// make likely: all up to it are vertices.
func largestTuple(path string, last uint64, tuples int) error {
	const all = "files name all vertices up to the largest"
	switch most := mostVertices(tuples); {
	case last >= maxVertices:
		return fileFault(path, fmt.Sprintf("the vertex %d", last), fmt.Sprintf("at most %d: %s", maxVertices-1, all))
	case last >= most:
		return fileFault(path, fmt.Sprintf("the vertex %d in a file of %s", last, counted(tuples, "edge", "edges")),
			fmt.Sprintf("at most %d: %s, and may name %s (1024 an edge)", most-1, all, thousands(most)))
	}
	return nil
}

// mostVertices is how many vertices a file of n edges may have. Vertices cost memory that no edge
// pays for, so a file that asks for a thousand times more of them than it has edges is taken for a
// damaged one.
func mostVertices(n int) uint64 { return max(1024*uint64(n), 1<<20) }

// load makes the list of some of n tuples, whose endpoints are below vertices, with weights if they
// are wanted and w is not nil.
func (r *reader) load(ctx context.Context, f, w *file, n int, part extent, vertices uint64) (*edges.Packed, error) {
	if w != nil && w.codec == plain && w.size() != int64(n)*singleSize {
		return nil, fileFault(w.path, counted(w.size(), "byte", "bytes"), fmt.Sprintf("%s: 4 for each tuple of %s", thousands(n*singleSize), f.path))
	}
	kind := r.Weights
	if w == nil {
		kind = edges.Unweighted
	}
	need := edges.PackedBytes(vertices, part.to-part.from, kind)
	if err := r.admission(f).admit(need, "the list of "+counted(part.to-part.from, "edge", "edges")); err != nil {
		return nil, err
	}
	list := edges.NewPacked(vertices, part.to-part.from, kind)
	err := r.loadTuples(ctx, f, part, list, vertices)
	if err == nil && kind != edges.Unweighted {
		if err = r.loadWeights(ctx, w, n, part, list); err == nil {
			err = f.unchanged() // weights of other tuples would be wrong ones
		}
	}
	if err != nil {
		list.Close()
		return nil, err
	}
	return list, nil
}

// openRecords opens a binary file to be read the number of times given. Its name says whether it is
// compressed: its first bytes may be anything.
func (r *reader) openRecords(ctx context.Context, path string, times int64) (*file, error) {
	f, err := r.openRaw(ctx, path)
	if err != nil {
		return nil, err
	}
	r.progress.expect(times * f.size())
	_, f.codec = splitCodec(path)
	if !f.regular {
		err = fileFault(path, "a pipe or device", "a regular file, to be read twice")
	} else if f.codec != plain {
		head, _ := f.raw.Peek(4)
		if codecOf(head) != f.codec {
			err = fileFault(path, "no "+f.codec.String()+" data", "that, by the file's name")
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	f.decode()
	return f, nil
}

// isPairs reports whether a file begins with pairs of 64-bit numbers below 2^32. As packed edges
// these would have the vertex 0 by turns as source and as target.
func (f *file) isPairs() bool {
	head := f.head()
	head = head[:len(head)&^7]
	if f.codec == plain && f.size()%16 != 0 || len(head) < 6*8 {
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

// openWeights opens the weights beside f, compressed like f, or returns nil when there are none.
func (r *reader) openWeights(ctx context.Context, f *file) (*file, error) {
	base, c := splitCodec(f.path)
	path := base + ".weights" + c.suffix()
	if !exists(path) {
		return nil, nil
	}
	if r.Weights == edges.Unweighted {
		return r.openRecords(ctx, path, 0)
	}
	return r.openRecords(ctx, path, 1)
}

// extent is some of the records of a file: from the first, a multiple of a block of a list, to
// before the last.
type extent struct{ from, to int }

// all is every record, however many there are.
var all = extent{0, math.MaxInt}

// records calls do with runs of those records of f, of the size given, that are in part. The runs
// begin at multiples of a block of a list; first is the number of the first record in data, counted
// from that of part. It returns how many records the file has or, of a plain one, those up to the
// end of part.
func (r *reader) records(ctx context.Context, f *file, size int, part extent, do func(worker, first int, data []byte) error) (int, error) {
	f.restart()
	block := size * edges.BlockSize
	src := f.source(0, max(r.piece/block, 1)*block, true)
	if plain, ok := src.(*fileSource); ok {
		plain.lo = int64(part.from * size)
		if part.to < int(plain.hi)/size { // else there is an end of the file to be looked at
			plain.hi = int64(part.to * size)
		}
	}
	seen := make([]int, r.Team.Size())
	_, err := r.pieces(ctx, src.next, func(worker int, p *piece) error {
		if extra := len(p.data) % size; extra != 0 {
			total := p.at + int64(len(p.data))
			return fileFault(f.path, counted(total, "byte", "bytes"), fmt.Sprintf("a multiple of %d", size))
		}
		first := int(p.at) / size
		seen[worker] = max(seen[worker], first+len(p.data)/size)
		lo, hi := max(first, part.from), min(first+len(p.data)/size, part.to)
		if lo >= hi {
			return nil
		}
		return do(worker, lo-part.from, p.data[(lo-first)*size:(hi-first)*size])
	})
	f.rawRead = 0 // one of the times is over
	if err == nil {
		err = f.unchanged()
	}
	return slices.Max(seen), err
}

// scanTuples returns what records returns of the tuples in part, and their largest endpoint.
func (r *reader) scanTuples(ctx context.Context, f *file, part extent) (n int, last uint64, err error) {
	largest := make([]uint64, r.Team.Size())
	n, err = r.records(ctx, f, packedSize, part, func(worker, _ int, data []byte) error {
		most := largest[worker]
		for i := 0; i < len(data); i += packedSize {
			u, v := unpackEdge(data[i:])
			most = max(most, u, v)
		}
		largest[worker] = most
		return nil
	})
	return n, slices.Max(largest), err
}

// loadTuples stores the tuples, whose endpoints are below vertices unless the file has changed.
func (r *reader) loadTuples(ctx context.Context, f *file, part extent, list *edges.Packed, vertices uint64) error {
	_, err := r.fill(ctx, f, packedSize, part, list, func(_ int, b *edges.Block, data []byte) error {
		for j := range b.N {
			b.U[j], b.V[j] = unpackEdge(data[j*packedSize:])
			if max(b.U[j], b.V[j]) >= vertices {
				return f.changed("other tuples")
			}
		}
		return nil
	})
	return err
}

// loadWeights adds the weights to the tuples in part, of n.
func (r *reader) loadWeights(ctx context.Context, f *file, n int, part extent, list *edges.Packed) error {
	if part.to == n {
		part.to = math.MaxInt // more would be an error
	}
	found, err := r.fill(ctx, f, singleSize, part, list, func(i int, b *edges.Block, data []byte) error {
		if err := list.Read(i, b); err != nil {
			return err
		}
		for j := range b.N {
			b.W[j] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[j*singleSize:])))
			if math.IsNaN(b.W[j]) || math.IsInf(b.W[j], 0) {
				return fileFault(f.path, fmt.Sprintf("the weight %v of tuple %d", b.W[j], part.from+i*edges.BlockSize+j), "a finite number")
			}
		}
		return nil
	})
	if err == nil && found != n && f.codec != plain { // that of a plain one was compared before
		what := counted(found, "record", "records")
		if found > n {
			what = "more than " + counted(n, "record", "records")
		}
		err = fileFault(f.path, what, thousands(n)+", one a tuple")
	}
	return err
}

// fill stores the records of f in part, of the size given, in the blocks of a list: decode makes a
// block, whose length is set, of its records. Records that are no whole block, as the list has it,
// are left out. It returns what records does.
func (r *reader) fill(ctx context.Context, f *file, size int, part extent, list *edges.Packed,
	decode func(i int, b *edges.Block, data []byte) error,
) (int, error) {
	blocks := make([]edges.Block, r.Team.Size())
	return r.records(ctx, f, size, part, func(worker, first int, data []byte) error {
		b := &blocks[worker]
		for at := first; len(data) > 0; at += edges.BlockSize {
			b.N = min(edges.BlockSize, list.Len()-at)
			some := data[:min(edges.BlockSize*size, len(data))]
			if len(some) != b.N*size {
				return nil
			}
			if err := decode(at/edges.BlockSize, b, some); err != nil {
				return err
			}
			list.Write(at/edges.BlockSize, b)
			data = data[len(some):]
		}
		return nil
	})
}
