package validate

import (
	"context"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
)

// What depth holds besides depths.
const (
	notReached = ^uint32(0)     // not in the tree
	pending    = ^uint32(0) - 1 // in the tree, at a depth not known yet
)

// A tag is what the pass over the tuples needs of a vertex in two bytes, so that a cache holds it
// for twice as many vertices as depths, and four times as many as depth and parent: the depth, and
// the low bits of the parent. Two neighbours whose depths differ by more than one, and a tuple that
// is no tree edge, are told from tags alone, but for one tuple in 1<<parentBits.
const (
	parentBits = 10
	parentMask = 1<<parentBits - 1
	// tagNotReached differs by more than one from every depth, maxTagDepth the greatest of them.
	tagNotReached = 1<<(16-parentBits) - 1
	maxTagDepth   = tagNotReached - 2
)

// begin checks what must hold before a parent can be followed, sets depth and confirmed to what is
// known so far, and returns the number of vertices that all ranks have in the tree.
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
				return unfit("range", "the parent of vertex %d is %d: the graph has %d vertices", own.base+uint64(x), p, v.n)
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

// depths finds the depth of every vertex from the parents alone, which rule 1 is about: the parents
// of every vertex of the tree lead, in the end, to the root. It writes the tags and returns the
// greatest depth. A rank alone climbs from vertex to vertex: to double would take it 4 (BFS) to 9
// times (SSSP) as long, and two more words a vertex.
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
	var greatest atomic.Uint32
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
		for old := greatest.Load(); deepest > old && !greatest.CompareAndSwap(old, deepest); old = greatest.Load() {
		}
		return nil
	})
	if err := v.ranks.firstError(ctx, err); err != nil {
		return 0, err
	}
	deepest, err := v.ranks.most(ctx, uint64(greatest.Load()))
	return uint32(deepest), err
}

// climb finds the depths of a rank that has all vertices.
//
// A vertex climbs to the first ancestor whose depth is known and then climbs again to fill in the
// depths between; a climb longer than the tree has vertices is in a cycle. Each worker passes a
// vertex of unknown depth once, so that the work of each is O(n) however deep the tree is and
// whatever the order of its vertices.
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

// climbFrom writes the depths of vertex x and its ancestors.
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
		// Whoever else is here writes the same.
		atomic.StoreUint32(&depths[at], d)
		at = parent[at]
	}
	return nil
}

// cycle says that vertex x leads to a cycle that vertex at is on.
func (v *Validator) cycle(x, at uint32) *Violation {
	parent := v.own.parent
	length := 1
	for y := parent[at]; y != at; y = parent[y] {
		length++
	}
	if length == 1 {
		return violation(1, "vertex %d is its own parent and not the root", at)
	}
	return violation(1, "vertex %d does not lead to the root: its ancestors %d and %d are on a cycle of %d vertices",
		x, at, parent[at], length)
}
