package snapshot

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/store"
)

// Part is a partition that was stored, in memory: its arrays are in an arena.
type Part struct {
	graph.Shape
	arrays *arrays
}

// OpenPart brings a partition into memory, which is that of arena. Where the store has files they
// are mapped, and must not be changed as long as the arena is open. Every byte is checked against
// its checksum; graph.Restorer checks what the arrays say.
func OpenPart(ctx context.Context, s store.Store, f File, id string, arena *mem.Arena, team *parallel.Team) (*Part, error) {
	a, err := read(ctx, s, partitionKind, f, id, arena, team)
	if err != nil {
		return nil, err
	}
	if a.header.Partition == nil {
		return nil, fmt.Errorf("%s: it is no partition", store.NameOf(s, f.Name))
	}
	return &Part{*a.header.Partition, a}, nil
}

// Restore makes the partition one of a graph.
func (p *Part) Restore(r *graph.Restorer) error {
	return faultless(func() error { return errors.Join(r.Partition(p.Shape, p.arrays), p.arrays.end()) })
}

// write stores the file, and notes what must be known of it.
func (m *image) write(ctx context.Context, s store.Store, f *File) error {
	if err := m.finish(); err != nil {
		return fmt.Errorf("%s: %w", store.NameOf(s, f.Name), err)
	}
	f.Size, f.Header = m.size(), crc32.Checksum(m.head, castagnoli)
	return s.Put(ctx, f.Name, m, f.Size)
}
