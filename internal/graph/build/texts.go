package build

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/names"
)

// takeNames sets the names of this rank's range. If the endpoints are names, it first numbers them.
func (b *builder) takeNames(ctx context.Context) (err error) {
	if b.in.Naming == edges.Texts {
		return b.numberNames(ctx)
	}
	b.names, err = newNames(ctx, b.group, b.call(), b.in.Names)
	b.in.Names = nil
	return err
}

// numberNames numbers vertices that the input identifies by names. Each rank has a dictionary of
// the names in its own tuples. All names together, in ascending order, are divided into pieces with
// about equal numbers of bytes. Each rank gets consecutive pieces: its range. In each round every
// rank sends every other rank its names of one piece of the receiver's range. The receiver merges
// the names, adds them to the dictionary of its range, and returns their places there. Only
// distinct names are sent, and a rank has at most its range, its own names and one piece in memory.
//
// A vertex's number, which is also its input id, is the position of its name among all names. It is
// the same as if one process read the whole file.
func (b *builder) numberNames(ctx context.Context) error {
	own := b.in.Names
	rounds, cuts, err := b.cutNames(ctx, own)
	if err != nil {
		return err
	}
	mem.Ask(mem.Names, 4*int64(own.Len()))
	x := &textExchange{b: b, own: own, rounds: rounds, bounds: make([]uint64,
		len(cuts)+2), places: make([]uint32, own.Len())}
	for i, text := range cuts {
		at, _ := own.Search(text)
		x.bounds[i+1] = max(at, x.bounds[i])
	}
	x.bounds[len(cuts)+1] = uint64(own.Len())
	for round := range rounds {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := x.round(ctx, round); err != nil {
			return err
		}
		b.progress("numbering the names", int64(round+1), int64(rounds))
	}
	b.in.Names = nil
	if b.names, err = newNames(ctx, b.group, b.call(), x.merged.Dictionary()); err != nil {
		return err
	}
	n := b.names.Len()
	if n > graph.MaxVertices {
		return graph.TooManyVertices(n)
	}
	for rank, first := range b.names.starts[:b.ranks] {
		for i := x.bounds[rank*rounds]; i < x.bounds[(rank+1)*rounds]; i++ {
			x.places[i] += uint32(first)
		}
	}
	b.in.Edges = renumbered{b.in.Edges, x.places}
	for i, place := range b.in.IDs {
		b.in.IDs[i] = uint64(x.places[place])
	}
	b.in.Naming, b.in.Vertices, b.in.Labels = edges.Numbers, int(n), edges.Labels{}
	b.all.largest, b.all.last = max(n, 1)-1, max(n, 1)-1
	return nil
}

// renumbered is a list of tuples whose endpoints are indices of a table of numbers.
type renumbered struct {
	edges.List
	numbers []uint32
}

// Read implements edges.List.
func (r renumbered) Read(i int, b *edges.Block) error {
	if err := r.List.Read(i, b); err != nil {
		return err
	}
	for j := range b.N {
		b.U[j], b.V[j] = uint64(r.numbers[b.U[j]]), uint64(r.numbers[b.V[j]])
	}
	return nil
}

// textExchange is a rank's part of numberNames.
type textExchange struct {
	b      *builder
	own    *names.Dictionary
	rounds int
	// Piece i of all pieces, those of rank 0 first, has the own names in [bounds[i], bounds[i+1]).
	bounds []uint64
	places []uint32 // of the own names, each in its range
	merged names.Builder
}

// round exchanges one piece of each rank's range.
func (x *textExchange) round(ctx context.Context, round int) error {
	b := x.b
	out := make([][]byte, b.ranks)
	for rank := range out {
		at := rank*x.rounds + round
		out[rank] = x.own.AppendPiece(nil, x.bounds[at], x.bounds[at+1])
	}
	in, err := b.group.Alltoall(ctx, b.call(), out)
	if err != nil {
		return err
	}
	back, err := mergePieces(&x.merged, in)
	if err != nil {
		return err
	}
	if in, err = b.group.Alltoall(ctx, b.call(), back); err != nil {
		return err
	}
	for rank, data := range in {
		at := rank*x.rounds + round
		if err := decodePlaces(x.places[x.bounds[at]:x.bounds[at+1]], data); err != nil {
			return fmt.Errorf("from rank %d: %w", rank, err)
		}
	}
	return nil
}

