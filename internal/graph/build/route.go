package build

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// The way an edge is stored: from the row to the other end, or from the other end to the row. For
// undirected graphs it is always fromRow.
const (
	fromRow = iota
	toRow
)

// routeWorker has a worker's edges for the tiles of all ranks.
type routeWorker struct {
	*blockStage // nil before the worker reads tuples
	// Tiles of a block's tuples, and keys in the tiles.
	tiles [edges.BlockSize]uint32
	found [edges.BlockSize]uint64
}

// router reads this rank's tuples, and sends them to the ranks that own the directory entries of
// their rows, as blocks of edges of a tile.
type router struct {
	b       *builder
	tiles   *tiling
	next    int // next block to read
	workers []routeWorker
	loops   atomic.Int64
	count   int // number of blocks in a round
	arena   mem.Arena
}

func (b *builder) newRouter() *router {
	ways := 1
	if b.in.Directed {
		ways = 2
	}
	r := &router{
		b: b, workers: make([]routeWorker, b.team.Size()),
		tiles: newTiling(b.sizes, b.places.starts, b.all.tuples, ways),
		count: max(b.roundRecords(b.all.tuples, edgeBytes)/edges.BlockSize, 1),
	}
	r.arena.Budget, r.arena.Kind = b.o.Budget, mem.Loading
	return r
}

// produce sends the tuples of the next blocks.
func (r *router) produce(ctx context.Context, out [][]sendBuffer) (more bool, err error) {
	b := r.b
	lo, hi := r.next, min(r.next+r.count, edges.Blocks(b.in.Edges))
	r.next = hi
	err = b.scanBlocks(ctx, "routing the edges", lo, hi, b.o.Ordered(),
		func(worker int, block *edges.Block) error {
			w := &r.workers[worker]
			if w.blockStage == nil {
				w.blockStage = newBlockStage(r.tiles.boxes, r.tiles.high, b.o.Weights, &r.arena)
			}
			return r.put(block, w, out[worker])
		})
	if more = hi < edges.Blocks(b.in.Edges); !more && err == nil {
		for worker := range r.workers {
			if st := r.workers[worker].blockStage; st != nil {
				st.flushAll(out[worker], 0)
			}
		}
	}
	return more, err
}

// put converts a block's tuples to numbers, and puts them into their tiles.
func (r *router) put(block *edges.Block, st *routeWorker, out []sendBuffer) error {
	b := r.b
	if !b.dense {
		for i, u := range block.U[:block.N] {
			v := block.V[i]
			if u >= b.end || v >= b.end {
				return outOfRange(u, v, b.end)
			}
			block.U[i], block.V[i] = b.number(u), b.number(v)
		}
	}
	if err := r.locate(block, st); err != nil {
		return err
	}
	loops := 0
	// In these cases the vertices are known without loops. Otherwise loops are sent, too: the
	// receiver marks their ends as present, and drops them.
	dropLoops := b.o.DropLoops && (b.in.Naming == edges.Numbers || !b.dense)
	for i, tile := range st.tiles[:block.N] {
		if block.U[i] == block.V[i] {
			loops++
			if dropLoops {
				continue
			}
		}
		if st.full(tile) {
			st.flush(tile, out, 0)
		}
		at := st.put(tile, st.found[i])
		if st.weights != nil {
			st.weights[at] = b.weight(block.W[i])
		}
	}
	r.loops.Add(int64(loops))
	return nil
}

// locate finds the tiles of a block's edges, and the keys in the tiles.
func (r *router) locate(block *edges.Block, st *routeWorker) error {
	t, places := r.tiles, r.b.places
	end, others, ways := places.end, uint32(t.others()), uint32(t.ways-1)
	rowBits, otherBits := t.rowBits&63, t.otherBits&63
	rowMask, otherMask := uint64(1)<<rowBits-1, uint64(1)<<otherBits-1
	us, vs := block.U[:block.N], block.V[:block.N]
	tiles, found := st.tiles[:block.N], st.found[:block.N]
	for i, u := range us {
		v := vs[i]
		if u >= end || v >= end {
			return outOfRange(u, v, end)
		}
		swap := reversed(u, v)
		both := (u ^ v) & -swap
		u, v = u^both, v^both
		row, other := &t.ranks[places.of(u)], &t.ranks[places.of(v)]
		u -= row.start
		v -= other.start
		tile := (row.row+uint32(u>>rowBits))*others + other.other + uint32(v>>otherBits)
		tiles[i] = tile<<ways + uint32(swap)&ways
		found[i] = u&rowMask<<otherBits | v&otherMask
	}
	return nil
}

// reversed returns 1 if an edge's second end is its row, and 0 if its first end is. The result must
// not depend on the order of an undirected edge's ends in a tuple. So the hash is symmetric, and
// decides whether the smaller end is the row. A loop is not reversed. Numbers are below 2^32.
func reversed(u, v uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15
	return ((u^v)*golden ^ (u - v)) >> 63
}

