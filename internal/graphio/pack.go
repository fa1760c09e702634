package graphio

import (
	"context"
	"math"
	"sort"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/parallel"
)

// packRound is the number of blocks that are packed before their slabs are freed.
const packRound = 4096

// pack makes the list of the tuples in t, in their order, and frees the packed slabs. x numbers the
// endpoints; if it is nil, they stay as they are. If an endpoint has no number, it returns the
// first such tuple, which is still in t; otherwise -1.
func pack(
	ctx context.Context, team *parallel.Team, t *table, x *numbering, kind edges.Weights,
) (*edges.Packed, int, error) {
	if !t.weighted {
		kind = edges.Unweighted
	}
	vertices := t.max + 1
	if x != nil {
		vertices = uint64(max(x.n, 1))
	}
	list := edges.NewPacked(vertices, t.n, kind)
	var mu sync.Mutex
	undeclared := math.MaxInt
	blocks := make([]edges.Block, team.Size())
	for from := 0; from < edges.Blocks(list); from += packRound {
		round := min(packRound, edges.Blocks(list)-from)
		team.For(round, 32, func(worker, lo, hi int) {
			b := &blocks[worker]
			for i := from + lo; i < from+hi && ctx.Err() == nil; i++ {
				if bad := t.block(i, b, x); bad >= 0 {
					mu.Lock()
					undeclared = min(undeclared, bad)
					mu.Unlock()
					return
				}
				list.Write(i, b)
			}
		})
		if undeclared < math.MaxInt {
			list.Close()
			return nil, undeclared, nil
		}
		if err := ctx.Err(); err != nil {
			list.Close()
			return nil, -1, err
		}
		t.slabs.release(t.batchOf((from + round) * edges.BlockSize))
	}
	return list, -1, nil
}

// batchOf returns the batch of tuple i, or the number of batches if i is past the end.
func (t *table) batchOf(i int) int {
	return sort.Search(len(t.batches), func(batch int) bool { return i < t.starts[batch+1] })
}

// block fills b with block i of the tuples, numbered by x. It returns the first tuple with an
// endpoint that has no number, or -1.
func (t *table) block(i int, b *edges.Block, x *numbering) int {
	at := i * edges.BlockSize
	b.N = min(edges.BlockSize, t.n-at)
	batch := t.batchOf(at)
	offset := at - t.starts[batch]
	for j := 0; j < b.N; batch, offset = batch+1, 0 {
		src := &t.batches[batch]
		n := min(b.N-j, src.n-offset)
		for k := range n {
			b.U[j+k], b.V[j+k] = src.tuple(offset + k)
		}
		if t.weighted {
			for k, w := range src.weights[offset : offset+n] {
				b.W[j+k] = math.Float64frombits(w)
			}
		}
		j += n
	}
	if x == nil {
		return -1
	}
	u, v := x.translate(b.U[:b.N]), x.translate(b.V[:b.N])
	if u < 0 && v < 0 {
		return -1
	}
	return at + int(min(uint(u), uint(v))) // as an unsigned number, -1 is the largest
}
