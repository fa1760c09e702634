package validate

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
)

// Special values of depth.
const (
	notReached = ^uint32(0)     // not in the tree
	pending    = ^uint32(0) - 1 // in the tree, at an unknown depth
)

// A tag has two bytes per vertex, so a cache holds it for twice as many vertices as depths, and
// four times as many as depths with parents. It has the depth, and the low bits of the parent. Tags
// alone show that the depths of two neighbours differ by more than one, or that a tuple is not a
// tree edge, except for one tuple in 1<<parentBits.
const (
	parentBits = 10
	parentMask = 1<<parentBits - 1
	// tagNotReached differs by more than one from every depth. maxTagDepth is the greatest depth.
	tagNotReached = 1<<(16-parentBits) - 1
	maxTagDepth   = tagNotReached - 2
)

// begin checks the preconditions for following parents, initializes depth and confirmed, and
// returns the number of vertices in the tree over all ranks.
func (v *Validator) begin(ctx context.Context, root uint64, parent []uint32) (uint64, error) {
	if err := v.ranks.firstError(ctx, v.beginOwn(ctx, root, parent)); err != nil {
		return 0, err
	}
	return v.ranks.sum(ctx, uint64(v.reached))
}

func (v *Validator) beginOwn(ctx context.Context, root uint64, parent []uint32) error {
	own := &v.own
	i := root - own.base
	here := root >= own.base && i < uint64(len(own.depth))
	switch {
	case len(parent) != len(own.depth):
		return unfit("range", "%d parents for %d vertices", len(parent), len(own.depth))
	case root >= uint64(v.n):
		return unfit("root", "root %d: the graph has %d vertices", root, v.n)
	case here && parent[i] == Unreached:
		return unfit("root", "root %d is not reached", root)
	case here && uint64(parent[i]) != root:
		return unfit("root", "the parent of root %d is %d, not itself", root, parent[i])
	}
	own.parent = parent
	clear(own.confirmed)
	var total atomic.Int64
	err := v.vertices(ctx, func(lo, hi int) error {
		reached := 0
		for x, p := range parent[lo:hi] {
			x += lo
			if p == Unreached {
				own.depth[x] = notReached
				continue
			}
			if uint64(p) >= uint64(v.n) {
				return unfit("range", "the parent of vertex %d is %d: the graph has %d vertices",
					own.base+uint64(x), p, v.n)
			}
			own.depth[x] = pending
			reached++
		}
		total.Add(int64(reached))
		return nil
	})
	v.reached = total.Load()
	if err == nil && here {
		own.depth[i] = 0
		bitmap.Set(own.confirmed, uint32(i))
	}
	return err
}

// depths finds the depth of every vertex from the parents alone, and so checks rule 1: the parents
// of every vertex of the tree lead to the root. It sets the tags and returns the greatest depth. A
// single rank climbs from vertex to vertex, because doubling would take 4 (BFS) to 9 times (SSSP)
// as long, and two more words per vertex.
func (v *Validator) depths(ctx context.Context, reached uint64) (uint32, error) {
	var err error
	if v.ranks.size() == 1 {
		err = v.climb(ctx)
	} else {
		err = v.double(ctx, reached)
	}
	if err != nil {
		return 0, err
	}
	own := &v.own
	var mu sync.Mutex
	greatest := uint32(0)
	err = v.vertices(ctx, func(lo, hi int) error {
		deepest := uint32(0)
		for x := lo; x < hi; x++ {
			depth := own.depth[x]
			if depth == notReached {
				own.tags[x] = tagNotReached << parentBits
				continue
			}
			own.tags[x] = uint16(min(depth, maxTagDepth)<<parentBits | own.parent[x]&parentMask)
			deepest = max(deepest, depth)
		}
		mu.Lock()
		defer mu.Unlock()
		greatest = max(greatest, deepest)
		return nil
	})
	if err := v.ranks.firstError(ctx, err); err != nil {
		return 0, err
	}
	deepest, err := v.ranks.most(ctx, uint64(greatest))
	return uint32(deepest), err
}

// climb finds the depths on a rank that has all vertices.
//
// A vertex climbs to the first ancestor with a known depth, and then climbs again to set the depths
// between. A climb that is longer than the number of vertices in the tree is in a cycle. Each
// worker passes a vertex of unknown depth only once, so its work is O(n), however deep the tree is
// and in any order of vertices.
func (v *Validator) climb(ctx context.Context) error {
	return v.vertices(ctx, func(lo, hi int) error {
		for x := lo; x < hi; x++ {
			if atomic.LoadUint32(&v.own.depth[x]) == pending {
				if broken := v.climbFrom(uint32(x)); broken != nil {
					return broken
				}
			}
		}
		return nil
	})
}

// climbFrom sets the depths of vertex x and its ancestors.
func (v *Validator) climbFrom(x uint32) *Violation {
	parent, depths := v.own.parent, v.own.depth
	steps, at := uint32(0), x
	depth := uint32(pending)
	for depth == pending {
		if int64(steps) == v.reached {
			return v.cycle(x, at)
		}
		last := at
		at = parent[at]
		steps++
		if depth = atomic.LoadUint32(&depths[at]); depth == notReached {
			return violation(1, "vertex %d has parent %d, which is not reached itself", last, at)
		}
	}
	for at, d := x, depth+steps; d > depth; d-- {
		// Other workers here write the same value.
		atomic.StoreUint32(&depths[at], d)
		at = parent[at]
	}
	return nil
}

// cycle returns the error that vertex x leads to a cycle, which contains vertex at.
func (v *Validator) cycle(x, at uint32) *Violation {
	next := v.own.parent[at]
	if next == at {
		return violation(1, "vertex %d is its own parent and not the root", at)
	}
	return onCycle(uint64(x), uint64(at), uint64(next))
}

// onCycle returns the error that vertex x leads to a cycle, of which at and next are a part.
func onCycle(x, at, next uint64) *Violation {
	return violation(1, "vertex %d does not lead to the root: its ancestors %d and %d are on a cycle",
		x, at, next)
}
