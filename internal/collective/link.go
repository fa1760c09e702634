// Package collective moves data between all workers at once: barrier, broadcast, allgather,
// allreduce and alltoall, each by several algorithms, none of which is best for every size, number
// of ranks and topology (Matsuda).
//
// An algorithm is a plan: for each rank a list of rounds, each with messages to send and to
// receive. One small machine runs plans over a Link, and one simulator predicts from the same plans
// how long they take, by the model of Matsumoto15 with measured coefficients. So a prediction is
// about the very messages that will be sent, and Group takes for every call the algorithm that is
// predicted to end first, if the caller names none.
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

// Link is a rank's access to the other ranks. Messages of one sender under one tag arrive in the
// order they were sent; tags are independent of each other. All methods may be called from several
// goroutines.
type Link interface {
	// Rank is this rank's number, in [0, Size).
	Rank() int
	Size() int
	// Send hands a message to a rank other than this one. It keeps no reference to data when it has
	// returned. It may wait until the receiver takes the message, but no longer than ctx.
	Send(ctx context.Context, to int, tag uint32, data []byte) error
	// Receive returns the oldest message of a rank under a tag; it belongs to the caller. It waits
	// no longer than ctx.
	Receive(ctx context.Context, from int, tag uint32) ([]byte, error)
}

// Releaser is a Link that can use the memory of received messages again.
type Releaser interface {
	// Release gives back a message that Receive returned, which nobody reads any more.
	Release(data []byte)
}

// Release gives back a message to a link that has a use for its memory.
func Release(link Link, data []byte) {
	if r, ok := link.(Releaser); ok {
		r.Release(data)
	}
}

// alone is the link of a single rank, which has nobody to send to.
type alone struct{}

var errAlone = errors.New("there is no other rank")

func (alone) Rank() int                                            { return 0 }
func (alone) Size() int                                            { return 1 }
func (alone) Send(context.Context, int, uint32, []byte) error      { return errAlone }
func (alone) Receive(context.Context, int, uint32) ([]byte, error) { return nil, errAlone }
