package delivery

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/wire"
)

// All sends data[q] to every other partition q, and returns the data received from each of them. In
// a superstep all partitions must call it equally often. Each call is a numbered round, because
// some partitions are ahead of others.
func (x *Exchange) All(ctx context.Context, data [][]byte) ([][]byte, error) {
	received := make([][]byte, x.part.Of)
	if x.part.Of == 1 {
		return received, nil
	}
	if x.round == math.MaxUint8 {
		return nil, fmt.Errorf("more than %d rounds in superstep %d", x.round, x.superstep)
	}
	x.round++
	others := make([]int, 0, x.part.Of-1)
	for step := 1; step < x.part.Of; step++ {
		others = append(others, (x.part.Index+step)%x.part.Of)
	}
	for _, q := range others {
		f := &transport.Frame{To: q, Kind: transport.Changes, Encoding: x.round, Presence: data[q]}
		if err := x.send(f); err != nil {
			return nil, err
		}
	}
	early := x.early
	x.early = nil
	for missing := len(others); missing > 0 || len(early) > 0; {
		var in *transport.Frame
		if len(early) > 0 {
			in, early = early[0], early[1:]
		} else {
			var err error
			if in, err = x.receive(ctx, transport.Changes, others); err != nil {
				return nil, err
			}
		}
		switch {
		case in.Encoding > x.round:
			x.early = append(x.early, in)
		case in.Encoding < x.round || received[in.From] != nil:
			return nil, fmt.Errorf("from partition %d: unexpected changes of round %d in round %d",
				in.From, in.Encoding, x.round)
		default:
			// the receiver owns the frame's memory only until the superstep ends
			received[in.From] = append(make([]byte, 0, len(in.Presence)), in.Presence...)
			missing--
		}
	}
	return received, nil
}

// Words is All for slices of numbers. The element of the own partition is returned unchanged.
func (x *Exchange) Words(ctx context.Context, data [][]uint64) ([][]uint64, error) {
	packed, received := make([][]byte, len(data)), make([][]uint64, len(data))
	for q := range data {
		packed[q] = wire.Bytes(data[q])
	}
	all, err := x.All(ctx, packed)
	if err != nil {
		return nil, err
	}
	for q, b := range all {
		if received[q] = wire.Slice[uint64](b); len(b)%8 != 0 {
			return nil, fmt.Errorf("from partition %d: %d bytes of numbers", q, len(b))
		}
	}
	received[x.part.Index] = data[x.part.Index]
	return received, nil
}

// Numbers sends the same numbers to all partitions. All partitions must send equally many.
func (x *Exchange) Numbers(ctx context.Context, own ...uint64) ([][]uint64, error) {
	received, err := x.Words(ctx, slices.Repeat([][]uint64{own}, x.part.Of))
	for q, numbers := range received {
		if len(numbers) != len(own) {
			return nil, fmt.Errorf("from partition %d: %d numbers of %d", q, len(numbers), len(own))
		}
	}
	return received, err
}

// SetPartition replaces the partition after a change of the graph.
func (x *Exchange) SetPartition(p *graph.Partition) { x.part, x.line = p, nil }
