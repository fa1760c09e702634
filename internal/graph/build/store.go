package build

import (
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

const (
	// A chunk holds from leastChunk to mostChunk edges; at most mostSlab chunks share an array.
	leastChunk, mostChunk = 2 * blockEdges, 1024
	mostSlab              = 1024
)

// store holds the edges of a directory: those of whose rows this rank owns the entries, apart by
// the rank that owns the entry of the other end and by tile. Edges come on lanes, one a writer.
// Each tile is a chain of chunks for every lane.
type store struct {
	*tiling
	rank    int
	places  []int // by rank
	chunk   int   // edges
	slab    int   // chunks
	lanes   int
	weights edges.Weights
	sides   []*side
}

// side is the edges of whose other ends one rank owns the directory entries.
type side struct {
	*store
	at           int // the rank
	rows, others int // windows
	chains       []chain
	arena        mem.Arena

	mu   sync.Mutex
	rest chunk // of the slab
}

// chunk is some edges of a tile.
type chunk struct {
	low    []uint32 // bits of keys
	high   []uint8  // the other bits of each, if there are any
	weight graph.WeightColumn
	n      int
	next   *chunk
}

// chain is the chunks of a tile and lane, in the order in which edges came.
type chain struct{ first, last *chunk }

// newStore makes an empty store of a rank for about so many edges.
func newStore(t *tiling, rank int, places []int, expected, lanes int, weights edges.Weights, budget *mem.Budget) *store {
	s := &store{tiling: t, rank: rank, places: places, lanes: lanes, weights: weights}
	rows := t.firstRow[rank+1] - t.firstRow[rank]
	s.chunk = mostChunk
	for s.chunk > leastChunk && s.chunk*4*lanes*max(rows*t.others()*t.ways, 1) > expected {
		s.chunk /= 2
	}
	// so that what is left of the last ones is little
	s.slab = min(max(expected/len(places)/s.chunk/4, 1), mostSlab)
	for at := range places {
		d := &side{store: s, at: at, rows: rows, others: t.firstOther[at+1] - t.firstOther[at]}
		d.chains = make([]chain, d.tiles()*lanes)
		d.arena.Budget, d.arena.Kind = budget, mem.Loading
		s.sides = append(s.sides, d)
	}
	return s
}

// tiles is how many the side has. A tile is the window of its row, that of its other end, and its
// way.
func (d *side) tiles() int { return d.rows * d.others * d.ways }

// tile returns what tile i is: the first row and other end, from the first of the rank's, and the
// way.
func (d *side) tile(i int) (row, other uint32, way int) {
	window := i / d.ways
	return uint32(window/d.others) << d.rowBits, uint32(window%d.others) << d.otherBits, i % d.ways
}

// chain returns the chain of a lane in a tile.
func (d *side) chain(lane, tile int) *chain { return &d.chains[tile*d.lanes+lane] }

// putLine adds a full block of edges that are nothing but 32 bits, if the chunk has room.
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
func (d *side) put(lane, tile int, b *block) {
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

// take cuts a chunk off the slab, or a new one. The caller holds the lock.
func (d *side) take() *chunk {
	rest, n := &d.rest, d.chunk
	if len(rest.low) == 0 {
		size := d.store.slab * n
		rest.low = mem.Make[uint32](&d.arena, size)
		rest.high = mem.Make[uint8](&d.arena, size*d.high)
		rest.weight = graph.MakeWeights(&d.arena, d.weights, size)
	}
	c := &chunk{low: rest.low[:n:n], high: rest.high[: n*d.high : n*d.high], weight: rest.weight.Slice(0, n)}
	rest.weight = rest.weight.Slice(n, len(rest.low))
	rest.low, rest.high = rest.low[n:], rest.high[n*d.high:]
	return c
}

// join puts the lanes of a tile one after the other, which is the order of the input where that
// matters, and returns how many edges they have.
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

// close frees what is left.
func (s *store) close() {
	for _, d := range s.sides {
		d.close()
	}
}

// key returns key i of a chunk; each has so many bytes beside its first 32 bits.
func (c *chunk) key(i, high int) uint64 {
	key := uint64(c.low[i])
	for k := range high {
		key |= uint64(c.high[i*high+k]) << (leastKey + 8*k)
	}
	return key
}

// move makes edge i of a chunk edge to of it.
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
