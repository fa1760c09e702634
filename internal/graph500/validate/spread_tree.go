package validate

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
)

// begin checks what must hold before a parent can be followed, and returns the number of vertices reached.
func (s *Spread) begin(ctx context.Context, root uint64, parent []uint32) (uint64, error) {
	mine, err := s.beginOwn(ctx, root, parent)
	if err := s.talk.verdict(ctx, err); err != nil {
		return 0, err
	}
	return s.talk.sum(ctx, uint64(mine))
}

func (s *Spread) beginOwn(ctx context.Context, root uint64, parent []uint32) (int64, error) {
	own := &s.own
	lo, hi := own.base, own.base+uint64(len(own.depth))
	switch {
	case len(parent) != len(own.depth):
		return 0, unfit("range", "%d parents for %d vertices", len(parent), len(own.depth))
	case root >= uint64(s.n):
		return 0, unfit("root", "root %d: the graph has %d vertices", root, s.n)
	case root >= lo && root < hi:
		if err := s.rootFits(root, parent[root-lo]); err != nil {
			return 0, err
		}
	}
	own.parent = parent
	clear(own.confirmed)
	var total atomic.Int64
	err := ranges(s.team, len(parent), stop(ctx), func(from, to int) error {
		reached := 0
		for i, p := range parent[from:to] {
			x := from + i
			if p == Unreached {
				own.depth[x] = notReached
				continue
			}
			if uint64(p) >= uint64(s.n) {
				return unfit("range", "the parent of vertex %d is %d: the graph has %d vertices", lo+uint64(x), p, s.n)
			}
			own.depth[x] = pending
			reached++
		}
		total.Add(int64(reached))
		return nil
	})
	if err == nil && root >= lo && root < hi {
		own.depth[root-lo] = 0
		bitmap.Set(own.confirmed, uint32(root-lo))
	}
	return total.Load(), err
}

func (s *Spread) rootFits(root uint64, parent uint32) error {
	switch {
	case parent == Unreached:
		return unfit("root", "root %d is not reached", root)
	case uint64(parent) != root:
		return unfit("root", "the parent of root %d is %d, not itself", root, parent)
	}
	return nil
}

func stop(ctx context.Context) func() error { return func() error { return context.Cause(ctx) } }

// climb finds the depth of every vertex from the parents alone, and returns the greatest. It doubles: a vertex knows an
// ancestor and how far above it is, asks that one's rank for its depth or else for what it knows itself, and so sees twice as
// far in each round. Whoever does not see the root as far away as there are vertices in the tree is below a cycle.
func (s *Spread) climb(ctx context.Context, reached uint64) (uint32, error) {
	n := len(s.own.depth)
	c := climber{Spread: s, ancestor: s.other.parent[:n], steps: s.other.depth[:n]}
	copy(c.ancestor, s.own.parent)
	for x := range c.steps {
		c.steps[x] = 1
	}
	err := c.ownParents()
	for seen := uint64(1); ; seen *= 2 {
		if err := s.talk.verdict(ctx, err); err != nil {
			return 0, err
		}
		left, broken := s.talk.sum(ctx, c.pending())
		if broken != nil {
			return 0, broken
		}
		if left == 0 {
			return s.label(ctx)
		}
		if seen >= reached {
			return 0, c.cycle(ctx)
		}
		if err, broken = c.round(ctx); broken != nil {
			return 0, broken
		}
	}
}

