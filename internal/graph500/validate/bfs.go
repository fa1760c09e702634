package validate

import (
	"context"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/wire"
)

// BFS validates a breadth-first tree by the five rules of the specification. parent has the parent
// of each vertex of this rank's range, by input number, or [Unreached].
//
//  1. the parents of every vertex lead to the root: no cycles;
//  2. a tree edge joins levels that differ by one: true by construction, because levels are
//     derived from the parents;
//  3. a tuple joins levels that differ by at most one, or two unreached vertices;
//  4. no tuple joins a reached vertex with an unreached one, so the tree spans the root's
//     component;
//  5. some tuple joins each vertex with its parent.
//
// If a rule is broken the error is a *[Violation]. Any other error is from reading the list or from
// the exchange between ranks.
func (v *Validator) BFS(ctx context.Context, root uint64, parent []uint32) (Result, error) {
	reached, err := v.begin(ctx, root, parent)
	if err != nil {
		return Result{}, err
	}
	deepest, err := v.depths(ctx, reached)
	if err != nil {
		return Result{}, err
	}
	var count int64
	if deepest <= maxTagDepth {
		count, err = v.round(ctx, wire.Bytes(v.own.tags), wire.Bytes(v.other.tags),
			rules{v.checkTags, judgeLevels((*vertexState).tagDepth)})
	} else {
		count, err = v.round(ctx, wire.Bytes(v.own.depth), wire.Bytes(v.other.depth),
			rules{v.checkDepths, judgeLevels((*vertexState).exactDepth)})
	}
	if err != nil {
		return Result{}, err
	}
	var broken error
	if x, found := v.unconfirmed(); found {
		broken = violation(5, "no tuple joins vertex %d and its parent %d", v.own.base+
			x, v.own.parent[x])
	}
	if err := v.ranks.firstError(ctx, broken); err != nil {
		return Result{}, err
	}
	return Result{count, int(deepest) + 1, int64(reached)}, nil
}

// checkTags checks a block by tags. It returns the number of its tuples in the tree's component,
// and the position of the first wrong tuple or -1.
func (v *Validator) checkTags(s *scratch, c *vertexState) (count, bad int) {
	us, vs := s.U[:s.N], s.V[:s.N]
	if bad := max(gather(&s.tagU, v.own.tags, us), gather(&s.tagV, c.tags, vs)); bad >= 0 {
		return 0, bad
	}
	tagU, tagV := s.tagU[:s.N], s.tagV[:s.N]
	baseU, baseV := v.own.base, c.base
	k := 0
	for i, x := range us {
		x += baseU
		y, tx, ty := vs[i]+baseV, uint64(tagU[i]), uint64(tagV[i])
		if x == y {
			continue
		}
		if tx>>parentBits-ty>>parentBits+1 > 2 {
			return count, i
		}
		if tx < tagNotReached<<parentBits {
			count++
		}
		s.maybe[k&(edges.BlockSize-1)] = uint16(i)
		k += isZero((tx^y)&parentMask) | isZero((ty^x)&parentMask)
	}
	v.confirmBlock(s, k, c)
	return count, -1
}

// checkDepths is checkTags for trees that are too deep for tags.
func (v *Validator) checkDepths(s *scratch, c *vertexState) (count, bad int) {
	k := 0
	for i, x := range s.U[:s.N] {
		y := s.V[i]
		if x >= uint64(len(v.own.depth)) || y >= uint64(len(c.depth)) {
			return count, i
		}
		if x+v.own.base == y+c.base {
			continue
		}
		dx, dy := v.own.depth[x], c.depth[y]
		if dx-dy+1 > 2 || (dx == notReached) != (dy == notReached) {
			return count, i
		}
		if dx != notReached {
			count++
			s.maybe[k] = uint16(i)
			k++
		}
	}
	v.confirmBlock(s, k, c)
	return count, -1
}

// confirmBlock confirms the tree edges of s among the first k of s.maybe.
func (v *Validator) confirmBlock(s *scratch, k int, c *vertexState) {
	for _, i := range s.maybe[:k] {
		x, y := s.U[i&(edges.BlockSize-1)], s.V[i&(edges.BlockSize-1)]
		if uint64(v.own.parent[x]) == y+c.base {
			confirm(v.own.confirmed, x)
		}
		if uint64(c.parent[y]) == x+v.own.base {
			confirm(c.confirmed, y)
		}
	}
}

// judgeLevels returns a function that describes the error in a tuple that checkTags or checkDepths
// rejected.
func judgeLevels(
	depth func(c *vertexState, x uint64) uint32,
) func(a, b *vertexState, x, y uint64, _ float64) *Violation {
	return func(a, b *vertexState, x, y uint64, _ float64) *Violation {
		dx, dy := depth(a, x), depth(b, y)
		x, y = x+a.base, y+b.base
		if (dx == notReached) != (dy == notReached) {
			return leaves(x, y, dx == notReached)
		}
		if y < x { // the lesser vertex is named first
			x, y, dx, dy = y, x, dy, dx
		}
		return violation(3, "edge %d-%d joins levels %d and %d", x, y, dx, dy)
	}
}

func (c *vertexState) exactDepth(x uint64) uint32 { return c.depth[x] }

func (c *vertexState) tagDepth(x uint64) uint32 {
	if depth := c.tags[x] >> parentBits; depth != tagNotReached {
		return uint32(depth)
	}
	return notReached
}

// leaves is the violation of rule 4 by an edge with one end in the tree: y if swapped.
func leaves(x, y uint64, swapped bool) *Violation {
	if swapped {
		x, y = y, x
	}
	return violation(4,
		"edge %d-%d joins a vertex of the tree and one that it does not reach", x, y)
}
