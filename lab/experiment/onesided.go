package experiment

import (
	"context"
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// oneSided searches as Graph500's reference code one_sided does (mpi/bfs_one_sided.c of 2.1.4). Each
// rank walks the edges of its own frontier. For each edge it changes the memory of the receiver's
// owner by two operations, about which the owner learns nothing: the minimum with a parent, and the
// OR with a bit of a queue. The ranks are in this process, so an operation is an atomic instruction.
// The engine has no such operations, so this is the only layout with its own code.
type oneSided struct {
	source *source
	g      *graph.Graph // in one partition, so that slots are ids; rank id mod ranks owns id
	lists  *kernel.Lists
	ranks  int
	// A parent is white (math.MaxInt64) if the vertex is not reached, grey (0 to n-1) if the last
	// level reached it, and black (below 0: the parent - n) if an earlier one did.
	parents, next []atomic.Int64
	queue, queued [][]atomic.Uint64 // by rank; a bit for each perBit vertices of the rank
	operations    atomic.Int64      // on another rank's memory
	edges         atomic.Int64      // of all frontiers
	levels        int
}

// perBit is the number of vertices for each bit of a queue. A queue may have more vertices than the
// frontier, because a rank does not learn whether its operation was the first.
const perBit = 4

// operationBytes is the size of an operation's operand. Two operations, for the parent and the
// queue, are as long as a pair of vertex and parent in `simple`.
const operationBytes = 8

func (s *source) oneSided(ctx context.Context, ranks int) (*oneSided, error) {
	g, err := s.build(ctx, graph.Options{Grid: graph.Of(1)})
	if err != nil {
		return nil, err
	}
	o := &oneSided{
		source: s, g: g, ranks: ranks, parents: make([]atomic.Int64, g.N), next: make([]atomic.Int64, g.N),
		lists: &g.Parts[0].Layout(pregel.Out).Blocks[0].Pull.ByReceiver.Lists,
	}
	words := (g.N/ranks+1)/(64*perBit) + 1
	for range ranks {
		o.queue = append(o.queue, make([]atomic.Uint64, words))
		o.queued = append(o.queued, make([]atomic.Uint64, words))
	}
	return o, nil
}

func (o *oneSided) close() { o.g.Close() }

// mark sets the bit of a vertex in its owner's queue.
func (o *oneSided) mark(queue [][]atomic.Uint64, id int) {
	bit := id / o.ranks / perBit
	queue[id%o.ranks][bit/64].Or(1 << (bit % 64))
}

// level runs a rank's part of a level.
func (o *oneSided) level(rank int) {
	n, operations, edges := int64(o.g.N), int64(0), int64(0)
	for w := range o.queue[rank] {
		for word := o.queue[rank][w].Load(); word != 0; word &= word - 1 {
			first := (w*64 + bits.TrailingZeros64(word)) * perBit
			for local := first; local < first+perBit; local++ {
				id := local*o.ranks + rank
				if id >= o.g.N || uint64(o.parents[id].Load()) >= uint64(n) {
					continue // not grey
				}
				lo, hi := o.lists.Row(uint32(id))
				edges += int64(hi - lo)
				for _, to := range o.lists.Adj[lo:hi] {
					least(&o.next[to], int64(id))
					o.mark(o.queued, int(to))
					if int(to)%o.ranks != rank {
						operations += 2
					}
				}
			}
		}
	}
	o.operations.Add(operations)
	o.edges.Add(edges)
}

// least stores the minimum.
func least(at *atomic.Int64, x int64) {
	for old := at.Load(); x < old && !at.CompareAndSwap(old, x); old = at.Load() {
	}
}

// search searches from a root. The result is valid if Graph500's rules hold.
func (o *oneSided) search(ctx context.Context, root uint64) (float64, int64, error) {
	n, team := int64(o.g.N), o.source.b.Team
	id, _ := o.g.Find(root)
	for v := range o.parents {
		o.parents[v].Store(math.MaxInt64)
	}
	clearAll(o.queue)
	start := time.Now()
	o.parents[id].Store(int64(id))
	o.mark(o.queue, int(id))
	for some := true; some; o.levels++ {
		clearAll(o.queued)
		team.For(o.g.N, 1<<14, func(_, lo, hi int) {
			for v := lo; v < hi; v++ {
				p := o.parents[v].Load()
				if 0 <= p && p < n {
					p -= n
				}
				o.next[v].Store(p)
			}
		})
		team.For(o.ranks, 1, func(_, lo, hi int) {
			for rank := lo; rank < hi; rank++ {
				o.level(rank)
			}
		})
		some = false
		for _, q := range o.queued {
			for w := range q {
				some = some || q[w].Load() != 0
			}
		}
		o.queue, o.queued, o.parents, o.next = o.queued, o.queue, o.next, o.parents
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
	}
	seconds := time.Since(start).Seconds()
	tuples, err := o.source.judge(ctx, root, func(v int) uint32 {
		p := o.parents[o.g.IDs[v]].Load()
		if p == math.MaxInt64 {
			return validate.Unreached
		}
		return o.g.Order[(p+n)%n]
	})
	return seconds, tuples, err
}

func clearAll(queue [][]atomic.Uint64) {
	for _, q := range queue {
		for w := range q {
			q[w].Store(0)
		}
	}
}

func (o *oneSided) round(ctx context.Context) (sample, error) {
	return o.source.round(ctx, o.search)
}
