package build

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/graph"
)

// inputError is what the input itself says is wrong: it names the file.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// ofInput marks an error as one that the input has said.
func ofInput(err error) error {
	if err == nil {
		return nil
	}
	return inputError{err}
}

// named says which graph an error is about, unless the error does.
func named(graph string, err error) error {
	if told := (inputError{}); errors.As(err, &told) {
		return told.error
	}
	return fmt.Errorf("%s: %w", graph, err)
}

// label returns the input id of a place of this rank's range.
func (b *builder) label(v uint32) uint64 {
	if b.labels != nil {
		return b.labels.IDs()[v]
	}
	return b.in.Labels.Of(b.ranges.starts[b.rank] + uint64(v))
}

// found takes note of an edge between two places that occurs more than once.
func (b *builder) found(u, v uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := []uint64{u, v}; b.duplicate == nil || slices.Compare(p, b.duplicate) < 0 {
		b.duplicate = p
	}
}

// refuse fails if any rank has found an edge more than once and that is not wanted: with the least
// of them. The rank that owns the entry of an end knows its id.
func (b *builder) refuse(ctx context.Context) error {
	if b.o.Duplicates != graph.RefuseDuplicates {
		return nil
	}
	ids, err := ask(ctx, b.group, b.call(), b.duplicate, b.places.of, func(place uint64) uint64 {
		return b.label(uint32(place - b.places.starts[b.rank]))
	})
	if err != nil {
		return err
	}
	all, err := gather(ctx, b.group, b.call(), &ids)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(edge []uint64) bool { return len(edge) != 2 })
	if len(all) == 0 {
		return nil
	}
	least := slices.MinFunc(all, slices.Compare[[]uint64])
	return fmt.Errorf("edge %d-%d occurs more than once", least[0], least[1])
}
