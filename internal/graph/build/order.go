package build

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// noID is the id for a place that is not a vertex.
const noID = math.MaxUint32

// degreeRun is the number of vertices of one degree in a rank's range.
type degreeRun struct {
	Degree uint32
	N      uint64
	rank   int
}

// order assigns ids to the vertices of this range: their positions among all vertices by falling
// degree, then by ascending input id. Frequently used vertices get small ids, so the most used bits
// and values are close together (Nakao20, 3.2). With InputOrder, it keeps the input's order. Each
// rank sends the number of its vertices of each degree. A rank's vertices of one degree get
// consecutive ids.
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
			return sum | -over // sums that overflow become the largest degree
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
	all, err := collective.Gather(ctx, b.group, b.call(), &mine)
	if err != nil {
		return err
	}
	var everybody []degreeRun
	for rank, runs := range all {
		for _, r := range runs {
			if r.N == 0 || r.N > graph.MaxVertices {
				return invalid(rank, "%d vertices of a degree", r.N)
			}
			everybody = append(everybody, degreeRun{r.Degree, r.N, rank})
		}
	}
	slices.SortStableFunc(everybody, // the runs of a degree are in the order of ranks
		func(x, y degreeRun) int { return cmp.Compare(y.Degree, x.Degree) })
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
	if err := b.deal(everybody); err != nil {
		return err
	}
	if b.tuples != nil {
		b.g.Order, b.g.IDs = order, ids
	}
	return nil
}

// deal decides how vertices are dealt to partitions, by the vertices' degrees, falling. A block of
// the highest degrees belongs to one partition, so the vertices of a graph with hubs are dealt one
// by one.
func (b *builder) deal(all []degreeRun) error {
	text, parts := b.o.Deal, uint64(len(b.owner))
	length := max(64, uint64(1)<<bits.Len64(uint64(b.g.N)/(parts*kernel.Stripes*64))>>1)
	if n := uint64(b.g.N); text == "" && !b.o.InputOrder && n <= math.MaxInt32 &&
		n >= length*parts*kernel.Stripes*4 {
		text = classes(all, length, parts)
	}
	deal, err := kernel.ParseDeal(len(b.owner), text)
	b.g.Deal, b.g.Options.Deal = deal, deal.String()
	return err
}

// classes returns the text of a deal of blocks of a length, or nothing if the first block has more
// than 1/16 of a partition's share of the edges.
func classes(all []degreeRun, length, parts uint64) string {
	text := fmt.Appendf(nil, "%d", length)
	var first, sum, end, blocks uint64
	for i, d := range all {
		first += min(d.N, length-min(length, end)) * uint64(d.Degree)
		sum += d.N * uint64(d.Degree)
		end += d.N
		if i+1 < len(all) && all[i+1].Degree == d.Degree {
			continue
		}
		if n := (end+length-1)/length - blocks; n > 0 {
			text = fmt.Appendf(text, "%c%d", ":,"[min(blocks, 1)], n)
			blocks += n
		}
	}
	if first*parts > sum/16 || bytes.Count(text, []byte{','}) >= kernel.MaxClasses {
		return ""
	}
	return string(text)
}

func (b *builder) exists(v uint32) bool { return b.present == nil || bitmap.Get(b.present, v) }
