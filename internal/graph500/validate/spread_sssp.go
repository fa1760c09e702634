package validate

import (
	"context"
	"math"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/wire"
)

// SSSP judges a shortest-path tree by the rules of [Validator.SSSP]. parent and dist are of this rank's range.
func (s *Spread) SSSP(ctx context.Context, root uint64, parent []uint32, dist []float32) (Result, error) {
	reached, err := s.begin(ctx, root, parent)
	if err != nil {
		return Result{}, err
	}
	if err := s.talk.verdict(ctx, s.distances(ctx, root, dist)); err != nil {
		return Result{}, err
	}
	s.own.dist = dist
	deepest, err := s.climb(ctx, reached)
	if err != nil {
		return Result{}, err
	}
	count, err := s.round(ctx, wire.Bytes(dist), wire.Bytes(s.other.dist), s.checkDistances, judgeDistances)
	if err != nil {
		return Result{}, err
	}
	if err := s.treeEdges(ctx); err != nil {
		return Result{}, err
	}
	return Result{count, int(deepest) + 1, int64(reached)}, nil
}

// distances checks what can be known of the own distances without the list.
func (s *Spread) distances(ctx context.Context, root uint64, dist []float32) error {
	own := &s.own
	switch i := root - own.base; {
	case !s.weighted:
		return unfit("range", "shortest paths on a list without weights")
	case len(dist) != len(own.depth):
		return unfit("range", "%d distances for %d vertices", len(dist), len(own.depth))
	case root >= own.base && i < uint64(len(dist)) && dist[i] != 0:
		return unfit("root", "the distance of root %d is %g", root, dist[i])
	}
	return ranges(s.team, len(dist), stop(ctx), func(lo, hi int) error {
		return distancesFit(dist[lo:hi], own.parent[lo:hi], own.base+uint64(lo))
	})
}

// checkDistances is that of Validator, for a block of a tile.
func (s *Spread) checkDistances(sc *scratch, c *columns) (count, bad int) {
	us, vs, ws := sc.U[:sc.N], sc.V[:sc.N], sc.W[:sc.N]
	if bad := max(gather(&sc.distU, s.own.dist, us), gather(&sc.distV, c.dist, vs)); bad >= 0 {
		return 0, bad
	}
	distU, distV := sc.distU[:sc.N], sc.distV[:sc.N]
	k := 0
	for i, dx := range distU {
		dy, w := distV[i], float32(ws[i])
		if dx < 0 || dy < 0 {
			if dx != dy {
				return count, i
			}
			continue
		}
		slackX, slackY := (dy+w)-dx, (dx+w)-dy
		if !(slackX >= 0 && slackY >= 0) {
			return count, i
		}
		count++
		sc.maybe[k&(edges.BlockSize-1)] = uint16(i)
		k += isZero(magnitude(slackX)) | isZero(magnitude(slackY))
	}
	s.confirmExact(sc, k, c)
	return count, -1
}

// confirmExact is confirmBlock for edges that must make up the difference of the distances, too.
func (s *Spread) confirmExact(sc *scratch, k int, c *columns) {
	for _, i := range sc.maybe[:k] {
		x, y, w := sc.U[i&(edges.BlockSize-1)], sc.V[i&(edges.BlockSize-1)], float32(sc.W[i&(edges.BlockSize-1)])
		if uint64(s.own.parent[x]) == y+c.base && s.own.dist[x] == c.dist[y]+w {
			confirm(s.own.confirmed, x)
		}
		if uint64(c.parent[y]) == x+s.own.base && c.dist[y] == s.own.dist[x]+w {
			confirm(c.confirmed, y)
		}
	}
}

// judgeDistances says what is wrong with a tuple that checkDistances did not like.
func judgeDistances(a, b *columns, x, y uint64, weight float64) *Violation {
	dx, dy := a.dist[x], b.dist[y]
	x, y = x+a.base, y+b.base
	if (dx < 0) != (dy < 0) {
		return leaves(x, y, dx < 0)
	}
	return shortcut(x, y, float32(weight), dx, dy)
}

// treeEdges says what is wrong with the edge from its parent of the least vertex whose tree edge nobody met, if there is
// one: rule 2 when there is such an edge, rule 5 when there is none.
func (s *Spread) treeEdges(ctx context.Context) error {
	own := &s.own
	mine := []uint64{math.MaxUint64, 0, 0}
	if x, bad := s.unconfirmed(); bad {
		mine = []uint64{own.base + x, uint64(own.parent[x]), uint64(math.Float32bits(own.dist[x]))}
	}
	first, err := s.talk.least(ctx, mine)
	if err != nil || first[0] == math.MaxUint64 {
		return err
	}
	x, p, dist := first[0], first[1], math.Float32frombits(uint32(first[2]))
	found := []uint64{s.lightest(x, p)}
	if found, err = s.talk.least(ctx, found); err != nil {
		return err
	}
	above := uint64(0)
	if i := p - own.base; p >= own.base && i < uint64(len(own.dist)) {
		above = uint64(math.Float32bits(own.dist[i]))
	}
	if above, err = s.talk.most(ctx, above); err != nil {
		return err
	}
	if found[0] == math.MaxUint64 {
		return violation(5, "no tuple joins vertex %d and its parent %d", x, p)
	}
	return violation(2, "vertex %d has distance %g, its parent %d has %g, and the lightest edge between them weighs %g",
		x, dist, p, math.Float32frombits(uint32(above)), math.Float64frombits(found[0]))
}

// lightest returns the bits of the least weight of the tuples here that join two vertices, or a greater number if there
// is none. Weights are not negative: rule 3 has seen to that.
func (s *Spread) lightest(x, p uint64) uint64 {
	least := uint64(math.MaxUint64)
	var b edges.Block
	for _, pair := range [][2]uint64{{x, p}, {p, x}} {
		u, v := pair[0]-s.own.base, pair[1]
		if pair[0] < s.own.base || u >= uint64(len(s.own.depth)) {
			continue
		}
		q := v / uint64(s.per)
		v -= q * uint64(s.per)
		for i := range edges.Blocks(s.tiles[q]) {
			_ = s.tiles[q].Read(i, &b) // which never fails: it is in memory
			for j, a := range b.U[:b.N] {
				if a == u && b.V[j] == v {
					least = min(least, math.Float64bits(b.W[j]+0))
				}
			}
		}
	}
	return least
}
