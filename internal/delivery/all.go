package delivery

import (
	"context"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/transport"
)

// All sends data[q] to every other partition q, and returns what each of them sent here. All partitions call it as often: the rounds of a
// superstep are numbered, since some partitions are ahead of others.
func (x *Exchange) All(ctx context.Context, data [][]byte) ([][]byte, error) {
	came := make([][]byte, x.part.Of)
	if x.part.Of == 1 {
		return came, nil
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
		if err := x.send(f, x.superstep); err != nil {
			return nil, err
		}
	}
	missing := len(others)
	keep := func(in *transport.Frame) error {
		if came[in.From] != nil {
			return fmt.Errorf("partition %d sent its changes twice", in.From)
		}
		came[in.From] = append(make([]byte, 0, len(in.Presence)), in.Presence...) // the frame is the sender's again when the superstep ends
		missing--
		return nil
	}
	early := x.early
	x.early = nil
	for _, in := range early {
		if in.Encoding == x.round {
			if err := keep(in); err != nil {
				return nil, err
			}
		} else {
			x.early = append(x.early, in)
		}
	}
	for missing > 0 {
		in, err := x.receive(ctx, transport.Changes, others, x.superstep)
		switch {
		case err != nil:
			return nil, err
		case in.Encoding < x.round:
			return nil, fmt.Errorf("from partition %d: changes of round %d in round %d", in.From, in.Encoding, x.round)
		case in.Encoding > x.round:
			x.early = append(x.early, in)
		default:
			if err := keep(in); err != nil {
				return nil, err
			}
		}
	}
	return came, nil
}

// Become makes the exchange that of the partition as it is after a change of the graph.
func (x *Exchange) Become(p *graph.Partition) { x.part, x.line = p, nil }
