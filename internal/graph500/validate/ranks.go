package validate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/wire"
)

// piece is the greatest size of a message between two ranks, in bytes.
const piece = 1 << 18

// ranks has the group of a Validator. Its first tag is for collectives, the second for states that
// go round the ring, the third for confirmations.
type ranks struct {
	group *collective.Group
	tag   uint32
}

func (r ranks) rank() int { return r.group.Link().Rank() }
func (r ranks) size() int { return r.group.Link().Size() }

// bulk is the call for an exchange of much data, small for little data.
func (r ranks) bulk() collective.Call {
	return collective.Call{Tag: r.tag, Bytes: piece / r.size()}
}

func (r ranks) small() collective.Call { return collective.Call{Tag: r.tag, Bytes: 8} }

// sum returns the sum of the ranks' numbers.
func (r ranks) sum(ctx context.Context, x uint64) (uint64, error) {
	return collective.CombineOne(ctx, r.group, r.small(), collective.SumUint64, x)
}

// most returns the greatest of the ranks' numbers.
func (r ranks) most(ctx context.Context, x uint64) (uint64, error) {
	return collective.CombineOne(ctx, r.group, r.small(), collective.MaxUint64, x)
}

// least returns the words of the rank whose first word is the least. All ranks must have equally
// many words.
func (r ranks) least(ctx context.Context, words []uint64) ([]uint64, error) {
	all, err := r.group.Allgather(ctx, r.small(), wire.Bytes(words))
	if err != nil {
		return nil, err
	}
	for rank, data := range all {
		other := wire.Slice[uint64](data)
		if len(data) != len(words)*8 {
			return nil,
				fmt.Errorf("rank %d has %d bytes, expected %d", rank, len(data), len(words)*8)
		}
		if rank == 0 || other[0] < words[0] {
			words = other
		}
	}
	return words, nil
}

// opinion is the encoded error of a rank about a result.
type opinion struct {
	Violation *Violation `json:",omitempty"`
	Failed    string     `json:",omitempty"`
}

// firstError returns the error of the first rank that has one, on all ranks.
func (r ranks) firstError(ctx context.Context, mine error) error {
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
	all, err := r.group.Allgather(ctx, r.small(), data)
	if err != nil {
		return errors.Join(mine, err)
	}
	for rank, data := range all {
		if len(data) == 0 {
			continue
		}
		if rank == r.rank() {
			return mine
		}
		var o opinion
		if err := json.Unmarshal(data, &o); err != nil {
			return fmt.Errorf("decoding the error of rank %d: %w", rank, err)
		}
		if o.Violation != nil {
			return o.Violation
		}
		return fmt.Errorf("rank %d: %s", rank, o.Failed)
	}
	return nil
}

// send sends bytes to a rank in pieces; receive receives them.
func (r ranks) send(ctx context.Context, to int, tag uint32, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), piece)
		if err := r.group.Link().Send(ctx, to, tag, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (r ranks) receive(ctx context.Context, from int, tag uint32, into []byte) error {
	for len(into) > 0 {
		data, err := r.group.Link().Receive(ctx, from, tag)
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
