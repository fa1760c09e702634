package validate

import (
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
)

// What depth holds besides depths.
const (
	notReached = ^uint32(0)     // not in the tree
	pending    = ^uint32(0) - 1 // in the tree, at a depth not known yet
)

// A tag is what the pass over the tuples needs of a vertex in two bytes, so that a cache holds it for twice as many
// vertices as depths, and four times as many as depth and parent: the depth, and the low bits of the parent. Two
// neighbours whose depths differ by more than one, and a tuple that is no tree edge, are told from tags alone, but for
// one tuple in 1<<parentBits.
const (
	parentBits = 10
	parentMask = 1<<parentBits - 1
	// tagNotReached differs by more than one from every depth, maxTagDepth the greatest of them.
	tagNotReached = 1<<(16-parentBits) - 1
	maxTagDepth   = tagNotReached - 2
)

// begin checks what must hold before a parent can be followed, sets depth and confirmed to what is known so far, and
// returns the number of vertices reached.
func (v *Validator) begin(root uint64, parent []uint32) (int64, error) {
	switch {
	case len(parent) != v.n:
		return 0, unfit("range", "%d parents for %d vertices", len(parent), v.n)
	case root >= uint64(v.n):
		return 0, unfit("root", "root %d: the graph has %d vertices", root, v.n)
	case parent[root] == Unreached:
		return 0, unfit("root", "root %d is not reached", root)
	case uint64(parent[root]) != root:
		return 0, unfit("root", "the parent of root %d is %d, not itself", root, parent[root])
	}
	var total atomic.Int64
	err := v.vertices(func(lo, hi int) error {
		reached := 0
		for x := lo; x < hi; x++ {
			p := parent[x]
			if p == Unreached {
				v.depth[x] = notReached
				continue
			}
			if p >= uint32(v.n) {
				return unfit("range", "the parent of vertex %d is %d: the graph has %d vertices", x, p, v.n)
			}
			v.depth[x] = pending
			reached++
		}
		total.Add(int64(reached))
		return nil
	})
	v.depth[root] = 0
	clear(v.confirmed)
	bitmap.Set(v.confirmed, uint32(root))
	return total.Load(), err
}

// climb finds the depth of every vertex from the parents alone, which rule 1 is about: the parents of every vertex of
// the tree lead, in the end, to the root. It returns the greatest.
//
// A vertex climbs to the first ancestor whose depth is known and then climbs again to fill in the depths between; a
// climb longer than the tree has vertices is in a cycle. Each worker passes a vertex of unknown depth once, so that the
// work of each is O(n) however deep the tree is and whatever the order of its vertices.
func (v *Validator) climb(parent []uint32, reached int64) (uint32, error) {
	var greatest atomic.Uint32
	err := v.vertices(func(lo, hi int) error {
		deepest := uint32(0)
		for x := lo; x < hi; x++ {
			depth := atomic.LoadUint32(&v.depth[x])
			if depth == pending {
				var broken *Violation
				if depth, broken = v.climbFrom(uint32(x), parent, reached); broken != nil {
					return broken
				}
			}
			if depth == notReached {
				v.tags[x] = tagNotReached << parentBits
				continue
			}
			v.tags[x] = uint16(min(depth, maxTagDepth)<<parentBits | parent[x]&parentMask)
			deepest = max(deepest, depth)
		}
		for old := greatest.Load(); deepest > old && !greatest.CompareAndSwap(old, deepest); old = greatest.Load() {
		}
		return nil
	})
	return greatest.Load(), err
}

// climbFrom returns the depth of vertex x, after it has written those of x and its ancestors.
func (v *Validator) climbFrom(x uint32, parent []uint32, reached int64) (uint32, *Violation) {
	steps, at := uint32(0), x
	depth := uint32(pending)
	for depth == pending {
		if int64(steps) == reached {
			return 0, v.cycle(x, at, parent)
		}
		last := at
		at = parent[at]
		steps++
		if depth = atomic.LoadUint32(&v.depth[at]); depth == notReached {
			return 0, violation(1, "vertex %d has parent %d, which is not reached itself", last, at)
		}
	}
	depth += steps
	for at, d := x, depth; steps > 0; steps-- {
		// Whoever else is here writes the same.
		atomic.StoreUint32(&v.depth[at], d)
		at, d = parent[at], d-1
	}
	return depth, nil
}

// cycle says that vertex x leads to a cycle that vertex at is on.
func (v *Validator) cycle(x, at uint32, parent []uint32) *Violation {
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