// label writes the tags, and returns the greatest depth of all ranks.
func (s *Spread) label(ctx context.Context) (uint32, error) {
	own := &s.own
	var greatest atomic.Uint32
	err := ranges(s.team, len(own.depth), stop(ctx), func(lo, hi int) error {
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
	if err != nil {
		return 0, err
	}
	deepest, err := s.talk.most(ctx, uint64(greatest.Load()))
	return uint32(deepest), err
}

// climber is a climb under way. Invariant: the vertex steps[x] above own vertex x is ancestor[x], while x is pending.
type climber struct {
	*Spread
	ancestor, steps []uint32
}

const (
	// climbers is how many vertices of a rank ask at a time.
	climbers = 1 << 15
	// known marks an answer that has a depth, and not an ancestor.
	known = math.MaxUint32
)

// answer is what is known of a vertex: an ancestor and how far it is, or the depth.
type answer struct{ ancestor, steps uint32 }

// ownParents finds vertices that are their own parents, and not the root.
func (c *climber) ownParents() error {
	for x, p := range c.own.parent {
		if uint64(p) == c.own.base+uint64(x) && c.own.depth[x] == pending {
			return violation(1, "vertex %d is its own parent and not the root", p)
		}
	}
	return nil
}

func (c *climber) pending() uint64 {
	left := 0
	for _, depth := range c.own.depth {
		left += isZero(uint64(depth ^ pending))
	}
	return uint64(left)
}

// round lets every pending vertex ask its ancestor. bad is what is wrong with the tree, err that ranks do not talk.
func (c *climber) round(ctx context.Context) (bad, err error) {
	ranks := c.talk.ranks()
	ask, reply := make([][]uint32, ranks), make([][]answer, ranks)
	for lo := 0; lo < c.per; lo += climbers {
		batch := c.own.depth[min(lo, len(c.own.depth)):min(lo+climbers, len(c.own.depth))]
		for q := range ask {
			ask[q], reply[q] = ask[q][:0], reply[q][:0]
		}
		per := uint32(c.per)
		for i, depth := range batch {
			if depth == pending {
				a := c.ancestor[lo+i]
				ask[a/per] = append(ask[a/per], a%per)
			}
		}
		questions, err := collective.AlltoallOf(ctx, c.talk.group, c.talk.bulk(), ask)
		if err != nil {
			return nil, err
		}
		for q, list := range questions {
			for _, x := range list {
				if x >= uint32(len(c.own.depth)) {
					return nil, fmt.Errorf("rank %d asks for vertex %d of %d", q, x, len(c.own.depth))
				}
				reply[q] = append(reply[q], c.answer(x))
			}
		}
		answers, err := collective.AlltoallOf(ctx, c.talk.group, c.talk.bulk(), reply)
		if err != nil {
			return nil, err
		}
		for q, list := range answers {
			if len(list) != len(ask[q]) {
				return nil, fmt.Errorf("rank %d has %d answers to %d questions", q, len(list), len(ask[q]))
			}
		}
		for i, depth := range batch {
			if depth == pending {
				q := c.ancestor[lo+i] / per
				if e := c.learn(lo+i, answers[q][0]); e != nil && bad == nil {
					bad = e
				}
				answers[q] = answers[q][1:]
			}
		}
	}
	return bad, nil
}

func (c *climber) answer(x uint32) answer {
	if depth := c.own.depth[x]; depth != pending {
		return answer{known, depth}
	}
	return answer{c.ancestor[x], c.steps[x]}
}

// learn takes what the ancestor of own vertex x knows.
func (c *climber) learn(x int, a answer) error {
	switch {
	case a.ancestor != known:
		c.ancestor[x] = a.ancestor
		c.steps[x] += a.steps
	case a.steps == notReached:
		return violation(1, "vertex %d has parent %d, which is not reached itself", c.own.base+uint64(x), c.own.parent[x])
	default:
		c.own.depth[x] = a.steps + c.steps[x]
	}
	return nil
}

// longestCycle is how many vertices of a cycle are counted for those who look for the error.
const longestCycle = 100

// cycle says that the least vertex that does not see the root leads to a cycle; all of what it sees is on that.
func (c *climber) cycle(ctx context.Context) error {
	mine := []uint64{math.MaxUint64, 0}
	for x, depth := range c.own.depth {
		if depth == pending {
			mine = []uint64{c.own.base + uint64(x), uint64(c.ancestor[x])}
			break
		}
	}
	least, err := c.talk.least(ctx, mine)
	if err != nil {
		return err
	}
	x, at := least[0], least[1]
	next, length := at, 0
	for length = 1; length <= longestCycle; length++ {
		if next, err = c.parentOf(ctx, next); err != nil {
			return err
		}
		if next == at {
			break
		}
	}
	if next, err = c.parentOf(ctx, at); err != nil {
		return err
	}
	size := fmt.Sprintf("%d vertices", length)
	if length > longestCycle {
		size = fmt.Sprintf("more than %d vertices", longestCycle)
	}
	return violation(1, "vertex %d does not lead to the root: its ancestors %d and %d are on a cycle of %s", x, at, next, size)
}

// parentOf returns the parent of a vertex to all ranks.
func (c *climber) parentOf(ctx context.Context, x uint64) (uint64, error) {
	parent := uint64(0)
	if i := x - c.own.base; x >= c.own.base && i < uint64(len(c.own.parent)) {
		parent = uint64(c.own.parent[i])
	}
	return c.talk.most(ctx, parent)
}
