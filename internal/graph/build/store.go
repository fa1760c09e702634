package build

import (
	"math/bits"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// bucketEdges is about how many edges lie in a bucket: what looks for duplicates among them stays in a cache.
	bucketEdges = 1 << 14
	// narrowBits and wideBits are the sizes of a key, in bits.
	narrowBits, wideBits = 32, 40
	// A chunk holds from leastChunk to mostChunk edges; at most mostSlab chunks share an array.
	leastChunk, mostChunk = 32, 1024
	mostSlab              = 256
)

// store holds the edges of a directory: those of whose rows this rank owns the entries, apart by the rank that owns the entry of
// the other end and by the window of ids that this end is in.
//
//	key of an edge:  | row, from the first here | other end, from the first of its window |
//
// Edges come on lanes, one a writer. Each bucket is a chain of chunks for every lane.
type store struct {
	shift   uint // bits of a place in a window
	wide    bool
	chunk   int // edges
	slab    int // chunks
	lanes   int
	weights edges.Weights
	sides   []*side
}

// side is the edges of whose other ends one rank owns the directory entries.
type side struct {
	*store
	windows int
	ways    int // how edges may be reversed: 1, or 2 if they are directed: from the row, or to it
	chains  []chain
	arena   mem.Arena

	mu   sync.Mutex
	rest chunk // of the slab
}

// chunk is some edges of a bucket.
type chunk struct {
	low    []uint32
	high   []uint8 // the other bits of wide keys
	weight column
	n      int
	next   *chunk
}

// chain is the chunks of a bucket and lane, in the order in which edges came.
type chain struct{ first, last *chunk }

// newStore makes an empty store for about so many edges, with rows rows here and sizes other ends there.
func newStore(rows int, sizes []int, expected, lanes int, directed bool, weights edges.Weights, meter *mem.Meter) *store {
	ids := 0
	for _, n := range sizes {
		ids += n
	}
	s := &store{lanes: lanes, weights: weights}
	buckets := max(expected/bucketEdges, 1)
	s.shift = uint(bits.Len(uint(max(ids/buckets, 1))))
	rowBits := uint(bits.Len(uint(max(rows, 1) - 1)))
	s.shift = min(s.shift, wideBits-rowBits)
	s.wide = s.shift+rowBits > narrowBits
	if s.wide && narrowBits-rowBits >= s.shift-1 { // half the window for a byte less an edge
		s.shift, s.wide = narrowBits-rowBits, false
	}
	s.chunk = mostChunk
	for s.chunk > leastChunk && s.chunk*4*lanes*max(buckets, len(sizes)) > expected {
		s.chunk /= 2
	}
	s.slab = min(max(expected/len(sizes)/s.chunk/4, 1), mostSlab) // so that what is left of the last ones is little
	ways := 1
	if directed {
		ways = 2
	}
	for _, n := range sizes {
		windows := (n + 1<<s.shift - 1) >> s.shift
		d := &side{store: s, windows: windows, ways: ways, chains: make([]chain, windows*ways*lanes)}
		d.arena.Meter = meter
		s.sides = append(s.sides, d)
	}
	return s
}

// chain returns the chain of a lane in a window.
func (d *side) chain(lane, way int, window int) *chain {
	return &d.chains[(window*d.ways+way)*d.lanes+lane]
}

// put adds an edge, with its place in the weights given.
func (d *side) put(lane, way int, row, other uint32, weights column, at int) {
	chain := d.chain(lane, way, int(other>>d.shift))
	c := chain.last
	if c == nil || c.n == d.chunk {
		c = d.more(chain)
	}
	key := uint64(row)<<d.shift | uint64(other)&(1<<d.shift-1)
	c.low[c.n] = uint32(key)
	if c.high != nil {
		c.high[c.n] = uint8(key >> 32)
	}
	switch {
	case c.weight.single != nil:
		c.weight.single[c.n] = weights.single[at]
	case c.weight.double != nil:
		c.weight.double[c.n] = weights.double[at]
	}
	c.n++
}

// more adds a chunk to a chain.
func (d *side) more(to *chain) *chunk {
	d.mu.Lock()
	c := d.take()
	d.mu.Unlock()
	if to.first == nil {
		to.first = c
	} else {
		to.last.next = c
	}
	to.last = c
	return c
}

// take cuts a chunk off the slab, or a new one. The caller holds the lock.
func (d *side) take() *chunk {
	rest, n := &d.rest, d.chunk
	if len(rest.low) == 0 {
		size := d.store.slab * n
		rest.low = mem.Make[uint32](&d.arena, size)
		if d.wide {
			rest.high = mem.Make[uint8](&d.arena, size)
		}
		switch d.weights {
		case edges.Float32:
			rest.weight.single = mem.Make[float32](&d.arena, size)
		case edges.Float64:
			rest.weight.double = mem.Make[float64](&d.arena, size)
		}
	}
	c := &chunk{low: rest.low[:n:n], weight: rest.weight.slice(0, n)}
	rest.low = rest.low[n:]
	if d.wide {
		c.high, rest.high = rest.high[:n:n], rest.high[n:]
	}
	switch {
	case rest.weight.single != nil:
		rest.weight.single = rest.weight.single[n:]
	case rest.weight.double != nil:
		rest.weight.double = rest.weight.double[n:]
	}
	return c
}

// close frees the side's edges.
func (d *side) close() {
	d.chains, d.rest = nil, chunk{}
	d.arena.Close()
}

// close frees what is left.
func (s *store) close() {
	for _, d := range s.sides {
		d.close()
	}
}

// key returns key i of a chunk.
func (c *chunk) key(i int) uint64 {
	key := uint64(c.low[i])
	if c.high != nil {
		key |= uint64(c.high[i]) << 32
	}
	return key
}

// set changes key i of a chunk.
func (c *chunk) set(i int, key uint64) {
	c.low[i] = uint32(key)
	if c.high != nil {
		c.high[i] = uint8(key >> 32)
	}
}
