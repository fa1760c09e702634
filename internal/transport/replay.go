package transport

import (
	"context"
	"errors"
	"sync"
)

// Replay connects partitions that compute supersteps again. They exchange frames with each other, get from all other partitions the frames that these had
// sent before, and what they send to these goes nowhere.
type Replay struct {
	again []bool // by partition
	n     int    // of these

	mu      sync.Mutex
	turned  *sync.Cond
	boxes   [][kinds]queue
	waiting []int // for which kind a partition waits, or -1
	busy    int   // partitions that neither wait nor have ended the superstep
	err     error
}

// ErrMissing is that a partition waits for a frame that nobody will send: the log does not have it, or the partition does not do what it did.
var ErrMissing = errors.New("a frame that another partition had sent is missing")

// NewReplay connects some of so many partitions.
func NewReplay(partitions int, again []int) *Replay {
	r := &Replay{again: make([]bool, partitions), n: len(again), boxes: make([][kinds]queue, partitions), waiting: make([]int, partitions)}
	r.turned = sync.NewCond(&r.mu)
	for i := range r.waiting {
		r.waiting[i] = -1
	}
	for _, i := range again {
		r.again[i] = true
	}
	return r
}

// Begin begins a superstep, in which partitions that are not computed again had sent these frames.
func (r *Replay) Begin(sent []*Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.boxes {
		r.boxes[i] = [kinds]queue{}
	}
	r.busy = r.n
	for _, f := range sent {
		r.put(f)
	}
}

// Close makes every Receive that waits, and every later one, fail. It is idempotent.
func (r *Replay) Close() { r.fail(ErrClosed) }

func (r *Replay) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.turned.Broadcast()
}

// Endpoint returns the access of a partition that is computed again.
func (r *Replay) Endpoint(partition int) Endpoint {
	return &replayed{r, partition, NewLedger(partition, len(r.again))}
}

// put puts a frame into its receiver's box. The lock is held.
func (r *Replay) put(f *Frame) {
	if f.To < 0 || f.To >= len(r.again) || !r.again[f.To] || f.Kind >= kinds {
		return
	}
	q := &r.boxes[f.To][f.Kind]
	q.frames = append(q.frames, f)
	if r.waiting[f.To] == int(f.Kind) {
		r.waiting[f.To] = -1
		r.busy++
		r.turned.Broadcast()
	}
}

// rest notes that a partition waits, or has ended the superstep. If nobody is left who could send, those that wait would wait for ever. The lock is held.
func (r *Replay) rest() {
	r.busy--
	if r.busy > 0 || r.err != nil {
		return
	}
	for _, kind := range r.waiting {
		if kind >= 0 {
			r.err = ErrMissing
			r.turned.Broadcast()
			return
		}
	}
}

type replayed struct {
	replay    *Replay
	partition int
	ledger    Ledger
}

func (e *replayed) Send(f *Frame) error {
	e.ledger.Sent[f.To].Add(f.Count, len(f.Presence)+len(f.Raw))
	r := e.replay
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	r.put(f)
	return nil
}

// Distant is false: nothing is on its way for long.
func (e *replayed) Distant(int) bool { return false }

func (e *replayed) SendAhead(*Frame) (bool, error) { return false, nil }

func (e *replayed) Claim(*Frame) {}

func (e *replayed) Poll(kind Kind) (*Frame, error) {
	e.replay.mu.Lock()
	defer e.replay.mu.Unlock()
	return e.take(kind), nil
}

// take takes a frame that is there, or nil. The lock is held.
func (e *replayed) take(kind Kind) *Frame {
	f := e.replay.boxes[e.partition][kind].take()
	if f != nil {
		e.ledger.Received[f.From].Add(f.Count, len(f.Presence)+len(f.Raw))
	}
	return f
}

func (e *replayed) Receive(ctx context.Context, kind Kind) (*Frame, error) {
	r := e.replay
	defer context.AfterFunc(ctx, func() { r.fail(context.Cause(ctx)) })()
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := e.take(kind); f != nil {
		return f, nil
	}
	r.waiting[e.partition] = int(kind)
	r.rest()
	for r.waiting[e.partition] >= 0 && r.err == nil {
		r.turned.Wait()
	}
	if r.err != nil {
		return nil, r.err
	}
	return e.take(kind), nil
}

// Flush has nothing to wait for: frames are where they go.
func (e *replayed) Flush(context.Context) error { return nil }

// Release has nothing to do: the frame is the sender's, or the log's.
func (e *replayed) Release(*Frame) {}

func (e *replayed) End(_ context.Context, superstep int) (*Account, error) {
	e.replay.mu.Lock()
	defer e.replay.mu.Unlock()
	e.replay.rest()
	return e.ledger.Close(superstep), nil
}
