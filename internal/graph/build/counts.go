package build

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
)

// countsAtOnce is the number of counts that are encoded before the buffer grows.
const countsAtOnce = 1 << 14

// sendCounts sends the counts of other ends to the rank that owns their directory entries: the one
// step ranks after this. It adds the counts received from the rank step ranks before this to the
// rows. That rank will need the ids of the vertices whose counts are not 0.
func (b *builder) sendCounts(ctx context.Context, step int, there *counters) error {
	arena := &mem.Arena{Budget: b.o.Budget, Kind: mem.Loading}
	defer arena.Close()
	var data []byte
	for _, counts := range there.columns() {
		for some := range slices.Chunk(counts, countsAtOnce) {
			data = graph.AppendCounts(mem.Grow(arena, data, binary.MaxVarintLen32*(len(some)+1)),
				some)
		}
	}
	data, err := b.sendReceive(ctx, step, data, arena)
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
		return fmt.Errorf("counts from rank %d: %w: %d bytes after the last", from,
			collective.ErrMessage, len(data))
	}
	b.wanted[from] = wanted
	return nil
}

// appendWord appends a number to a message.
func appendWord(dst []byte, x uint64) []byte { return binary.LittleEndian.AppendUint64(dst, x) }
