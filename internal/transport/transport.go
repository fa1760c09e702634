// Package transport carries frames between partitions. Local, the one inside a process, passes them by reference;
// package mesh carries them between processes.
package transport

import (
	"context"
	"errors"
	"sync"
)

// Kind says which exchange of a superstep a frame belongs to.
type Kind uint8

const (
	Expand     Kind = iota // senders' messages to the blocks that need them
	ExpandBack             // the same, along the other direction of a directed graph
	Fold                   // partial results to owners
	FoldBack
	Sends   // messages to single vertices
	SendsOn // the same, on their second hop
	kinds
)

// Kinds is how many kinds there are.
const Kinds = int(kinds)

func (k Kind) String() string {
	return [...]string{"expand", "expand back", "fold", "fold back", "sends", "sends on"}[k]
}

// Frame is what one partition tells another in one exchange. Every exchange sends one from each partition to each
// other. Its buffers belong to the sender, who fills them anew in the next superstep: the receiver is done with them
// when it has ended its superstep.
type Frame struct {
	From, To  int
	Superstep int
	Kind      Kind
	// Encoding, Count and Presence are the column's presence; see package delivery.
	Encoding uint8
	Count    int
	Presence []byte
	// Raw is the values as little-endian bytes, or Ref the values as a slice, of a type that has no raw form.
	Raw []byte
	Ref any
}

// Size returns how many bytes the frame would take on a wire, a header of 24 bytes included. Values without a raw form
// count as 8 bytes each.
func (f *Frame) Size() int {
	n := 24 + len(f.Presence) + len(f.Raw)
	if f.Ref != nil {
		n += 8 * f.Count
	}
	return n
}

// Endpoint is a partition's access to the others.
type Endpoint interface {
	// Send hands a frame to the partition it names. It does not wait for the receiver.
	Send(f *Frame) error
	// Receive returns the next frame of an exchange, in whatever order partitions sent them.
	Receive(ctx context.Context, kind Kind) (*Frame, error)
	// Release gives back a frame that was received, before the superstep ends, so that its buffers can take another.
	Release(f *Frame)
	// End ends a superstep: when it returns the buffers of all frames sent are the sender's again, and those received are
	// no more the receiver's. What it returns stays as it is until the next End.
	End(ctx context.Context, superstep int) (*Account, error)
}

// Codec encodes values that have no raw form. Its methods are called by several goroutines at once.
type Codec interface {
	// Append appends the encoding of f.Ref, which holds f.Count values, to b.
	Append(b []byte, f *Frame) ([]byte, error)
	// Decode sets f.Ref to the f.Count values that b encodes, and does not keep b. It must bear any bytes.
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

// box is a partition's incoming frames, and those that came before their exchange.
type box struct {
	local  *Local
	frames chan *Frame
	early  [kinds][]*Frame
	ledger
}

// NewLocal connects n partitions.
func NewLocal(n int) *Local {
	l := &Local{closed: make(chan struct{})}
	for i := range n {
		l.boxes = append(l.boxes, &box{local: l, frames: make(chan *Frame, n*int(kinds)), ledger: newLedger(i, n)})
	}
	return l
}

// Endpoint returns partition i's access.
func (l *Local) Endpoint(i int) Endpoint { return l.boxes[i] }

// Close makes every Receive that waits, and every later one, fail. It is idempotent.
func (l *Local) Close() { l.once.Do(func() { close(l.closed) }) }

func (b *box) Send(f *Frame) error {
	b.sent[f.To].Add(f.Count, len(f.Presence)+len(f.Raw))
	select {
	case b.local.boxes[f.To].frames <- f:
		return nil
	case <-b.local.closed:
		return ErrClosed
	}
}

func (b *box) Receive(ctx context.Context, kind Kind) (*Frame, error) {
	f, err := b.next(ctx, kind)
	if err == nil {
		b.received[f.From].Add(f.Count, len(f.Presence)+len(f.Raw))
	}
	return f, err
}

func (b *box) next(ctx context.Context, kind Kind) (*Frame, error) {
	if early := b.early[kind]; len(early) > 0 {
		f := early[len(early)-1]
		b.early[kind] = early[:len(early)-1]
		return f, nil
	}
	for {
		select {
		case f := <-b.frames:
			if f.Kind == kind {
				return f, nil
			}
			b.early[f.Kind] = append(b.early[f.Kind], f)
		case <-b.local.closed:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Release has nothing to do: the frame is the sender's.
func (b *box) Release(*Frame) {}

// End has nothing to wait for: nobody fills buffers before all have reported.
func (b *box) End(_ context.Context, superstep int) (*Account, error) { return b.close(superstep), nil }
