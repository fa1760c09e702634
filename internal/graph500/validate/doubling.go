package validate

import (
	"context"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/collective"
)

// double finds the depths of vertices on several ranks by pointer doubling. A vertex knows an
// ancestor and the distance to it. In each round it asks the ancestor's rank for the ancestor's
// depth or own ancestor, so the known distance doubles. A vertex that has not reached the root
// within as many steps as there are vertices in the tree leads to a cycle.
func (v *Validator) double(ctx context.Context, reached uint64) error {
	n := len(v.own.depth)
	c := doubling{Validator: v, ancestor: v.other.parent[:n], steps: v.other.depth[:n]}
	copy(c.ancestor, v.own.parent)
	for x := range c.steps {
		c.steps[x] = 1
	}
	err := c.ownParents()
	for seen := uint64(1); ; seen *= 2 {
		if err := v.ranks.firstError(ctx, err); err != nil {
			return err
		}
		left, broken := v.ranks.sum(ctx, c.pending())
		if broken != nil || left == 0 {
			return broken
		}
		if seen >= reached {
			return c.longCycle(ctx)
		}
		if err, broken = c.round(ctx); broken != nil {
			return broken
		}
	}
}

// doubling is a running search for depths. Invariant: the vertex steps[x] above own vertex x is
// ancestor[x], while x is pending.
type doubling struct {
	*Validator
	ancestor, steps []uint32
}

const (
	// asking is the number of a rank's vertices that ask at a time.
	asking = 1 << 15
	// known marks an answer with a depth instead of an ancestor.
	known = math.MaxUint32
)

// answer has what is known of a vertex: an ancestor and its distance, or the depth.
type answer struct{ ancestor, steps uint32 }

// ownParents returns an error for a vertex other than the root that is its own parent.
func (c *doubling) ownParents() error {
	for x, p := range c.own.parent {
		if uint64(p) == c.own.base+uint64(x) && c.own.depth[x] == pending {
			return violation(1, "vertex %d is its own parent and not the root", p)
		}
	}
	return nil
}

func (c *doubling) pending() uint64 {
	left := 0
	for _, depth := range c.own.depth {
		left += isZero(uint64(depth ^ pending))
	}
	return uint64(left)
}

// round makes every pending vertex ask its ancestor. bad is an error in the tree, err an error of
// the exchange.
func (c *doubling) round(ctx context.Context) (bad, err error) {
	ranks := c.ranks.size()
	ask, reply := make([][]uint32, ranks), make([][]answer, ranks)
	for lo := 0; lo < c.per; lo += asking {
		batch := c.own.depth[min(lo, len(c.own.depth)):min(lo+asking, len(c.own.depth))]
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
		questions, err := collective.AlltoallOf(ctx, c.ranks.group, c.ranks.bulk(), ask)
		if err != nil {
			return nil, err
		}
		for q, list := range questions {
			for _, x := range list {
				if x >= uint32(len(c.own.depth)) {
					return nil,
						fmt.Errorf("rank %d asks for vertex %d of %d", q, x, len(c.own.depth))
				}
				reply[q] = append(reply[q], c.answer(x))
			}
		}
		answers, err := collective.AlltoallOf(ctx, c.ranks.group, c.ranks.bulk(), reply)
		if err != nil {
			return nil, err
		}
		for q, list := range answers {
			if len(list) != len(ask[q]) {
				return nil,
					fmt.Errorf("rank %d has %d answers to %d questions", q, len(list), len(ask[q]))
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

func (c *doubling) answer(x uint32) answer {
	if depth := c.own.depth[x]; depth != pending {
		return answer{known, depth}
	}
	return answer{c.ancestor[x], c.steps[x]}
}

// learn applies the answer of own vertex x's ancestor.
func (c *doubling) learn(x int, a answer) error {
	switch {
	case a.ancestor != known:
		c.ancestor[x] = a.ancestor
		c.steps[x] += a.steps
	case a.steps == notReached:
		return violation(1, "vertex %d has parent %d, which is not reached itself", c.own.base+
			uint64(x), c.own.parent[x])
	default:
		c.own.depth[x] = a.steps + c.steps[x]
	}
	return nil
}

// longCycle returns the error for the least vertex that does not lead to the root. It leads to a
// cycle, and its ancestor is on the cycle.
func (c *doubling) longCycle(ctx context.Context) error {
	mine := []uint64{math.MaxUint64, 0}
	for x, depth := range c.own.depth {
		if depth == pending {
			mine = []uint64{c.own.base + uint64(x), uint64(c.ancestor[x])}
			break
		}
	}
	least, err := c.ranks.least(ctx, mine)
	if err != nil {
		return err
	}
	x, at := least[0], least[1]
	parent := uint64(0) // of at, if this rank has it
	if i := at - c.own.base; at >= c.own.base && i < uint64(len(c.own.parent)) {
		parent = uint64(c.own.parent[i])
	}
	next, err := c.ranks.most(ctx, parent)
	if err != nil {
		return err
	}
	return onCycle(x, at, next)
}
