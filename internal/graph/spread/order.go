package spread

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

// noID stands for the id of what is not a vertex.
const noID = math.MaxUint32

// degrees is how many vertices of a degree a rank directs.
type degrees struct {
	degree uint32
	rank   int
	n      uint64
}

// order gives ids to the vertices directed here: their ranks among all by falling degree, of equals the smaller input id
// first. All ranks tell how many vertices they have of each degree; a rank's vertices of a degree then follow one another.
func (b *builder) order(ctx context.Context) error {
	n := b.sizes[b.rank]
	arena := &mem.Arena{Meter: b.o.Meter}
	defer arena.Close()
	degree := func(v uint32) uint32 {
		if b.in.Directed {
			return b.rows.out[v] + b.rows.in[v]
		}
		return b.rows.out[v]
	}
	order, spare := mem.Make[uint32](arena, n), mem.Make[uint32](arena, n)
	vertices := 0
	for v := range uint32(n) {
		if b.exists(v) {
			order[vertices] = v
			vertices++
		}
	}
	order = order[:vertices]
	if graph.ByFallingDegree(order, spare[:vertices], degree) {
		order = spare[:vertices]
	}
	var mine []degrees
	for _, v := range order {
		d := degree(v)
		if k := len(mine); k > 0 && mine[k-1].degree == d {
			mine[k-1].n++
		} else {
			mine = append(mine, degrees{d, b.rank, 1})
		}
	}
	all, err := b.group.Allgather(ctx, b.call(), encodeDegrees(mine))
	if err != nil {
		return err
	}
	var everybody []degrees
	for rank, data := range all {
		if everybody, err = decodeDegrees(everybody, rank, data); err != nil {
			return fmt.Errorf("degrees from rank %d: %w", rank, err)
		}
	}
	slices.SortFunc(everybody, func(x, y degrees) int { return cmp.Or(cmp.Compare(y.degree, x.degree), cmp.Compare(x.rank, y.rank)) })
	b.ids = mem.Make[uint32](b.kept, n)
	for v := range b.ids {
		b.ids[v] = noID
	}
	next, at := uint64(0), 0
	for _, d := range everybody {
		if next+d.n > graph.MaxVertices {
			return graph.TooManyVertices(next + d.n)
		}
		if d.rank == b.rank {
			for i := range d.n {
				b.ids[order[at]] = uint32(next + i)
				at++
			}
		}
		next += d.n
		if d.degree > 0 {
			b.connected = int(next)
		}
	}
	b.n = int(next)
	return nil
}

// exists reports whether a place of this rank's range is a vertex.
func (b *builder) exists(v uint32) bool { return b.present == nil || bitmap.Get(b.present, v) }

// encodeDegrees encodes falling degrees and how many vertices have each, as varints.
func encodeDegrees(all []degrees) []byte {
	var data []byte
	for _, d := range all {
		data = binary.AppendUvarint(binary.AppendUvarint(data, uint64(d.degree)), d.n)
	}
	return data
}

// decodeDegrees appends what a rank has encoded.
func decodeDegrees(dst []degrees, rank int, data []byte) ([]degrees, error) {
	for len(data) > 0 {
		degree, i := binary.Uvarint(data)
		n, j := binary.Uvarint(data[max(i, 0):])
		if i <= 0 || j <= 0 || degree > math.MaxUint32 || n == 0 || n > math.MaxUint32 {
			return nil, fmt.Errorf("%w: neither a degree nor a number of vertices", collective.ErrMessage)
		}
		dst = append(dst, degrees{uint32(degree), rank, n})
		data = data[i+j:]
	}
	return dst, nil
}
