package build

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graph"
)

// shuffle sends records from all ranks to all ranks, in rounds. It produces the next round while
// the current one is transferred.
type shuffle struct {
	stride  int           // words in a record
	weights edges.Weights // type of the records' weights, blockEdges each
	// produce puts the records of a round into send buffers, by worker and rank, and reports
	// whether there are more. It is called until there are none.
	produce func(out [][]sendBuffer) (more bool, err error)
	// consume processes the records received in a round, by rank.
	consume func(from []sendBuffer) error
}

func (b *builder) shuffle(ctx context.Context, f *shuffle) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, buffers := b.out, &b.buffers
	more := true
	prepare := func(round int) (err error) {
		if ctx.Err() != nil { // a single rank never waits, where it would notice this
			return context.Cause(ctx)
		}
		if more {
			more, err = f.produce(out)
		}
		if err != nil {
			return err
		}
		column := make([]*sendBuffer, len(out))
		for rank := range b.ranks {
			for w := range out {
				column[w] = &out[w][rank]
			}
			data := &buffers[round%2][rank]
			*data = encode((*data)[:0], column, f.stride, more)
			for _, p := range column {
				for k := range p.words {
					p.words[k] = p.words[k][:0]
					p.weights[k].Reset()
				}
			}
		}
		return nil
	}
	if err := prepare(0); err != nil {
		return err
	}
	for round := 0; ; round++ {
		last := !more
		arrived := make(chan error, 1)
		var in [][]byte
		go func() {
			var err error
			in, err = b.group.Alltoall(ctx, b.call(), buffers[round%2])
			arrived <- err
		}()
		err := prepare(round + 1)
		if err != nil {
			cancel()
		}
		if failed := <-arrived; err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
		from := make([]sendBuffer, b.ranks)
		for rank, data := range in {
			p, another, err := decode(data, f.stride, blockEdges*graph.WeightBytes(f.weights),
				f.weights)
			if err != nil {
				return fmt.Errorf("from rank %d: %w", rank, err)
			}
			from[rank] = p
			last = last && !another
		}
		if err := f.consume(from); err != nil {
			return err
		}
		for rank, data := range in {
			if rank != b.rank {
				collective.Release(b.group.Link(), data)
			}
		}
		if last {
			return nil
		}
	}
}

// call returns the parameters of the builder's collectives.
func (b *builder) call() collective.Call { return collective.Call{Tag: b.tag + 1, Bytes: 1 << 20} }
