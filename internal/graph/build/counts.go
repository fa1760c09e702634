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

// countsAtOnce is how many counts are encoded before there is to be room for more.
const countsAtOnce = 1 << 14

// sendCounts sends the counts of other ends to the rank that owns their directory entries, so many
// ranks on, and adds what comes from as many ranks back to the rows. Whose count is not 0 that rank
// will want the ids of.
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
