package build

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
)

// inputError is an error that the input has returned, so it includes the file.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// ofInput marks an error as returned by the input.
func ofInput(err error) error {
	if err == nil {
		return nil
	}
	return inputError{err}
}

// named adds the graph's name to an error, unless the error comes from the input.
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

// found records an edge between two places that occurs more than once.
func (b *builder) found(u, v uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := []uint64{u, v}; b.duplicate == nil || slices.Compare(p, b.duplicate) < 0 {
		b.duplicate = p
	}
}

// refuse returns an error if duplicates are not allowed and any rank has found an edge more than
// once. The error is about the least such edge. It asks the owners of the entries for the input ids
// of the ends.
func (b *builder) refuse(ctx context.Context) error {
	if b.o.Duplicates != graph.RefuseDuplicates {
		return nil
	}
	of := func(place uint64) int {
		if place >= b.places.end {
			return -1
		}
		return b.places.of(place)
	}
	ids, err := askNumbers(ctx, b.group, b.call(), b.duplicate, of, func(place uint64) uint64 {
		return b.label(uint32(place - b.places.starts[b.rank]))
	})
	if err != nil {
		return err
	}
	all, err := collective.Gather(ctx, b.group, b.call(), &ids)
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
