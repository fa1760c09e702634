package validate

import (
	"math"
	"strconv"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
)

// SSSP judges a shortest-path tree: the parent of each vertex or [Unreached], and its distance or -1. The rules are
// those of [Validator.BFS] with distances in the place of levels, all sums in single precision, as the reference has it:
//
//  1. the parents of every vertex lead to the root (the reference lets cycles of weight zero pass);
//  2. the distance of a vertex is its parent's plus the weight of a tuple that joins the two, exactly;
//  3. no tuple makes a distance shorter;
//  4. no tuple joins a vertex of the tree with one out of it;
//  5. some tuple joins each vertex with its parent.
//
// The list must have weights. Levels in the result counts those of the tree.
func (v *Validator) SSSP(root uint64, parent []uint32, dist []float32) (Result, error) {
	reached, err := v.begin(root, parent)
	if err != nil {
		return Result{}, err
	}
	if err := v.distances(root, parent, dist); err != nil {
		return Result{}, err
	}
	deepest, err := v.climb(parent, reached)
	if err != nil {
		return Result{}, err
	}
	count, err := v.tuples(
		func(s *scratch) (int, int) { return v.checkDistances(s, parent, dist) },
		func(x, y uint64, weight float64) *Violation { return v.judgeDistances(x, y, float32(weight), dist) },
	)
	if err != nil {
		return Result{}, err
	}
	if x, found := v.unconfirmed(reached); found {
		return Result{}, v.judgeTreeEdge(x, parent, dist)
	}
	return Result{count, int(deepest) + 1, reached}, nil
}

// distances checks what can be known of distances without the list.
func (v *Validator) distances(root uint64, parent []uint32, dist []float32) error {
	switch {
	case !v.list.Weighted():
		return unfit("range", "shortest paths on a list without weights")
	case len(dist) != v.n:
		return unfit("range", "%d distances for %d vertices", len(dist), v.n)
	case dist[root] != 0:
		return unfit("root", "the distance of root %d is %g", root, dist[root])
	}
	return v.vertices(func(lo, hi int) error {
		return distancesFit(dist[lo:hi], parent[lo:hi], uint64(lo))
	})
}

// distancesFit checks distances and parents of the vertices from the given one on.
func distancesFit(dist []float32, parent []uint32, from uint64) error {
	for x, d := range dist {
		if !(d >= 0 && d <= math.MaxFloat32 || d == -1) {
			return unfit("range", "the distance of vertex %d is %g", from+uint64(x), d)
		}
		if (d == -1) != (parent[x] == Unreached) {
			return unfit("reached", "vertex %d has distance %g and parent %s", from+uint64(x), d, parentName(parent[x]))
		}
	}
	return nil
}

func parentName(p uint32) string {
	if p == Unreached {
		return "-1"
	}
	return strconv.FormatUint(uint64(p), 10)
}

// checkDistances returns the number of a block's tuples in the tree's component, and the position of the first tuple
// at fault or -1.
func (v *Validator) checkDistances(s *scratch, parent []uint32, dist []float32) (count, bad int) {
	us, vs, ws := s.U[:s.N], s.V[:s.N], s.W[:s.N]
	if bad := max(gather(&s.distU, dist, us), gather(&s.distV, dist, vs)); bad >= 0 {
		return 0, bad
	}
	distU, distV := s.distU[:s.N], s.distV[:s.N]
	k := 0
	for i, dx := range distU {
		if us[i] == vs[i] {
			continue
		}
		dy, w := distV[i], float32(ws[i])
		if dx < 0 || dy < 0 {
			if dx != dy {
				return count, i
			}
			continue
		}
		// A difference has the sign of the comparison, and is zero just where the two are equal.
		slackX, slackY := (dy+w)-dx, (dx+w)-dy
		if !(slackX >= 0 && slackY >= 0) { // so put that a weight that is no number is at fault
			return count, i
		}
		count++
		s.maybe[k&(edges.BlockSize-1)] = uint16(i)
		k += isZero(magnitude(slackX)) | isZero(magnitude(slackY))
	}
	v.confirmExact(s, k, parent, dist)
	return count, -1
}

// magnitude returns the bits of x without the sign: 0 for both zeros alone.
func magnitude(x float32) uint64 { return uint64(math.Float32bits(x) << 1) }

// confirmExact is confirmBlock for edges that must make up the difference of the distances, too.
func (v *Validator) confirmExact(s *scratch, k int, parent []uint32, dist []float32) {
	for _, i := range s.maybe[:k] {
		x, y, w := s.U[i&(edges.BlockSize-1)], s.V[i&(edges.BlockSize-1)], float32(s.W[i&(edges.BlockSize-1)])
		if parent[x] == uint32(y) && dist[x] == dist[y]+w {
			v.confirm(x)
		}
		if parent[y] == uint32(x) && dist[y] == dist[x]+w {
			v.confirm(y)
		}
	}
}

// judgeDistances says what is wrong with a tuple that checkDistances did not like.
func (v *Validator) judgeDistances(x, y uint64, weight float32, dist []float32) *Violation {
	if outside := v.outside(x, y); outside != nil {
		return outside
	}
	return shortcut(x, y, weight, dist[x], dist[y])
}

// shortcut is the violation of rule 3 by an edge between distances. The lesser vertex is named first.
func shortcut(x, y uint64, weight, dx, dy float32) *Violation {
	if y < x {
		x, y, dx, dy = y, x, dy, dx
	}
	return violation(3, "edge %d-%d of weight %g joins distances %g and %g", x, y, weight, dx, dy)
}

// judgeTreeEdge says what is wrong with the edge from the parent of x: rule 2 when there is one, rule 5 when there is none.
func (v *Validator) judgeTreeEdge(x uint64, parent []uint32, dist []float32) error {
	p := uint64(parent[x])
	var mu sync.Mutex
	joined, least := false, math.Inf(1)
	_, err := v.tuples(func(s *scratch) (int, int) {
		for i, a := range s.U[:s.N] {
			if c := s.V[i]; a == x && c == p || a == p && c == x {
				mu.Lock()
				joined, least = true, min(least, s.W[i])
				mu.Unlock()
			}
		}
		return 0, -1
	}, nil)
	switch {
	case err != nil:
		return err
	case joined:
		return violation(2, "vertex %d has distance %g, its parent %d has %g, and the lightest edge between them weighs %g",
			x, dist[x], p, dist[p], least)
	}
	return violation(5, "no tuple joins vertex %d and its parent %d", x, p)
}
