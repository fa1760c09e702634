package snapshot

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/store"
)

// restore opens a stored partition of a graph. If the store has files
// they are mapped, and must not be changed while the arena is open. Every byte is checked by its
// checksum; graph.Restorer checks the content of the arrays.
func (o *opener) restore(ctx context.Context, i int, r *graph.Restorer) error {
	f := o.Parts[i]
	a, err := o.read(ctx, partitionKind, f)
	if err != nil {
		return err
	}
	switch p := a.header.Partition; {
	case p == nil:
		err = fmt.Errorf("found no partition, expected partition %d", i)
	case p.Index != i:
		err = fmt.Errorf("found partition %d, expected %d", p.Index, i)
	default:
		err = faultless(func() error { return errors.Join(r.Partition(*p, a), a.end()) })
	}
	return store.At(o.Store, f.Name, err)
}

// write stores the file, and sets its description in f.
func (m *image) write(ctx context.Context, s store.Store, f *File) error {
	if err := m.finish(); err != nil {
		return store.At(s, f.Name, err)
	}
	f.Size, f.Header = m.size(), crc32.Checksum(m.head, castagnoli)
	return s.Put(ctx, f.Name, m, f.Size)
}
