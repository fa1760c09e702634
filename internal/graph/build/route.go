package build

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
)

// How an edge is stored: from the row to the other end, or reversed. Edges of undirected graphs all count as from the row.
const (
	fromRow = iota
	toRow
)

// router reads this rank's tuples and sends them to the owners of their rows' directory entries.
type router struct {
	b      *builder
	next   int // block
	blocks []edges.Block
	errs   []error // by worker
	loops  atomic.Int64
	count  int // blocks a round
}

func (b *builder) newRouter() *router {
	return &router{
		b: b, blocks: make([]edges.Block, b.team.Size()), errs: make([]error, b.team.Size()),
		count: max(roundRecords(b.all.tuples, b.ranks)/edges.BlockSize, 1),
	}
}

// produce sends the tuples of the next blocks. Where the order of tuples matters it is done by one worker.
func (r *router) produce(out [][]sendBuffer) (bool, error) {
	b := r.b
	list := b.in.Edges
	lo, hi := r.next, min(r.next+r.count, edges.Blocks(list))
	r.next = hi
	read := func(worker, i int) {
		if r.errs[worker] != nil {
			return
		}
		block := &r.blocks[worker]
		if r.errs[worker] = list.Read(i, block); r.errs[worker] == nil {
			r.errs[worker] = r.put(block, out[worker])
		}
	}
	if b.o.Ordered() {
		for i := lo; i < hi; i++ {
			read(0, i)
		}
	} else {
		b.team.For(hi-lo, 4, func(worker, from, to int) {
			for i := lo + from; i < lo+to; i++ {
				read(worker, i)
			}
		})
	}
	for _, err := range r.errs {
		if err != nil {
			return false, err
		}
	}
	b.progress("dealing the edges", int64(min(hi*edges.BlockSize, list.Len())), int64(list.Len()))
	return hi < edges.Blocks(list), nil
}

// put puts a block's tuples, their ends numbered, into the send buffers of the owners of their rows' directory entries.
func (r *router) put(block *edges.Block, out []sendBuffer) error {
	b := r.b
	end, kind := b.end, b.o.Weights
	loops := 0
	for i, u := range block.U[:block.N] {
		v := block.V[i]
		if u >= end || v >= end {
			return outside(u, v, end)
		}
		if !b.dense {
			u, v = b.number(u), b.number(v)
		}
		way := fromRow
		if u == v {
			loops++
			if b.o.DropLoops && (b.in.Naming == edges.Numbers || !b.dense) { // no vertex is one by a loop alone
				continue
			}
		} else if reversed(u, v) {
			u, v = v, u
			if b.in.Directed {
				way = toRow
			}
		}
		p := &out[b.places.of(u)]
		p.words[way] = append(p.words[way], u<<32|v)
		if kind != edges.Unweighted {
			p.weights[way].weigh(kind, b.weight(block.W[i]))
		}
	}
	r.loops.Add(int64(loops))
	return nil
}

// reversed reports whether an edge's second end is its row. It must not depend on how a tuple names an undirected edge: the
// hash takes both ends alike, and says whether the smaller one is the row.
func reversed(u, v uint64) bool {
	const golden = 0x9e3779b97f4a7c15
	return (u^v)*golden>>63 == 1 != (u < v)
}

// weight returns what is stored for a tuple's weight.
func (b *builder) weight(w float64) float64 {
	if b.o.UnitWeights {
		return 1
	}
	return w
}

// lanes is on how many lanes edges are stored: one for each thread or, where their order matters, one for each sender.
func (b *builder) lanes() int {
	if b.o.Ordered() {
		return b.ranks
	}
	return b.team.Size()
}

// run is some records of a sendBuffer.
type run struct {
	rank, way, lo, hi int
}

// eachRun calls f for all records that came in a round, on the team: run by run, or, where their order matters, all of a
// rank and way in one.
func (b *builder) eachRun(from []sendBuffer, stride int, f func(lane int, r run) error) error {
	grain := 1 << 14
	var runs []run
	for rank, p := range from {
		for way := range kinds {
			n := len(p.words[way]) / stride
			step := grain
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
		lane := worker
		if b.o.Ordered() {
			lane = runs[i].rank
		}
		if e := f(lane, runs[i]); e != nil {
			once.Do(func() { err = e })
		}
	})
	return err
}

// route sends the edges, their ends numbered, to the owners of their rows' directory entries, into the store.
func (b *builder) route(ctx context.Context) error {
	r := b.newRouter()
	b.store = newStore(b.sizes[b.rank], b.sizes, b.all.tuples/b.ranks, b.lanes(), b.in.Directed, b.o.Weights, b.o.Meter)
	starts, end := b.places.starts, b.places.end
	if b.in.Naming != edges.Numbers && b.dense {
		b.present = mem.Make[uint64](b.kept, bitmap.Words(b.sizes[b.rank]))
	}
	first, size := starts[b.rank], uint64(b.sizes[b.rank])
	err := b.shuffle(ctx, &shuffle{
		stride: 1, weights: b.o.Weights, produce: r.produce,
		consume: func(from []sendBuffer) error {
			return b.eachRun(from, 1, func(lane int, run run) error {
				p := &from[run.rank]
				words, weights := p.words[run.way], p.weights[run.way]
				for i := run.lo; i < run.hi; i++ {
					u, v := words[i]>>32, words[i]&noID
					if u-first >= size || v >= end || run.way == toRow && !b.in.Directed {
						return fmt.Errorf("from rank %d: %w: edge %d-%d", run.rank, collective.ErrMessage, u, v)
					}
					row := uint32(u - first)
					if u == v && b.o.DropLoops {
						b.mark(row)
						continue
					}
					at := b.places.of(v)
					b.store.sides[at].put(lane, run.way, row, uint32(v-starts[at]), weights, i)
				}
				return nil
			})
		},
	})
	b.loops = int(r.loops.Load())
	return err
}

// mark makes a place of this rank's range a vertex.
func (b *builder) mark(row uint32) {
	atomic.OrUint64(&b.present[row>>6], 1<<(row&63))
}
