package validate

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/wire"
)

// Spread judges searches like [Validator], where tuples and results are shared by the ranks of a group. Each has a range
// of the vertices, as many as any other, and no more of the results than its own range and one other at a time.
//
// When it is made, every tuple goes to a rank that has one of its endpoints, into the tile of the rank that has the
// other. For each search the results then go round: in step k rank r has its own and those of rank r+k, which is all that
// its tile r+k asks for.
//
//	        v of rank 0   of rank 1   of rank 2
//	rank 0     step 0       step 1      step 2        u is of the rank that has the tile
//	rank 1     step 2       step 0      step 1
//	rank 2     step 1       step 2      step 0
//
// A tree edge is confirmed by whoever meets it; a bit for each vertex of the other range goes back after the step.
//
// Making one and judging are collective: all ranks must call the same methods in the same order. All of them find the
// same result or the same violation.
type Spread struct {
	talk     talk
	n, per   int
	weighted bool
	tiles    []*edges.Packed // by the rank of v; both endpoints count from the first vertex of their ranges
	team     *parallel.Team

	own, other columns
	back       []uint64 // what another rank confirmed of the own vertices
	scratch    []scratch
	arena      *mem.Arena
}

// columns are what the ranks know of the vertices of one of them.
type columns struct {
	base      uint64 // the first vertex
	parent    []uint32
	depth     []uint32
	dist      []float32
	tags      []uint16
	confirmed []uint64
}

// Tags is how many tags of its group a Spread takes, from the one it is given on.
const Tags = 3

