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
// when it has reported its superstep.
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
}

// NewLocal connects n partitions.
func NewLocal(n int) *Local {
	l := &Local{closed: make(chan struct{})}
	for range n {
		l.boxes = append(l.boxes, &box{local: l, frames: make(chan *Frame, n*int(kinds))})
	}
	return l
}

// Endpoint returns partition i's access.
func (l *Local) Endpoint(i int) Endpoint { return l.boxes[i] }

// Close makes every Receive that waits, and every later one, fail. It is idempotent.
func (l *Local) Close() { l.once.Do(func() { close(l.closed) }) }

func (b *box) Send(f *Frame) error {
	select {
	case b.local.boxes[f.To].frames <- f:
		return nil
	case <-b.local.closed:
		return ErrClosed
	}
}

func (b *box) Receive(ctx context.Context, kind Kind) (*Frame, error) {
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