// weight returns the stored weight of a tuple.
func (b *builder) weight(w float64) float64 {
	if b.o.UnitWeights {
		return 1
	}
	return w
}

// lanes returns the number of lanes on which edges are stored: one per thread or, if the order of
// edges matters, one per sending rank.
func (b *builder) lanes() int {
	if b.o.Ordered() {
		return b.ranks
	}
	return b.team.Size()
}

// run is a range of records in a sendBuffer.
type run struct {
	rank, way, lo, hi int
}

// eachRun calls f on the team for all records received in a round, in runs. records is the number
// of edges or vertices in a record. If the order of edges matters, all records of a rank and way
// are one run.
func (b *builder) eachRun(from []sendBuffer, stride, records int, f func(worker int,
	r run) error,
) error {
	grain := 1 << 14 / records
	var runs []run
	for rank, p := range from {
		for way := range kinds {
			n, step := len(p.words[way])/stride, grain
			if b.o.Ordered() {
				step = max(n, 1)
			}
			for lo := 0; lo < n; lo += step {
				runs = append(runs, run{rank, way, lo, min(lo+step, n)})
			}
		}
	}
	var once sync.Once
	var err error
	b.team.For(len(runs), 1, func(worker, i, _ int) {
		if e := f(worker, runs[i]); e != nil {
			once.Do(func() { err = e })
		}
	})
	return err
}

// route sends the edges, with their ends converted to numbers, to the ranks that own the directory
// entries of their rows. The receivers put them into the store.
func (b *builder) route(ctx context.Context) error {
	r := b.newRouter()
	defer r.arena.Close()
	b.store = b.newStore(r.tiles)
	if b.in.Naming != edges.Numbers && b.dense {
		b.present = mem.Make[uint64](b.kept, bitmap.Words(b.sizes[b.rank]))
	}
	stride := blockWords(r.tiles.high)
	err := b.shuffle(ctx, &shuffle{
		stride: stride, weights: b.o.Weights,
		produce: func(out [][]sendBuffer) (bool, error) { return r.produce(ctx, out) },
		consume: func(from []sendBuffer) error {
			return b.eachRun(from, stride, blockEdges, func(lane int, run run) error {
				if b.o.Ordered() {
					lane = run.rank
				}
				p := &from[run.rank]
				for i := run.lo; i < run.hi; i++ {
					tile, n, ok := p.head(run.way, i, stride)
					if !ok || run.way > 0 || !b.takeBlock(lane, tile, p, i, n) {
						return invalid(run.rank, "edges of tile %d", tile)
					}
				}
				return nil
			})
		},
	})
	b.loops = int(r.loops.Load())
	return err
}

// takeBlock stores the n edges of received block i. It returns false if an edge has a place that
// does not exist.
func (b *builder) takeBlock(lane int, tile uint64, from *sendBuffer, i, n int) bool {
	s := b.store
	others := s.others()
	way, window := int(tile%uint64(s.ways)), tile/uint64(s.ways)
	if others == 0 || window/uint64(others) >= uint64(s.sides[0].rows) {
		return false
	}
	row, other := int(window)/others, int(window)%others
	d := s.sides[s.rankOfOther[other]]
	other -= s.firstOther[d.at]
	// the sizes of the windows; the last ones are smaller
	rows, ends := min(s.places[s.rank]-row<<s.rowBits, 1<<s.rowBits),
		min(s.places[d.at]-other<<s.otherBits, 1<<s.otherBits)
	loops := d.at == b.rank && b.o.DropLoops && b.present != nil
	stride := blockWords(s.high)
	low := from.low(0, i, stride, n)
	number := (row*d.others+other)*s.ways + way
	whole := !loops && rows == 1<<s.rowBits && ends == 1<<s.otherBits && s.fit(low)
	if whole && d.putLine(lane, number, low) {
		return true
	}
	in := chunk{low: low, high: from.other(0, i, stride, n)}
	in.weight = from.weights[0].Slice(i*blockEdges, i*blockEdges+n)
	if !whole {
		kept := 0
		for i := range n {
			key := in.key(i, s.high)
			u, v := s.split(key)
			if key>>s.keyBits() != 0 || int(u) >= rows || int(v) >= ends {
				return false
			}
			if at := row<<s.rowBits + int(u); loops && at == other<<s.otherBits+int(v) {
				b.mark(uint32(at))
				continue
			}
			in.move(kept, i, s.high)
			kept++
		}
		in.low, in.high, in.weight = in.low[:kept], in.high[:kept*s.high], in.weight.Slice(0, kept)
	}
	d.put(lane, number, &in)
	return true
}

// fit reports whether all keys are known to have at most keyBits bits.
func (t *tiling) fit(low []uint32) bool {
	all := uint32(0)
	for _, x := range low {
		all |= x
	}
	return t.keyBits() == uint(leastKey+8*t.high) || t.high == 0 && uint64(all)>>t.keyBits() == 0
}

// mark makes a place of this rank's range a vertex.
func (b *builder) mark(row uint32) { atomic.OrUint64(&b.present[row>>6], 1<<(row&63)) }
