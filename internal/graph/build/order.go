package build

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

// noID stands for the id of what is not a vertex.
const noID = math.MaxUint32

// degreeRun is how many vertices of a degree have their entries with a rank.
type degreeRun struct {
	Degree uint32
	N      uint64
	rank   int
}

// order gives ids to the vertices of this range: their ranks among all by falling degree, of equals
// the smaller input id first. Hot vertices get small ids, so that the bits and values looked at
// most lie together (Nakao20, 3.2). Asked for the input's order, it keeps that. All ranks send how
// many vertices they have of each degree; a rank's vertices of a degree then follow one another.
func (b *builder) order(ctx context.Context) error {
	n := b.sizes[b.rank]
	tmp := &mem.Arena{Budget: b.o.Budget, Kind: mem.Loading}
	defer tmp.Close()
	kept := b.kept
	if b.tuples != nil { // the graph has both maps
		tmp, kept = b.parts.Arena(), b.parts.Arena()
	}
	degree := func(v uint32) uint32 {
		switch {
		case b.o.InputOrder:
			return 1
		case b.in.Directed:
			sum, over := bits.Add32(b.rows.out[v], b.rows.in[v], 0)
			return sum | -over // all that do not fit are the largest
		}
		return b.rows.out[v]
	}
	order, ids := mem.Make[uint32](tmp, n), mem.Make[uint32](kept, n)
	vertices := 0
	for v := range uint32(n) {
		if b.exists(v) {
			order[vertices] = v
			vertices++
		}
	}
	order = order[:vertices]
	graph.ByFallingDegree(order, ids[:vertices], degree)
	var mine []degreeRun
	for _, v := range order {
		d := degree(v)
		if k := len(mine); k > 0 && mine[k-1].Degree == d {
			mine[k-1].N++
		} else {
			mine = append(mine, degreeRun{Degree: d, N: 1})
		}
	}
	all, err := gather(ctx, b.group, b.call(), &mine)
	if err != nil {
		return err
	}
	var everybody []degreeRun
	for rank, runs := range all {
		for _, r := range runs {
			if r.N == 0 || r.N > graph.MaxVertices {
				return lied(rank, "%d vertices of a degree", r.N)
			}
			everybody = append(everybody, degreeRun{r.Degree, r.N, rank})
		}
	}
	slices.SortFunc(everybody, func(x, y degreeRun) int { return cmp.Or(cmp.Compare(y.Degree, x.Degree), cmp.Compare(x.rank, y.rank)) })
	for v := range ids {
		ids[v] = noID
	}
	next, mineLeft := uint64(0), order
	for _, d := range everybody {
		if next+d.N > graph.MaxVertices {
			return graph.TooManyVertices(next + d.N)
		}
		if d.rank == b.rank {
			run := mineLeft[:d.N]
			mineLeft = mineLeft[d.N:]
			b.team.For(len(run), 1<<14, func(_, lo, hi int) {
				for i, v := range run[lo:hi] {
					ids[v] = uint32(next) + uint32(lo+i)
				}
			})
		}
		next += d.N
		if d.Degree > 0 {
			b.g.Connected = int(next)
		}
	}
	b.g.N, b.ids = int(next), ids
	if b.tuples != nil {
		b.g.Order, b.g.IDs, b.g.TupleDegrees = order, ids, b.tuples.touched
	}
	return nil
}

// exists reports whether a place of this rank's range is a vertex.
func (b *builder) exists(v uint32) bool { return b.present == nil || bitmap.Get(b.present, v) }
