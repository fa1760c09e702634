package build

import (
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// A chunk has room for leastChunk to mostChunk edges. At most mostSlab chunks share an array.
	leastChunk, mostChunk = 2 * blockEdges, 1024
	mostSlab              = 1024
)

// store has the edges of a directory whose rows' entries this rank owns. They are grouped by the
// rank that owns the entry of the other end, and by tile. Each writer has its own lane. A tile has
// a chain of chunks for every lane.
type store struct {
	*tiling
	rank    int
	places  []int // by rank
	chunk   int   // edges in a chunk
	slab    int   // chunks in a slab
	lanes   int
	weights edges.Weights
	sides   []*side
}

// side has the edges whose other ends have their directory entries in one rank.
type side struct {
	*store
	at           int // that rank
	rows, others int // number of windows
	chains       []chain
	arena        mem.Arena

	mu   sync.Mutex
	rest chunk // the unused part of the slab
}

// chunk has some edges of a tile.
type chunk struct {
	low    []uint32 // low bits of keys
	high   []uint8  // the other bits of each key, if there are any
	weight graph.WeightColumn
	n      int
	next   *chunk
}

// chain has the chunks of a tile and lane, in the order in which edges were received.
type chain struct{ first, last *chunk }

// newStore makes an empty store for about an equal part of all edges.
func (b *builder) newStore(t *tiling) *store {
	s := &store{
		tiling: t, rank: b.rank, places: b.sizes, lanes: b.lanes(), weights: b.o.Weights,
		chunk: mostChunk,
	}
	rows, expected := t.firstRow[b.rank+1]-t.firstRow[b.rank], b.all.tuples/b.ranks
	for s.chunk > leastChunk && s.chunk*4*s.lanes*max(rows*t.others()*t.ways, 1) > expected {
		s.chunk /= 2
	}
	// small enough that the unused part of the last slab does not matter
	s.slab = min(max(expected/b.ranks/s.chunk/4, 1), mostSlab)
	for at := range b.ranks {
		d := &side{store: s, at: at, rows: rows, others: t.firstOther[at+1] - t.firstOther[at]}
		d.chains = make([]chain, d.tiles()*s.lanes)
		d.arena.Budget, d.arena.Kind = b.o.Budget, mem.Loading
		s.sides = append(s.sides, d)
	}
	return s
}

// tiles returns the number of the side's tiles. A tile has a window of rows, a window of other
// ends, and a way.
func (d *side) tiles() int { return d.rows * d.others * d.ways }

// tile returns the first row and the first other end of tile i, counted from the beginning of their
// ranks' ranges, and its way.
func (d *side) tile(i int) (row, other uint32, way int) {
	window := i / d.ways
	return uint32(window/d.others) << d.rowBits, uint32(window%d.others) << d.otherBits, i % d.ways
}

// chain returns the chain of a lane in a tile.
func (d *side) chain(lane, tile int) *chain { return &d.chains[tile*d.lanes+lane] }

// putLine adds a full block of 32-bit keys without weights, if the last chunk has room.
func (d *side) putLine(lane, tile int, low []uint32) bool {
	c := d.chain(lane, tile).last
	if d.high > 0 || d.weights != edges.Unweighted || len(low) < blockEdges || c == nil ||
		d.chunk-c.n < blockEdges {
		return false
	}
	*(*[blockEdges]uint32)(c.low[c.n:]) = *(*[blockEdges]uint32)(low)
	c.n += blockEdges
	return true
}

// put adds a block to a tile.
func (d *side) put(lane, tile int, b *chunk) {
	chain := d.chain(lane, tile)
	for from := 0; from < len(b.low); {
		c := chain.last
		if c == nil || c.n == d.chunk {
			c = d.more(chain)
		}
		n := min(len(b.low)-from, d.chunk-c.n)
		copy(c.low[c.n:], b.low[from:from+n])
		copy(c.high[c.n*d.high:], b.high[from*d.high:(from+n)*d.high])
		c.weight.Copy(c.n, b.weight.Slice(from, from+n))
		c.n += n
		from += n
	}
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

// take returns a new chunk of the slab. It allocates a slab if there is none left. The caller holds
// the lock.
func (d *side) take() *chunk {
	rest, n := &d.rest, d.chunk
	if len(rest.low) == 0 {
		size := d.store.slab * n
		rest.low = mem.Make[uint32](&d.arena, size)
		rest.high = mem.Make[uint8](&d.arena, size*d.high)
		rest.weight = graph.MakeWeights(&d.arena, d.weights, size)
	}
	c := &chunk{low: rest.low[:n:n], high: rest.high[: n*d.high : n*d.high]}
	c.weight = rest.weight.Slice(0, n)
	rest.weight = rest.weight.Slice(n, len(rest.low))
	rest.low, rest.high = rest.low[n:], rest.high[n*d.high:]
	return c
}

// join concatenates the lanes of a tile, and returns the number of their edges. If the order
// matters, the result has the input's order.
func (d *side) join(tile int) (all chain, n int) {
	for lane := range d.lanes {
		c := d.chain(lane, tile)
		if c.first == nil {
			continue
		}
		if all.first == nil {
			all.first = c.first
		} else {
			all.last.next = c.first
		}
		all.last = c.last
		for k := c.first; k != nil; k = k.next {
			n += k.n
		}
		*c = chain{}
	}
	*d.chain(0, tile) = all
	return all, n
}

// close frees the side's edges.
func (d *side) close() {
	d.chains, d.rest = nil, chunk{}
	d.arena.Close()
}

// close frees all edges.
func (s *store) close() {
	for _, d := range s.sides {
		d.close()
	}
}

// key returns key i of a chunk. high is the number of bytes of a key in addition to its low 32
// bits.
func (c *chunk) key(i, high int) uint64 {
	key := uint64(c.low[i])
	for k := range high {
		key |= uint64(c.high[i*high+k]) << (leastKey + 8*k)
	}
	return key
}

// move copies edge i of a chunk to index to.
func (c *chunk) move(to, i, high int) {
	c.low[to] = c.low[i]
	copy(c.high[to*high:(to+1)*high], c.high[i*high:])
	c.weight.Put(to, c.weight, i)
}

// set changes key i of a chunk.
func (c *chunk) set(i, high int, key uint64) {
	c.low[i] = uint32(key)
	for k := range high {
		c.high[i*high+k] = uint8(key >> (leastKey + 8*k))
	}
}
