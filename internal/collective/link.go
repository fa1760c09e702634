// Package collective moves data between all workers at once: barrier, broadcast, gather, allgather,
// reduce, allreduce and alltoall, each by several algorithms, none of which is best for every size,
// number of ranks and topology (Matsuda).
//
// An algorithm is a plan: for each rank a list of rounds, each with messages to send and to
// receive. A machine runs plans over a Link. A simulator predicts the time of the same plans, by
// the model of Matsumoto15 with measured coefficients. So predictions are about exactly the
// messages that will be sent. If a call names no algorithm, Group uses the one with the shortest
// predicted time. Read group.go first, then plan.go and predict.go.
//
//	           plan(collective, algorithm, P, rank)
//	            |                            |
//	data -> machine -> Link       Model -> simulator -> seconds -> Choose
//	                    ^            ^
//	                    +- Calibrate-+
package collective

import (
	"context"
	"errors"
)

// Link is a rank's access to the other ranks. Messages from one sender under one tag arrive in the
// order in which they were sent. Messages under different tags are independent. Several goroutines
// may call all methods at once.
type Link interface {
	// Rank is this rank's number, in [0, Size).
	Rank() int
	Size() int
	// Send sends a message to another rank. It does not use data after it returns. It may wait
	// until the receiver takes the message, or until ctx ends.
	Send(ctx context.Context, to int, tag uint32, data []byte) error
	// Receive returns the oldest message from a rank under a tag. The message belongs to the
	// caller. It waits until there is one, or until ctx ends.
	Receive(ctx context.Context, from int, tag uint32) ([]byte, error)
}

// Releaser is a Link that can reuse the memory of received messages.
type Releaser interface {
	// Release returns the memory of a received message, which must not be used any more.
	Release(data []byte)
}

// Release returns the memory of a message to a link, if the link can reuse it.
func Release(link Link, data []byte) {
	if r, ok := link.(Releaser); ok {
		r.Release(data)
	}
}

// alone is the link of a single rank.
type alone struct{}

var errAlone = errors.New("there is no other rank")

func (alone) Rank() int                                            { return 0 }
func (alone) Size() int                                            { return 1 }
func (alone) Send(context.Context, int, uint32, []byte) error      { return errAlone }
func (alone) Receive(context.Context, int, uint32) ([]byte, error) { return nil, errAlone }
