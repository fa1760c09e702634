package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// trade exchanges frames with the partitions of a line. It calls send for each of them, and take
// for each received frame, which it then releases. frames is the number of frames to receive: one
// from each partition, or more if the exchange is not serial. meanwhile, if not nil, is called once.
//
// By default, trade sends all frames before it waits for the first, and calls meanwhile in between.
// It takes frames in the order of their arrival. So frames are packed and processed while others
// are on the network (Ueno11, 4.2; Nakao20, 3.5.3).
//
// A serial exchange calls meanwhile first. Then it works like a loop of blocking MPI_Sendrecv. In
// round i every partition sends to the i-th partition after it in the line, waits until that frame
// is written, then receives and processes one frame. The received frame may be of a later round,
// because some partitions are ahead. There is no deadlock: a partition in the earliest round has
// been sent as many frames as it waits for.
func (x *Exchange) trade(
	ctx context.Context, line []int, kind transport.Kind, frames int, send func(q int) error,
	meanwhile func() error, take taker,
) error {
	if meanwhile == nil {
		meanwhile = func() error { return nil }
	}
	if x.serial {
		if err := meanwhile(); err != nil {
			return err
		}
		for _, q := range line {
			err := send(q)
			if err == nil {
				err = x.flush(ctx)
			}
			if err == nil {
				err = x.taken(ctx, kind, line, take)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, q := range line {
		if err := send(q); err != nil {
			return err
		}
	}
	if err := meanwhile(); err != nil {
		return err
	}
	for range frames {
		if err := x.taken(ctx, kind, line, take); err != nil {
			return err
		}
	}
	return nil
}

type taker func(in *transport.Frame) error

// taken receives a frame, processes it and releases it.
func (x *Exchange) taken(ctx context.Context, kind transport.Kind, line []int, take taker) error {
	in, err := x.receive(ctx, kind, line)
	if err != nil {
		return err
	}
	if err := take(in); err != nil {
		return err
	}
	x.end.Release(in)
	return nil
}

// flush waits until all sent frames are written.
func (x *Exchange) flush(ctx context.Context) error {
	start := time.Now()
	<-x.gate
	err := x.end.Flush(ctx)
	x.gate <- struct{}{}
	x.Waited += time.Since(start)
	return err
}

// receive returns the next frame of an exchange with the partitions of a line.
func (x *Exchange) receive(
	ctx context.Context, kind transport.Kind, line []int,
) (*transport.Frame, error) {
	in, err := x.end.Poll(kind)
	if in == nil && err == nil {
		start := time.Now()
		<-x.gate
		in, err = x.end.Receive(ctx, kind)
		x.gate <- struct{}{}
		x.Waited += time.Since(start)
	}
	if err != nil {
		return nil, err
	}
	if !x.among(line, in.From) {
		return nil, fmt.Errorf("an %v frame from partition %d of %d reached partition %d", kind,
			in.From, x.part.Of, x.part.Index)
	}
	if in.Superstep != x.superstep || in.To != x.part.Index {
		return nil, fmt.Errorf("a frame of superstep %d to partition %d reached partition %d in superstep %d", in.Superstep, in.To, x.part.Index, x.superstep)
	}
	return in, nil
}

// among reports whether partition q is in the line.
func (x *Exchange) among(line []int, q int) bool {
	if len(line) == 0 || q < 0 || q >= x.part.Of {
		return false
	}
	// The exchanges of a superstep use the same few lines, so inLine is usually valid.
	if x.line != &line[0] {
		x.line = &line[0]
		if x.inLine == nil {
			x.inLine = make([]bool, x.part.Of)
		}
		clear(x.inLine)
		for _, p := range line {
			x.inLine[p] = true
		}
	}
	return x.inLine[q]
}
