package validate

import (
	"context"
	"math"
	"strconv"
	"sync"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/wire"
)

// SSSP validates a shortest-path tree: the parent of each vertex of this rank's range or
// [Unreached], and its distance or -1. The rules are those of [Validator.BFS] with distances
// instead of levels. All sums are in single precision, as in the reference code:
//
//  1. the parents of every vertex lead to the root (the reference code accepts cycles of weight
//     zero);
//  2. the distance of a vertex is exactly its parent's plus the weight of a tuple that joins the
//     two;
//  3. no tuple makes a distance shorter;
//  4. no tuple joins a reached vertex with an unreached one;
//  5. some tuple joins each vertex with its parent.
//
// The list must have weights. Levels in the result is the number of the tree's levels.
func (v *Validator) SSSP(
	ctx context.Context, root uint64, parent []uint32, dist []float32,
) (Result, error) {
	reached, err := v.begin(ctx, root, parent)
	if err != nil {
		return Result{}, err
	}
	if err := v.ranks.firstError(ctx, v.distances(ctx, root, dist)); err != nil {
		return Result{}, err
	}
	v.own.dist = dist
	deepest, err := v.depths(ctx, reached)
	if err != nil {
		return Result{}, err
	}
	count, err := v.round(ctx, wire.Bytes(dist), wire.Bytes(v.other.dist),
		rules{v.checkDistances, judgeDistances})
	if err != nil {
		return Result{}, err
	}
	if err := v.treeEdges(ctx); err != nil {
		return Result{}, err
	}
	return Result{count, int(deepest) + 1, int64(reached)}, nil
}

// distances checks the own distances as far as possible without the list.
func (v *Validator) distances(ctx context.Context, root uint64, dist []float32) error {
	own := &v.own
	switch i := root - own.base; {
	case !v.weighted:
		return unfit("range", "shortest paths on a list without weights")
	case len(dist) != len(own.depth):
		return unfit("range", "%d distances for %d vertices", len(dist), len(own.depth))
	case root >= own.base && i < uint64(len(dist)) && dist[i] != 0:
		return unfit("root", "the distance of root %d is %g", root, dist[i])
	}
	return v.vertices(ctx, func(lo, hi int) error {
		for x := lo; x < hi; x++ {
			d, p := dist[x], own.parent[x]
			if !(d >= 0 && d <= math.MaxFloat32 || d == -1) {
				return unfit("range", "the distance of vertex %d is %g", own.base+uint64(x), d)
			}
			if (d == -1) != (p == Unreached) {
				return unfit("reached", "vertex %d has distance %g and parent %s", own.base+
					uint64(x), d, parentName(p))
			}
		}
		return nil
	})
}

func parentName(p uint32) string {
	if p == Unreached {
		return "-1"
	}
	return strconv.FormatUint(uint64(p), 10)
}

// checkDistances returns the number of a block's tuples in the tree's component, and the position
// of the first wrong tuple or -1.
func (v *Validator) checkDistances(s *scratch, c *vertexState) (count, bad int) {
	us, vs, ws := s.U[:s.N], s.V[:s.N], s.W[:s.N]
	if bad := max(gather(&s.distU, v.own.dist, us), gather(&s.distV, c.dist, vs)); bad >= 0 {
		return 0, bad
	}
	distU, distV := s.distU[:s.N], s.distV[:s.N]
	baseU, baseV := v.own.base, c.base
	k := 0
	for i, dx := range distU {
		if us[i]+baseU == vs[i]+baseV {
			continue
		}
		dy, w := distV[i], float32(ws[i])
		if dx < 0 || dy < 0 {
			if dx != dy {
				return count, i
			}
			continue
		}
		// A difference has the sign of the comparison, and is zero only if both are equal.
		slackX, slackY := (dy+w)-dx, (dx+w)-dy
		if !(slackX >= 0 && slackY >= 0) { // written so that a NaN weight is an error
			return count, i
		}
		count++
		s.maybe[k&(edges.BlockSize-1)] = uint16(i)
		k += isZero(magnitude(slackX)) | isZero(magnitude(slackY))
	}
	v.confirmExact(s, k, c)
	return count, -1
}

