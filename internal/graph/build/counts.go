package build

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

// sendCounts sends the counts of other ends to the rank that directs them, so many ranks on, and adds what comes from as many
// ranks back to the rows. Whose count is not 0 that rank will want the ids of.
func (b *builder) sendCounts(ctx context.Context, step int, there *counters) error {
	var data []byte
	for _, counts := range there.columns() {
		data = graph.AppendCounts(data, counts)
	}
	data, err := b.sendReceive(ctx, step, data)
	if err != nil {
		return err
	}
	from := (b.rank - step + b.ranks) % b.ranks
	wanted := mem.Make[uint64](b.tmp, bitmap.Words(b.sizes[b.rank]))
	for _, counts := range b.rows.columns() {
		add := func(i int, n uint32) {
			counts[i] += n
			bitmap.Set(wanted, uint32(i))
		}
		if data, err = graph.ReadCounts(data, len(counts), add); err != nil {
			return fmt.Errorf("counts from rank %d: %w", from, err)
		}
	}
	if len(data) > 0 {
		return fmt.Errorf("counts from rank %d: %w: %d bytes after the last", from, collective.ErrMessage, len(data))
	}
	b.wanted[from] = wanted
	return nil
}

// passed is how many bytes travel at a time between two ranks: a link may bound its messages.
const passed = 4 << 20

// sendReceive sends data to the rank so many ranks on, and returns what comes from as many ranks back.
func (b *builder) sendReceive(ctx context.Context, step int, data []byte) ([]byte, error) {
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
