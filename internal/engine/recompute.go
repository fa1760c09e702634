package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/transport"
)

// Again is a superstep that partitions compute again: as it was commanded, what other partitions had sent these, and what was reported of them.
type Again struct {
	Command *bsp.Command
	Sent    []*transport.Frame
	Marks   map[int]bsp.Mark // by partition
}

// Recompute has the partitions of a job, which has not begun, compute again what they had computed since a checkpoint, up to a superstep, and adds their
// states before that one to a copy. next returns the supersteps one after the other. It fails if the partitions do not do what they did.
func Recompute(ctx context.Context, j Bound, of int, from *checkpoint.Reader, until int, next func(superstep int) (*Again, error), to *checkpoint.Borders) error {
	replay := transport.NewReplay(of, j.Own())
	defer replay.Close()
	if err := j.Begin(ctx, replay.Endpoint, replay.Close); err != nil {
		return err
	}
	if err := j.Restore(ctx, from); err != nil {
		return err
	}
	aggregates := j.Aggregates()
	for s := from.Own(); s < until; s++ {
		again, err := next(s)
		if err != nil {
			return err
		}
		replay.Begin(again.Sent)
		reports, err := j.Superstep(ctx, again.Command)
		if err != nil {
			return fmt.Errorf("superstep %d: %w", s, err)
		}
		for _, r := range reports {
			aggregates.Reset(r.Cells) // the totals are in the commands
			if was, is := again.Marks[r.Partition.Partition], bsp.MarkOf(r); was != is {
				return fmt.Errorf("superstep %d: partition %d did not do what it did before: %v, and it was %v", s, r.Partition.Partition, is, was)
			}
		}
	}
	return j.CopyTo(to, until)
}

// CopyTo adds copies of the states of all partitions, which are before a superstep.
func (j *Job[V, M]) CopyTo(b *checkpoint.Borders, superstep int) error {
	for _, r := range j.runners {
		if err := r.copyTo(b, superstep); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner[V, M]) copyTo(b *checkpoint.Borders, superstep int) error {
	p, err := r.copyOf(superstep, true)
	if err != nil {
		return fmt.Errorf("superstep %d: a copy of the state of partition %d: %w", superstep, r.part.Index, err)
	}
	b.Add(p)
	return nil
}

// Recomputable returns why some partitions cannot be computed again by themselves, with the same result as before, or nil.
func (j *Job[V, M]) Recomputable() error {
	m, t := j.methods, j.runners[0].traits
	switch {
	case m.plan != nil || j.options.Shared != nil:
		return errors.New("it has a plan of phases")
	case m.list != nil:
		return errors.New("it is a list program")
	case m.mutates():
		return errors.New("it changes the graph")
	case m.before != nil || m.after != nil:
		return errors.New("it has a method that is called before or after supersteps of a partition")
	case m.hasState():
		return errors.New("it has a state of its own")
	case !t.Raw:
		return errors.New("its messages hold pointers")
	case !j.runners[0].part.Grid.Flat():
		return fmt.Errorf("the grid %v is not flat", j.runners[0].part.Grid)
	case !j.options.Deterministic && t.Ordered:
		return fmt.Errorf("the result depends on the order of messages (%v), and the run is not deterministic", m.combiner)
	case !j.options.Deterministic && t.AnyOne && t.Bytes > 0, !j.options.Deterministic && t.Self:
		return fmt.Errorf("any one of the messages to a vertex may be taken (%v), and the run is not deterministic", m.combiner)
	}
	return nil
}
