package build

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

// noID stands for the id of what is not a vertex.
const noID = math.MaxUint32

// degreeRun is how many vertices of a degree have their entries with a rank.
type degreeRun struct {
	degree uint32
	rank   int
	n      uint64
}

// order gives ids to the vertices of this range: their ranks among all by falling degree, of equals
// the smaller input id first. Hot vertices get small ids, so that the bits and values looked at
// most lie together (Nakao20, 3.2). Asked for the input's order, it keeps that. All ranks send how
// many vertices they have of each degree; a rank's vertices of a degree then follow one another.
func (b *builder) order(ctx context.Context) error {
	n := b.sizes[b.rank]
	tmp := &mem.Arena{Meter: b.o.Meter, Kind: mem.Loading}
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
		if k := len(mine); k > 0 && mine[k-1].degree == d {
			mine[k-1].n++
		} else {
			mine = append(mine, degreeRun{d, b.rank, 1})
		}
	}
	all, err := b.group.Allgather(ctx, b.call(), encodeRuns(mine))
	if err != nil {
		return err
	}
	var everybody []degreeRun
	for rank, data := range all {
		if everybody, err = decodeRuns(everybody, rank, data); err != nil {
			return fmt.Errorf("degrees from rank %d: %w", rank, err)
		}
	}
	slices.SortFunc(everybody, func(x, y degreeRun) int { return cmp.Or(cmp.Compare(y.degree, x.degree), cmp.Compare(x.rank, y.rank)) })
	for v := range ids {
		ids[v] = noID
	}
	next, mineLeft := uint64(0), order
	for _, d := range everybody {
		if next+d.n > graph.MaxVertices {
			return graph.TooManyVertices(next + d.n)
		}
		if d.rank == b.rank {
			run := mineLeft[:d.n]
			mineLeft = mineLeft[d.n:]
			b.team.For(len(run), 1<<14, func(_, lo, hi int) {
				for i, v := range run[lo:hi] {
					ids[v] = uint32(next) + uint32(lo+i)
				}
			})
		}
		next += d.n
		if d.degree > 0 {
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

// encodeRuns encodes falling degrees and how many vertices have each, as varints.
func encodeRuns(all []degreeRun) []byte {
	var data []byte
	for _, d := range all {
		data = binary.AppendUvarint(binary.AppendUvarint(data, uint64(d.degree)), d.n)
	}
	return data
}

// decodeRuns appends what a rank has encoded.
func decodeRuns(dst []degreeRun, rank int, data []byte) ([]degreeRun, error) {
	for len(data) > 0 {
		degree, i := binary.Uvarint(data)
		n, j := binary.Uvarint(data[max(i, 0):])
		if i <= 0 || j <= 0 || degree > math.MaxUint32 || n == 0 || n > math.MaxUint32 {
			return nil, fmt.Errorf("%w: neither a degree nor a number of vertices",
				collective.ErrMessage)
		}
		dst = append(dst, degreeRun{uint32(degree), rank, n})
		data = data[i+j:]
	}
	return dst, nil
}
