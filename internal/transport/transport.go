// Package transport has the interface by which partitions exchange frames, and Local, its
// implementation within a process, which passes frames by reference. Package mesh implements it
// between processes.
package transport

import (
	"context"
	"errors"
	"sync"
)

// Kind is the exchange of a superstep that a frame belongs to.
type Kind uint8

// A kind for reversed arcs follows the kind for other arcs.
const (
	Expand         Kind = iota // senders' messages to the blocks that need them
	ExpandReversed             // the same along the other direction of a directed graph
	ExpandHubs                 // the messages of hubs only
	ExpandHubsReversed
	Fold // partial results to owners
	FoldReversed
	Sends    // messages to single vertices
	SendsOn  // the same on their second hop
	Finished // finished vertices, to the blocks of the processor row
	FinishedReversed
	Ring // vertices still to be pulled, from one block of the row to the next
	RingReversed
	Changes // requests to change the graph, between all partitions
	kinds
)

// Kinds is the number of kinds.
const Kinds = int(kinds)

func (k Kind) String() string {
	return [...]string{"expand", "expand back", "expand hubs", "expand hubs back", "fold", "fold back", "sends", "sends on", "finished", "finished back", "ring", "ring back", "changes"}[k]
}

// Carries reports whether frames of the kind contain messages, so that their Count counts values.
func (k Kind) Carries() bool { return k < Finished }

// Frame is the unit that one partition sends to another in an exchange, mostly one from each
// partition to each other in a row or column of the grid. Its buffers belong to the sender, which
// reuses them in the next superstep. The receiver must not use them after the end of its superstep.
type Frame struct {
	From, To  int
	Superstep int
	Kind      Kind
	// Encoding, Count and Presence tell which vertices have a message; see package delivery.
	Encoding uint8
	Count    int
	Presence []byte
	// Raw has the values as little-endian bytes. If the type has no raw form, Ref has the values as
	// a slice, and RefBytes their approximate encoded size.
	Raw      []byte
	Ref      any
	RefBytes int
}

// Size returns the frame's size on a wire, with a header of 24 bytes.
func (f *Frame) Size() int { return 24 + len(f.Presence) + len(f.Raw) + f.RefBytes }

// Endpoint is a partition's access to the other partitions.
type Endpoint interface {
	// Send sends a frame to the partition in f.To. It does not wait for the receiver.
	Send(f *Frame) error
	// Distant reports whether frames to a partition take long enough to be worth sending ahead.
	Distant(partition int) bool
	// SendAhead sends a frame without Ref to a distant partition, in the superstep before the
	// frame's. The receiver receives it in the frame's superstep. SendAhead returns false if the
	// frame was not accepted. A frame that is not claimed in its superstep is dropped.
	SendAhead(f *Frame) (bool, error)
	// Claim makes a frame that was sent ahead part of the current superstep: the account counts it,
	// and the receiver will receive it.
	Claim(f *Frame)
	// Poll returns a frame of an exchange that has arrived, or nil.
	Poll(kind Kind) (*Frame, error)
	// Receive returns the next frame of an exchange, in the order of arrival.
	Receive(ctx context.Context, kind Kind) (*Frame, error)
	// Flush waits until all sent frames are written to the network.
	Flush(ctx context.Context) error
	// Release returns a received frame before the superstep ends, so that its buffers can be
	// reused.
	Release(f *Frame)
	// End ends a superstep. When it returns, the buffers of all sent frames belong to the sender
	// again, and received frames must not be used any more. The returned account is valid until the
	// next End.
	End(ctx context.Context, superstep int) (*Account, error)
}

// Codec encodes values without a raw form. Several goroutines may call its methods at once.
type Codec interface {
	// Append appends the encoding of f.Ref, which has f.Count values, to b.
	Append(b []byte, f *Frame) ([]byte, error)
	// Decode sets f.Ref to the f.Count values that b encodes, and keeps no reference to b. b may be
	// any bytes.
	Decode(b []byte, f *Frame) error
}

// ErrClosed is the error of waiting receivers after the transport was closed, because another
// partition failed.
var ErrClosed = errors.New("transport closed")

// Local connects partitions of one process.
type Local struct {
	boxes  []*box
	closed chan struct{}
	once   sync.Once
}

// box has a partition's incoming frames by kind. Only that partition receives from it.
type box struct {
	local  *Local
	wake   chan struct{} // something came since Receive last looked
	ledger Ledger

	mu     sync.Mutex
	frames [kinds]queue
}

// queue has frames in the order of arrival. Frames before first are already taken.
type queue struct {
	frames []*Frame
	first  int
}

func (q *queue) take() *Frame {
	if q.first == len(q.frames) {
		return nil
	}
	f := q.frames[q.first]
	q.frames[q.first] = nil
	if q.first++; q.first == len(q.frames) {
		q.frames, q.first = q.frames[:0], 0
	}
	return f
}

// NewLocal connects n partitions.
func NewLocal(n int) *Local {
	l := &Local{closed: make(chan struct{})}
	for i := range n {
		l.boxes = append(l.boxes,
			&box{local: l, wake: make(chan struct{}, 1), ledger: NewLedger(i, n)})
	}
	return l
}

// Endpoint returns the endpoint of partition i.
func (l *Local) Endpoint(i int) Endpoint { return l.boxes[i] }

// Close makes every current and later Receive fail. It is idempotent.
func (l *Local) Close() { l.once.Do(func() { close(l.closed) }) }

func (b *box) Send(f *Frame) error {
	b.ledger.Sent[f.To].Add(f.Count, len(f.Presence)+len(f.Raw))
	select {
	case <-b.local.closed:
		return ErrClosed
	default:
	}
	to := b.local.boxes[f.To]
	to.mu.Lock()
	q := &to.frames[f.Kind]
	q.frames = append(q.frames, f)
	to.mu.Unlock()
	select {
	case to.wake <- struct{}{}:
	default:
	}
	return nil
}

// Distant returns false: frames take no time within a process.
func (b *box) Distant(int) bool { return false }

func (b *box) SendAhead(*Frame) (bool, error) { return false, nil }

func (b *box) Claim(*Frame) {}

func (b *box) Poll(kind Kind) (*Frame, error) {
	b.mu.Lock()
	f := b.frames[kind].take()
	b.mu.Unlock()
	if f != nil {
		b.ledger.Received[f.From].Add(f.Count, len(f.Presence)+len(f.Raw))
	}
	return f, nil
}

func (b *box) Receive(ctx context.Context, kind Kind) (*Frame, error) {
	for {
		if f, _ := b.Poll(kind); f != nil {
			return f, nil
		}
		select {
		case <-b.wake:
		case <-b.local.closed:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Flush returns at once: frames are passed by reference.
func (b *box) Flush(context.Context) error { return nil }

// Release does nothing: the frame belongs to the sender.
func (b *box) Release(*Frame) {}

// End need not wait: no sender reuses buffers before all partitions have reported.
func (b *box) End(_ context.Context, superstep int) (*Account, error) {
	return b.ledger.Close(superstep), nil
}
