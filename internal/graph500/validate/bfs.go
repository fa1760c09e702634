package validate

import "github.com/superstep-go/superstep/internal/edges"

// BFS judges a breadth-first tree, the parent of each vertex or [Unreached], by the five rules of the specification:
//
//  1. the parents of every vertex lead to the root: no cycles;
//  2. a tree edge joins levels that differ by one: so by construction, since levels are derived from the parents;
//  3. a tuple joins levels that differ by at most one, or vertices out of the tree;
//  4. no tuple joins a vertex of the tree with one out of it, so that the tree spans the root's component;
//  5. some tuple joins each vertex with its parent.
//
// A broken rule is a *[Violation]; any other error is that of reading the list.
func (v *Validator) BFS(root uint64, parent []uint32) (Result, error) {
	reached, err := v.begin(root, parent)
	if err != nil {
		return Result{}, err
	}
	deepest, err := v.climb(parent, reached)
	if err != nil {
		return Result{}, err
	}
	check := func(s *scratch) (int, int) { return v.checkTags(s, parent) }
	if deepest > maxTagDepth {
		check = func(s *scratch) (int, int) { return v.checkDepths(s, parent) }
	}
	count, err := v.tuples(check, v.judgeLevels)
	if err != nil {
		return Result{}, err
	}
	if x, found := v.unconfirmed(reached); found {
		return Result{}, violation(5, "no tuple joins vertex %d and its parent %d", x, parent[x])
	}
	return Result{count, int(deepest) + 1, reached}, nil
}

// checkTags checks a block by tags and returns the number of its tuples in the tree's component, and the position of
// the first tuple at fault or -1.
func (v *Validator) checkTags(s *scratch, parent []uint32) (count, bad int) {
	us, vs := s.U[:s.N], s.V[:s.N]
	if bad := max(gather(&s.tagU, v.tags, us), gather(&s.tagV, v.tags, vs)); bad >= 0 {
		return 0, bad
	}
	tagU, tagV := s.tagU[:s.N], s.tagV[:s.N]
	k := 0
	for i, x := range us {
		y, tx, ty := vs[i], uint64(tagU[i]), uint64(tagV[i])
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
	v.confirmBlock(s, k, parent)
	return count, -1
}

// checkDepths is checkTags for trees too deep for tags.
func (v *Validator) checkDepths(s *scratch, parent []uint32) (count, bad int) {
	k := 0
	for i, x := range s.U[:s.N] {
		y := s.V[i]
		if x >= uint64(v.n) || y >= uint64(v.n) {
			return count, i
		}
		if x == y {
			continue
		}
		dx, dy := v.depth[x], v.depth[y]
		if dx-dy+1 > 2 || (dx == notReached) != (dy == notReached) {
			return count, i
		}
		if dx != notReached {
			count++
			s.maybe[k] = uint16(i)
			k++
		}
	}
	v.confirmBlock(s, k, parent)
	return count, -1
}

// judgeLevels says what is wrong with a tuple that checkTags or checkDepths did not like.
func (v *Validator) judgeLevels(x, y uint64, _ float64) *Violation {
	if outside := v.outside(x, y); outside != nil {
		return outside
	}
	return steep(x, y, v.depth[x], v.depth[y])
}

// steep is the violation of rule 3 by an edge between levels. The lesser vertex is named first.
func steep(x, y uint64, dx, dy uint32) *Violation {
	if y < x {
		x, y, dx, dy = y, x, dy, dx
	}
	return violation(3, "edge %d-%d joins levels %d and %d", x, y, dx, dy)
}

// outside is the violation of rule 4, if an edge leaves the tree.
func (v *Validator) outside(x, y uint64) *Violation {
	if dx, dy := v.depth[x] == notReached, v.depth[y] == notReached; dx != dy {
		return leaves(x, y, dx)
	}
	return nil
}

// leaves is the violation of rule 4 by an edge of which one end is in the tree: y if swapped.
func leaves(x, y uint64, swapped bool) *Violation {
	if swapped {
		x, y = y, x
	}
	return violation(4, "edge %d-%d joins a vertex of the tree and one that it does not reach", x, y)
}
