// Package transport carries frames between partitions. Local, the one inside a process, passes them
// by reference; package mesh carries them between processes.
package transport

import (
	"context"
	"errors"
	"sync"
)

// Kind says which exchange of a superstep a frame belongs to.
type Kind uint8

const (
	Expand         Kind = iota // senders' messages to the blocks that need them
	ExpandReversed             // the same, along the other direction of a directed graph
	Fold                       // partial results to owners
	FoldReversed
	Sends    // messages to single vertices
	SendsOn  // the same, on their second hop
	Finished // vertices that are finished, to the blocks of the processor row
	FinishedReversed
	Ring // vertices still to be pulled, from one block of the row to the next
	RingReversed
	Changes // of the graph, between all partitions
	kinds
)

// Kinds is how many kinds there are.
const Kinds = int(kinds)

func (k Kind) String() string {
	return [...]string{"expand", "expand back", "fold", "fold back", "sends", "sends on", "finished", "finished back", "ring", "ring back", "changes"}[k]
}

// Carries reports whether frames of the kind carry messages: their Count is of values.
func (k Kind) Carries() bool { return k < Finished }

// Frame is what one partition tells another in one exchange: mostly one from each partition to each
// other of a line of the grid. Its buffers belong to the sender, who fills them anew in the next
// superstep: the receiver is done with them when it has ended its superstep.
type Frame struct {
	From, To  int
	Superstep int
	Kind      Kind
	// Encoding, Count and Presence are the column's presence; see package delivery.
	Encoding uint8
	Count    int
	Presence []byte
	// Raw is the values as little-endian bytes, or Ref the values as a slice, of a type that has no
	// raw form, and RefBytes about how many bytes these take when they are encoded.
	Raw      []byte
	Ref      any
	RefBytes int
}

// Size returns how many bytes the frame would take on a wire, a header of 24 bytes included.
func (f *Frame) Size() int { return 24 + len(f.Presence) + len(f.Raw) + f.RefBytes }

// Endpoint is a partition's access to the others.
type Endpoint interface {
	// Send hands a frame to the partition it names. It does not wait for the receiver.
	Send(f *Frame) error
	// Distant reports whether frames take a while to a partition, so that it is worth while to send
	// them ahead.
	Distant(partition int) bool
	// SendAhead is Send, to a distant partition, for a frame without Ref of the superstep after the
	// one that runs: it is received in that one. It reports whether the frame was taken. What is
	// not claimed in its superstep is dropped there.
	SendAhead(f *Frame) (bool, error)
	// Claim makes a frame that was sent ahead one of the superstep that runs: its account has it,
	// and its partition will receive it.
	Claim(f *Frame)
	// Poll returns a frame of an exchange that has come already, or nil.
	Poll(kind Kind) (*Frame, error)
	// Receive returns the next frame of an exchange, in whatever order partitions sent them.
	Receive(ctx context.Context, kind Kind) (*Frame, error)
	// Flush waits until the frames sent are written: as far as this side goes, they have left.
	Flush(ctx context.Context) error
	// Release gives back a frame that was received, before the superstep ends, so that its buffers
	// can take another.
	Release(f *Frame)
	// End ends a superstep: when it returns the buffers of all frames sent are the sender's again,
	// and those received are no more the receiver's. What it returns stays as it is until the next
	// End.
	End(ctx context.Context, superstep int) (*Account, error)
}

// Codec encodes values that have no raw form. Its methods are called by several goroutines at once.
type Codec interface {
	// Append appends the encoding of f.Ref, which holds f.Count values, to b.
	Append(b []byte, f *Frame) ([]byte, error)
	// Decode sets f.Ref to the f.Count values that b encodes, and does not keep b. It must bear any
	// bytes.
	Decode(b []byte, f *Frame) error
}

// ErrClosed is what waiting receivers get when the transport is closed: another partition failed.
var ErrClosed = errors.New("transport closed")

// Local connects partitions of one process.
type Local struct {
	boxes  []*box
	closed chan struct{}
	once   sync.Once
}

// box is a partition's incoming frames, by kind. Only its partition receives.
type box struct {
	local  *Local
	wake   chan struct{} // something came since Receive last looked
	ledger Ledger

	mu     sync.Mutex
	frames [kinds]queue
}

// queue is frames in the order in which they came: those before first are taken.
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

// Endpoint returns partition i's access.
func (l *Local) Endpoint(i int) Endpoint { return l.boxes[i] }

// Close makes every Receive that waits, and every later one, fail. It is idempotent.
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

// Distant is false: within a process nothing is on its way for long.
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

// Flush has nothing to wait for: frames are where they go.
func (b *box) Flush(context.Context) error { return nil }

// Release has nothing to do: the frame is the sender's.
func (b *box) Release(*Frame) {}

// End has nothing to wait for: nobody fills buffers before all have reported.
func (b *box) End(_ context.Context, superstep int) (*Account, error) {
	return b.ledger.Close(superstep), nil
}
