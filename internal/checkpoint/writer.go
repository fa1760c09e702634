package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/faults"
	"github.com/superstep-go/superstep/internal/store"
)

// Writer stores the parts of a process's partitions in the background. Make it with NewWriter.
type Writer struct {
	store  store.Store
	run    string
	within time.Duration

	ctx   context.Context
	end   context.CancelCauseFunc
	turn  chan struct{}  // full while a part is being stored
	under sync.WaitGroup // unfinished parts

	mu     sync.Mutex
	stored []Stored
}

// StoreWithin bounds the time of storing a part, so that a store that does not answer cannot block
// later checkpoints for ever.
const StoreWithin = 10 * time.Minute

// NewWriter makes the writer of a process's parts. run is in their names. It must differ from that
// of earlier writers to the store.
func NewWriter(s store.Store, run string) *Writer {
	w := &Writer{store: s, run: run, within: StoreWithin, turn: make(chan struct{}, 1)}
	w.ctx, w.end = context.WithCancelCause(context.Background())
	return w
}

// Write stores a part, which belongs to the writer from then on.
func (w *Writer) Write(p *Part) {
	w.under.Go(func() {
		w.turn <- struct{}{}
		defer func() { <-w.turn }()
		w.told(w.one(p))
	})
}

// Fail records that a part could not be made.
func (w *Writer) Fail(p *Part, err error) {
	w.told(Stored{Superstep: p.Superstep, Partition: p.Partition, Failed: err.Error()})
}

// Stored returns the results of parts since the last call.
func (w *Writer) Stored() []Stored {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.stored
	w.stored = nil
	return all
}

// Flush is Wait with a time limit, for the end of a run.
func (w *Writer) Flush() {
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	w.Wait(ctx)
}

// Wait waits until all parts have been stored or have failed, or until ctx ends.
func (w *Writer) Wait(ctx context.Context) {
	stored := make(chan struct{})
	go func() {
		w.under.Wait()
		close(stored)
	}()
	select {
	case <-stored:
	case <-ctx.Done():
	}
}

// flushWithin is the longest time that the end of a run waits for parts. The goroutine of Wait ends
// with the writer.
const flushWithin = 20 * time.Second

// Close ends the writer. It abandons parts that are not stored yet.
func (w *Writer) Close() {
	if w == nil {
		return
	}
	w.end(errClosed)
	w.under.Wait()
}

var errClosed = errors.New("the run has ended")

func (w *Writer) told(s Stored) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stored = append(w.stored, s)
}

// one stores a part.
func (w *Writer) one(p *Part) (s Stored) {
	began := time.Now()
	s = Stored{
		Superstep: p.Superstep, Partition: p.Partition, Raw: p.Bytes(), Print: p.Print,
		Copied: p.Copied.Seconds(), Name: fmt.Sprintf("%s%09d-%s-%05d-of-%05d", partPrefix,
			p.Superstep, w.run, p.Partition, p.Of),
	}
	err := context.Cause(w.ctx)
	var data []byte
	if err == nil {
		data, err = encode(p)
	}
	if err == nil {
		err = faults.At(faults.StoringPart, "")
	}
	if err == nil {
		s.Sum = store.SumOf(data)
		ctx, cancel := context.WithTimeoutCause(w.ctx, w.within,
			fmt.Errorf("storing took longer than %v", w.within))
		err = w.store.Put(ctx, s.Name, bytes.NewReader(data), s.Bytes)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		cancel()
	}
	if err != nil {
		s.Failed = err.Error()
	}
	s.Wrote = time.Since(began).Seconds()
	return s
}