// NewSpread makes the validator of a graph of n vertices, n < 2^32 - 2. list is this rank's share of the tuples, which
// begins with the given number of the whole list; it is not needed afterwards. Beside the tuples Spread holds some 17
// bytes for each vertex of its range until it is closed.
func NewSpread(ctx context.Context, group *collective.Group, tag uint32, list edges.List, first, n int, team *parallel.Team) (*Spread, error) {
	if n < 0 || n >= int(pending) {
		return nil, fmt.Errorf("a validator of %d vertices: at most %d are possible", n, pending-1)
	}
	ranks, rank := group.Link().Size(), group.Link().Rank()
	s := &Spread{
		talk: talk{group, tag}, n: n, per: max((n+ranks-1)/ranks, 1), weighted: list.Weighted(), team: team,
		arena: new(mem.Arena), scratch: make([]scratch, team.Size()),
	}
	words := bitmap.Words(s.per)
	own := s.size(rank)
	s.own = columns{
		base: uint64(s.per) * uint64(rank), depth: mem.Make[uint32](s.arena, own), tags: mem.Make[uint16](s.arena, own),
		confirmed: mem.Make[uint64](s.arena, words),
	}
	// What another rank's columns are received in also serves to climb, which needs two words a vertex.
	s.other = columns{parent: mem.Make[uint32](s.arena, s.per), depth: mem.Make[uint32](s.arena, s.per)}
	s.other.dist = wire.Slice[float32](wire.Bytes(s.other.depth)) // one search needs one of the two
	if ranks > 1 {
		s.other.tags, s.other.confirmed = mem.Make[uint16](s.arena, s.per), mem.Make[uint64](s.arena, words)
		s.back = mem.Make[uint64](s.arena, words)
	}
	if err := s.deal(ctx, list, first); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close frees the validator, which must not be used afterwards. Close is idempotent.
func (s *Spread) Close() {
	for _, t := range s.tiles {
		if t != nil {
			t.Close()
		}
	}
	s.arena.Close()
	s.tiles, s.own, s.other, s.back = nil, columns{}, columns{}, nil
}

// Range returns the first vertex of a rank's range, and the one after its last.
func (s *Spread) Range(rank int) (lo, hi int) {
	lo = min(rank*s.per, s.n)
	return lo, lo + s.size(rank)
}

// Per returns how many vertices each range has; those of the last ranks may have fewer.
func (s *Spread) Per() int { return s.per }

func (s *Spread) size(rank int) int { return min(max(s.n-rank*s.per, 0), s.per) }

// BFS judges a breadth-first tree by the rules of [Validator.BFS]. parent is of this rank's range; its elements are
// numbers of the whole graph, or [Unreached].
func (s *Spread) BFS(ctx context.Context, root uint64, parent []uint32) (Result, error) {
	reached, err := s.begin(ctx, root, parent)
	if err != nil {
		return Result{}, err
	}
	deepest, err := s.climb(ctx, reached)
	if err != nil {
		return Result{}, err
	}
	var count int64
	if deepest <= maxTagDepth {
		count, err = s.round(ctx, wire.Bytes(s.own.tags), wire.Bytes(s.other.tags), s.checkTags, judgeLevels((*columns).tagDepth))
	} else {
		count, err = s.round(ctx, wire.Bytes(s.own.depth), wire.Bytes(s.other.depth), s.checkDepths, judgeLevels((*columns).exactDepth))
	}
	if err != nil {
		return Result{}, err
	}
	var found error
	if x, bad := s.unconfirmed(); bad {
		found = violation(5, "no tuple joins vertex %d and its parent %d", s.own.base+x, s.own.parent[x])
	}
	if err := s.talk.verdict(ctx, found); err != nil {
		return Result{}, err
	}
	return Result{count, int(deepest) + 1, int64(reached)}, nil
}

// checkTags is that of Validator, for a block of a tile.
func (s *Spread) checkTags(sc *scratch, c *columns) (count, bad int) {
	us, vs := sc.U[:sc.N], sc.V[:sc.N]
	if bad := max(gather(&sc.tagU, s.own.tags, us), gather(&sc.tagV, c.tags, vs)); bad >= 0 {
		return 0, bad
	}
	tagU, tagV := sc.tagU[:sc.N], sc.tagV[:sc.N]
	k := 0
	for i, x := range us {
		tx, ty := uint64(tagU[i]), uint64(tagV[i])
		if tx>>parentBits-ty>>parentBits+1 > 2 {
			return count, i
		}
		if tx < tagNotReached<<parentBits {
			count++
		}
		sc.maybe[k&(edges.BlockSize-1)] = uint16(i)
		k += isZero((tx^(vs[i]+c.base))&parentMask) | isZero((ty^(x+s.own.base))&parentMask)
	}
	s.confirmBlock(sc, k, c)
	return count, -1
}

// checkDepths is checkTags for trees too deep for tags.
func (s *Spread) checkDepths(sc *scratch, c *columns) (count, bad int) {
	k := 0
	for i, x := range sc.U[:sc.N] {
		y := sc.V[i]
		if x >= uint64(len(s.own.depth)) || y >= uint64(len(c.depth)) {
			return count, i
		}
		dx, dy := s.own.depth[x], c.depth[y]
		if dx-dy+1 > 2 || (dx == notReached) != (dy == notReached) {
			return count, i
		}
		if dx != notReached {
			count++
			sc.maybe[k] = uint16(i)
			k++
		}
	}
	s.confirmBlock(sc, k, c)
	return count, -1
}

// judgeLevels returns what says of a tuple that checkTags or checkDepths did not like what is wrong with it.
func judgeLevels(depth func(c *columns, x uint64) uint32) judgeTile {
	return func(a, b *columns, x, y uint64, _ float64) *Violation {
		dx, dy := depth(a, x), depth(b, y)
		x, y = x+a.base, y+b.base
		if (dx == notReached) != (dy == notReached) {
			return leaves(x, y, dx == notReached)
		}
		return steep(x, y, dx, dy)
	}
}

func (c *columns) exactDepth(x uint64) uint32 { return c.depth[x] }

func (c *columns) tagDepth(x uint64) uint32 {
	if depth := c.tags[x] >> parentBits; depth != tagNotReached {
		return uint32(depth)
	}
	return notReached
}

// confirmBlock confirms the tree edges of sc among the first k of sc.maybe.
func (s *Spread) confirmBlock(sc *scratch, k int, c *columns) {
	for _, i := range sc.maybe[:k] {
		x, y := sc.U[i&(edges.BlockSize-1)], sc.V[i&(edges.BlockSize-1)]
		if uint64(s.own.parent[x]) == y+c.base {
			confirm(s.own.confirmed, x)
		}
		if uint64(c.parent[y]) == x+s.own.base {
			confirm(c.confirmed, y)
		}
	}
}

// unconfirmed returns the least own vertex, counted from the first, that is in the tree by an edge nobody met.
func (s *Spread) unconfirmed() (uint64, bool) {
	for x, depth := range s.own.depth {
		if depth != notReached && !bitmap.Get(s.own.confirmed, uint32(x)) {
			return uint64(x), true
		}
	}
	return 0, false
}
