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

// Writer stores the parts of a process's partitions beside the run. Make it with NewWriter.
type Writer struct {
	store  store.Store
	run    string
	within time.Duration

	ctx   context.Context
	end   context.CancelCauseFunc
	turn  chan struct{}  // full while one is stored
	under sync.WaitGroup // parts under way

	mu     sync.Mutex
	stored []Stored
}

// StoreWithin is how long storing a part may take. A store that does not answer must not hold the
// next checkpoint for ever.
const StoreWithin = 10 * time.Minute

// NewWriter makes the writer of a process's parts; run is in their names, and is not that of an
// earlier writer to the store.
func NewWriter(s store.Store, run string) *Writer {
	w := &Writer{store: s, run: run, within: StoreWithin, turn: make(chan struct{}, 1)}
	w.ctx, w.end = context.WithCancelCause(context.Background())
	return w
}

// Write takes a part, which is the writer's from then on.
func (w *Writer) Write(p *Part) {
	w.under.Go(func() {
		w.turn <- struct{}{}
		defer func() { <-w.turn }()
		w.told(w.one(p))
	})
}

// Fail says that a part could not be made.
func (w *Writer) Fail(p *Part, err error) {
	w.told(Stored{Superstep: p.Superstep, Partition: p.Partition, Failed: err.Error()})
}

// Stored returns what has become of parts since the last call.
func (w *Writer) Stored() []Stored {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.stored
	w.stored = nil
	return all
}

// Flush is Wait for a while, at the end of a run.
func (w *Writer) Flush() {
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	w.Wait(ctx)
}

// Wait waits until all parts that were given have been stored, or not, or ctx has ended.
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

// flushWithin is how long the end of a run waits for parts. What the goroutine of Wait waits for
// ends with the writer.
const flushWithin = 20 * time.Second

// Close ends the writer. What is not stored yet is given up.
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
		Superstep: p.Superstep, Partition: p.Partition,
		Name: partName(p.Superstep, w.run, p.Partition, p.Of), Raw: p.Bytes(), Print: p.Print,
		Copied: p.Copied.Seconds(),
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
