package spread

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/mem"
)

// tell sends the counts of other ends to the rank that directs them, so many ranks on, and adds what comes from as many
// ranks back to the rows. Whose count is not 0 that rank will want the ids of.
func (b *builder) tell(ctx context.Context, step int, there *tally) error {
	var data []byte
	for _, counts := range there.columns() {
		data = appendCounts(data, counts)
	}
	data, err := b.pass(ctx, step, data)
	if err != nil {
		return err
	}
	from := (b.rank - step + b.ranks) % b.ranks
	wanted := mem.Make[uint64](b.tmp, bitmap.Words(b.sizes[b.rank]))
	for _, counts := range b.rows.columns() {
		if data, err = addCounts(data, counts, wanted); err != nil {
			return fmt.Errorf("counts from rank %d: %w", from, err)
		}
	}
	if len(data) > 0 {
		return fmt.Errorf("counts from rank %d: %w: %d bytes after the last", from, collective.ErrMessage, len(data))
	}
	b.wanted[from] = wanted
	return nil
}

// appendCounts encodes counts as varints, with runs of zeros as 0 and how many there are.
func appendCounts(dst []byte, counts []uint32) []byte {
	for i := 0; i < len(counts); {
		if counts[i] > 0 {
			dst = binary.AppendUvarint(dst, uint64(counts[i]))
			i++
			continue
		}
		run := i
		for i < len(counts) && counts[i] == 0 {
			i++
		}
		dst = binary.AppendUvarint(append(dst, 0), uint64(i-run))
	}
	return dst
}

// addCounts adds encoded counts to others, marks those that are not 0, and returns the bytes after them.
func addCounts(data []byte, counts []uint32, marks []uint64) ([]byte, error) {
	for i := 0; i < len(counts); {
		x, n := binary.Uvarint(data)
		if n <= 0 || x > math.MaxUint32 {
			return nil, fmt.Errorf("%w: no count of vertex %d of %d", collective.ErrMessage, i, len(counts))
		}
		data = data[n:]
		if x > 0 {
			counts[i] += uint32(x)
			bitmap.Set(marks, uint32(i))
			i++
			continue
		}
		x, n = binary.Uvarint(data)
		if n <= 0 || x == 0 || x > uint64(len(counts)-i) {
			return nil, fmt.Errorf("%w: zeros at vertex %d of %d", collective.ErrMessage, i, len(counts))
		}
		data = data[n:]
		i += int(x)
	}
	return data, nil
}

// passed is how many bytes travel at a time between two ranks: a link may bound its messages.
const passed = 4 << 20

// pass sends data to the rank so many ranks on, and returns what comes from as many ranks back.
func (b *builder) pass(ctx context.Context, step int, data []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	link, to, from := b.group.Link(), (b.rank+step)%b.ranks, (b.rank-step+b.ranks)%b.ranks
	sent := make(chan error, 1)
	go func() {
		err := link.Send(ctx, to, b.tag+2, binary.LittleEndian.AppendUint64(nil, uint64(len(data))))
		for rest := data; err == nil && len(rest) > 0; rest = rest[min(passed, len(rest)):] {
			err = link.Send(ctx, to, b.tag+2, rest[:min(passed, len(rest))])
		}
		sent <- err
	}()
	in, err := b.receive(ctx, from)
	if err != nil {
		cancel()
	}
	if failed := <-sent; err == nil && failed != nil {
		err = fmt.Errorf("send to rank %d: %w", to, failed)
	}
	return in, err
}

// receive returns what another rank passes.
func (b *builder) receive(ctx context.Context, from int) ([]byte, error) {
	link := b.group.Link()
	head, err := link.Receive(ctx, from, b.tag+2)
	if err != nil {
		return nil, fmt.Errorf("receive from rank %d: %w", from, err)
	}
	if len(head) != 8 {
		return nil, fmt.Errorf("from rank %d: %w: expected a size, not %d bytes", from, collective.ErrMessage, len(head))
	}
	size := binary.LittleEndian.Uint64(head)
	var in []byte
	for uint64(len(in)) < size {
		part, err := link.Receive(ctx, from, b.tag+2)
		if err != nil {
			return nil, fmt.Errorf("receive from rank %d: %w", from, err)
		}
		if want := min(size-uint64(len(in)), passed); uint64(len(part)) != want {
			return nil, fmt.Errorf("from rank %d: %w: %d bytes, expected %d", from, collective.ErrMessage, len(part), want)
		}
		if in == nil && uint64(len(part)) == size {
			return part, nil
		}
		in = append(in, part...)
	}
	return in, nil
}

// appendWord and words are numbers as messages have them.
func appendWord(dst []byte, x uint64) []byte { return binary.LittleEndian.AppendUint64(dst, x) }

func words(data []byte, n int) ([]uint64, error) {
	if len(data) != 8*n {
		return nil, fmt.Errorf("%w: %d bytes for %d numbers", collective.ErrMessage, len(data), n)
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	return all, nil
}

// encodePoints and decodePoints are a sample as a message.
func encodePoints(points []point) []byte {
	var data []byte
	for _, p := range points {
		data = appendWord(appendWord(data, p.id), p.cost)
	}
	return data
}

func decodePoints(data []byte, end uint64) ([]point, error) {
	all, err := words(data, len(data)/16*2)
	if err != nil {
		return nil, err
	}
	points := make([]point, len(all)/2)
	for i := range points {
		points[i] = point{all[2*i], all[2*i+1]}
		if points[i].id >= end {
			return nil, fmt.Errorf("%w: id %d is not below %d", collective.ErrMessage, points[i].id, end)
		}
	}
	return points, nil
}