// mergePieces adds the names of pieces, one from each rank, to a dictionary in ascending order. It
// returns for each rank the places of its names there, as varints: the first place, and then
// differences.
func mergePieces(to *names.Builder, pieces [][]byte) ([][]byte, error) {
	readers, back := make([]*names.Reader, len(pieces)), make([][]byte, len(pieces))
	before := make([]int, len(pieces))
	var waiting []int // ranks with names left, in descending order of their next name
	order := func(a, z int) int {
		return cmp.Or(bytes.Compare(readers[z].Name(), readers[a].Name()), cmp.Compare(z, a))
	}
	next := func(rank int) error {
		more, err := readers[rank].Next()
		if err != nil {
			return fmt.Errorf("from rank %d: %w: %w", rank, collective.ErrMessage, err)
		}
		if more {
			at, _ := slices.BinarySearchFunc(waiting, rank, order)
			waiting = slices.Insert(waiting, at, rank)
		}
		return nil
	}
	for rank, data := range pieces {
		var err error
		if readers[rank], err = names.NewReader(data); err != nil {
			return nil, fmt.Errorf("from rank %d: %w: %w", rank, collective.ErrMessage, err)
		}
		if err := next(rank); err != nil {
			return nil, err
		}
	}
	var last []byte
	for len(waiting) > 0 {
		rank := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		if name := readers[rank].Name(); to.Len() == 0 || !bytes.Equal(name, last) {
			if to.Len() == graph.MaxVertices {
				return nil, graph.TooManyVertices(uint64(to.Len()) + 1)
			}
			if err := to.Add(name); err != nil {
				return nil, fmt.Errorf("from rank %d: %w: %w", rank, collective.ErrMessage, err)
			}
			last = append(last[:0], name...)
		}
		place := to.Len() - 1
		back[rank] = binary.AppendUvarint(back[rank], uint64(place-before[rank]))
		before[rank] = place
		if err := next(rank); err != nil {
			return nil, err
		}
	}
	return back, nil
}

// decodePlaces decodes len(places) ascending places.
func decodePlaces(places []uint32, data []byte) error {
	place := uint64(0)
	for i := range places {
		more, n := binary.Uvarint(data)
		if n <= 0 || more > graph.MaxVertices || i > 0 && more == 0 ||
			place+more >= graph.MaxVertices {
			return fmt.Errorf("%w: name %d of %d has no place", collective.ErrMessage, i,
				len(places))
		}
		place += more
		places[i], data = uint32(place), data[n:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%w: %d bytes after the places of %d names", collective.ErrMessage,
			len(data), len(places))
	}
	return nil
}

// Limits of the sample that a rank sends of its names: the number of texts, and the bytes of each.
const (
	textSamples = 1024
	textBytes   = 256
)

// textPoint is a text between two of a rank's names, with the number of bytes of the names from
// there to the next point.
type textPoint struct {
	Text   []byte
	Weight uint64
}

// cutNames returns the number of pieces of each rank's range, and the texts at which all pieces
// except the first begin. It uses samples of all ranks.
func (b *builder) cutNames(
	ctx context.Context, own *names.Dictionary,
) (rounds int, cuts [][]byte, err error) {
	mine := sampleNames(own)
	all, err := collective.Gather(ctx, b.group, b.call(), &mine)
	if err != nil {
		return 0, nil, err
	}
	for rank, points := range all {
		for _, p := range points {
			if p.Weight > maxWeight {
				return 0, nil, invalid(rank, "%d bytes of names", p.Weight)
			}
		}
	}
	cuts = cutPoints(slices.Concat(all...), b.ranks)
	return (len(cuts) + 1) / b.ranks, cuts, nil
}

// sampleNames returns texts between a rank's names at about equal distances in bytes. Each is the
// shortest text that is greater than the previous name and not greater than the next one, or the
// first textBytes of the next one.
func sampleNames(d *names.Dictionary) (points []textPoint) {
	n, total := uint64(d.Len()), uint64(0)
	for c := d.Cursor(0, n); c.Next(); {
		total += uint64(len(c.Name()))
	}
	var before []byte
	every := max(total/textSamples, 1)
	since := every // the first name begins a point
	for c := d.Cursor(0, n); c.Next(); {
		name := c.Name()
		if since >= every {
			k := 0
			for k < min(len(before), len(name), textBytes-1) && before[k] == name[k] {
				k++
			}
			text := bytes.Clone(name[:min(k+1, len(name))])
			points, since = append(points, textPoint{Text: text}), 0
		}
		since += uint64(len(name))
		points[len(points)-1].Weight += uint64(len(name))
		before = append(before[:0], name...)
	}
	return points
}

// cutPoints returns the texts at which the pieces of all ranks' ranges begin, except the first.
// Each piece has about textRound bytes of all ranks together.
func cutPoints(points []textPoint, ranks int) [][]byte {
	slices.SortFunc(points, func(a, z textPoint) int { return bytes.Compare(a.Text, z.Text) })
	total := uint64(0)
	for _, p := range points {
		total += p.Weight
	}
	rounds := int(total/uint64(ranks)/uint64(limits.textRound)) + 1
	pieces := ranks * max(min(rounds, len(points)/ranks), 1)
	cuts := make([][]byte, 0, pieces-1)
	next, before := 0, uint64(0)
	var cut []byte
	for i := 1; i < pieces; i++ {
		goal := uint64(float64(total) / float64(pieces) * float64(i))
		for next < len(points) && before < goal {
			before += points[next].Weight
			next++
		}
		if next < len(points) {
			cut = points[next].Text
		}
		cuts = append(cuts, cut)
	}
	return cuts
}

// maxWeight limits the bytes of names that a point of a sample represents, so that sums do not
// overflow.
const maxWeight = 1 << 50
