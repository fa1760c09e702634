package validate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/wire"
)

// piece bounds a message between two ranks, in bytes.
const piece = 1 << 18

// talk is how the ranks of a Spread talk: collectives by the first of its tags, columns that go round by the second, and
// what was confirmed of them by the third.
type talk struct {
	group *collective.Group
	tag   uint32
}

func (t talk) rank() int  { return t.group.Link().Rank() }
func (t talk) ranks() int { return t.group.Link().Size() }

// bulk is the call of an exchange of much data, small of little.
func (t talk) bulk() collective.Call { return collective.Call{Tag: t.tag, Bytes: piece / t.ranks()} }

func (t talk) small() collective.Call { return collective.Call{Tag: t.tag, Bytes: 8} }

// sum adds up what the ranks have.
func (t talk) sum(ctx context.Context, x uint64) (uint64, error) {
	return collective.CombineOne(ctx, t.group, t.small(), collective.SumUint64, x)
}

// most returns the greatest number that a rank has.
func (t talk) most(ctx context.Context, x uint64) (uint64, error) {
	return collective.CombineOne(ctx, t.group, t.small(), collective.MaxUint64, x)
}

// least returns the words of the rank whose first is least. All have as many.
func (t talk) least(ctx context.Context, words []uint64) ([]uint64, error) {
	all, err := t.group.Allgather(ctx, t.small(), wire.Bytes(words))
	if err != nil {
		return nil, err
	}
	for rank, data := range all {
		other := wire.Slice[uint64](data)
		if len(data) != len(words)*8 {
			return nil, fmt.Errorf("rank %d has %d bytes, expected %d", rank, len(data), len(words)*8)
		}
		if rank == 0 || other[0] < words[0] {
			words = other
		}
	}
	return words, nil
}

// opinion is what a rank has to say against a result, as it travels.
type opinion struct {
	Violation *Violation `json:",omitempty"`
	Failed    string     `json:",omitempty"`
}

// verdict makes the ranks agree: if some of them have an error, all get that of the first of these.
func (t talk) verdict(ctx context.Context, mine error) error {
	var data []byte
	if mine != nil {
		var o opinion
		if !errors.As(mine, &o.Violation) {
			o.Failed = mine.Error()
		}
		var err error
		if data, err = json.Marshal(o); err != nil {
			return err
		}
	}
	all, err := t.group.Allgather(ctx, t.small(), data)
	if err != nil {
		return errors.Join(mine, err)
	}
	for rank, data := range all {
		if len(data) == 0 {
			continue
		}
		if rank == t.rank() {
			return mine
		}
		var o opinion
		if err := json.Unmarshal(data, &o); err != nil {
			return fmt.Errorf("what rank %d says: %w", rank, err)
		}
		if o.Violation != nil {
			return o.Violation
		}
		return fmt.Errorf("rank %d: %s", rank, o.Failed)
	}
	return nil
}

// send sends a rank bytes in pieces, receive takes as many.
func (t talk) send(ctx context.Context, to int, tag uint32, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), piece)
		if err := t.group.Link().Send(ctx, to, tag, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (t talk) receive(ctx context.Context, from int, tag uint32, into []byte) error {
	for len(into) > 0 {
		data, err := t.group.Link().Receive(ctx, from, tag)
		if err != nil {
			return err
		}
		if want := min(len(into), piece); len(data) != want {
			return fmt.Errorf("rank %d sent %d bytes, expected %d", from, len(data), want)
		}
		into = into[copy(into, data):]
	}
	return nil
}
