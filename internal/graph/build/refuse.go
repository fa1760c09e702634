package build

import (
	"context"
	"errors"
	"fmt"

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

// found takes note of an edge that occurs more than once.
func (b *builder) found(p pair) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.duplicate == nil || p.before(*b.duplicate) {
		b.duplicate = &p
	}
}

// refuse fails if any rank has found an edge more than once and that is not wanted: with the least
// of them.
func (b *builder) refuse(ctx context.Context) error {
	if b.o.Duplicates != graph.RefuseDuplicates {
		return nil
	}
	var data []byte
	if mine := b.duplicate; mine != nil {
		for _, v := range []vertex{mine.u, mine.v} {
			data = appendWord(appendWord(data, uint64(v.rank)), uint64(v.local))
		}
	}
	all, err := b.group.Allgather(ctx, b.call(), data)
	if err != nil {
		return err
	}
	var least *pair
	for rank, data := range all {
		if len(data) == 0 {
			continue
		}
		w, err := words(data, 4)
		if err != nil {
			return fmt.Errorf("from rank %d: %w", rank, err)
		}
		p := pair{vertex{int(w[0]), uint32(w[1])}, vertex{int(w[2]), uint32(w[3])}}
		if least == nil || p.before(*least) {
			least = &p
		}
	}
	if least == nil {
		return nil
	}
	// The rank that owns the entry of an end knows its id.
	data = nil
	for _, v := range []vertex{least.u, least.v} {
		id := uint64(0)
		if v.rank == b.rank {
			id = b.label(v.local)
		}
		data = appendWord(data, id)
	}
	if all, err = b.group.Allgather(ctx, b.call(), data); err != nil {
		return err
	}
	var ids [2]uint64
	for i, v := range []vertex{least.u, least.v} {
		if v.rank < 0 || v.rank >= len(all) {
			return fmt.Errorf("an edge of rank %d", v.rank)
		}
		w, err := words(all[v.rank], 2)
		if err != nil {
			return fmt.Errorf("from rank %d: %w", v.rank, err)
		}
		ids[i] = w[i]
	}
	return fmt.Errorf("edge %d-%d occurs more than once", ids[0], ids[1])
}