// magnitude returns the bits of x without the sign: 0 only for the two zeros.
func magnitude(x float32) uint64 { return uint64(math.Float32bits(x) << 1) }

// confirmExact is confirmBlock for edges whose weight must also equal the difference of the
// distances.
func (v *Validator) confirmExact(s *scratch, k int, c *vertexState) {
	for _, i := range s.maybe[:k] {
		x, y, w := s.U[i&(edges.BlockSize-1)], s.V[i&(edges.BlockSize-1)],
			float32(s.W[i&(edges.BlockSize-1)])
		if uint64(v.own.parent[x]) == y+c.base && v.own.dist[x] == c.dist[y]+w {
			confirm(v.own.confirmed, x)
		}
		if uint64(c.parent[y]) == x+v.own.base && c.dist[y] == v.own.dist[x]+w {
			confirm(c.confirmed, y)
		}
	}
}

// judgeDistances returns the error in a tuple that checkDistances rejected.
func judgeDistances(a, b *vertexState, x, y uint64, weight float64) *Violation {
	dx, dy := a.dist[x], b.dist[y]
	x, y = x+a.base, y+b.base
	if (dx < 0) != (dy < 0) {
		return leaves(x, y, dx < 0)
	}
	if y < x { // the lesser vertex is named first
		x, y, dx, dy = y, x, dy, dx
	}
	return violation(3, "edge %d-%d of weight %g joins distances %g and %g", x, y,
		float32(weight), dx, dy)
}

// treeEdges returns the error for the least vertex whose tree edge was not confirmed, if there is
// one: rule 2 if an edge joins it with its parent, rule 5 if none does.
func (v *Validator) treeEdges(ctx context.Context) error {
	own := &v.own
	mine := []uint64{math.MaxUint64, 0, 0}
	if x, bad := v.unconfirmed(); bad {
		mine = []uint64{own.base + x, uint64(own.parent[x]), uint64(math.Float32bits(own.dist[x]))}
	}
	least, err := v.ranks.least(ctx, mine)
	if err != nil || least[0] == math.MaxUint64 {
		return err
	}
	x, p, dist := least[0], least[1], math.Float32frombits(uint32(least[2]))
	weight, err := v.lightest(ctx, x, p)
	if err := v.ranks.firstError(ctx, err); err != nil {
		return err
	}
	found, err := v.ranks.least(ctx, []uint64{weight})
	if err != nil {
		return err
	}
	above := uint64(0)
	if i := p - own.base; p >= own.base && i < uint64(len(own.dist)) {
		above = uint64(math.Float32bits(own.dist[i]))
	}
	if above, err = v.ranks.most(ctx, above); err != nil {
		return err
	}
	if found[0] == math.MaxUint64 {
		return violation(5, "no tuple joins vertex %d and its parent %d", x, p)
	}
	return violation(2, "vertex %d has distance %g, its parent %d has %g, and the lightest edge between them weighs %g",
		x, dist, p, math.Float32frombits(uint32(above)), math.Float64frombits(found[0]))
}

// lightest returns the bits of the least weight of the local tuples that join two vertices, or a
// greater number if there is none. Weights are not negative, because rule 3 was checked before.
func (v *Validator) lightest(ctx context.Context, x, p uint64) (uint64, error) {
	var mu sync.Mutex
	least := uint64(math.MaxUint64)
	for q := range v.tiles {
		c := &vertexState{base: uint64(v.per) * uint64(q)}
		_, err := v.tile(ctx, q, c, rules{check: func(s *scratch, c *vertexState) (int, int) {
			for i, a := range s.U[:s.N] {
				a, b := a+v.own.base, s.V[i]+c.base
				if a == x && b == p || a == p && b == x {
					mu.Lock()
					least = min(least, math.Float64bits(s.W[i]+0))
					mu.Unlock()
				}
			}
			return 0, -1
		}})
		if err != nil {
			return least, err
		}
	}
	return least, nil
}
