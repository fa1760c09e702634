// Package standby keeps a state as numbered records in a store that several processes share, of
// which one at a time may write. The sequence is also the lease: who writes the next number has
// written it, whoever finds it taken is no longer the one who writes.
//
//	log/NUMBER        a record: what was changed, by whom, and for how long that one may go on
//	snapshots/NUMBER  the state after that record; what is before the last but one is removed
//
// Nothing is decided by comparing clocks. A process that follows takes over when it has seen
// nothing new for the time of the last record's lease, by its own clock; the one who wrote that
// record stops earlier, by its own, from before it wrote. Should a clock stand still, as in a
// machine that is suspended, then two may take themselves for the one who writes, and still only
// one of them commits.
package standby

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/statefile"
	"github.com/superstep-go/superstep/internal/store"
)

// Names of objects.
const (
	logPrefix      = "log/"
	snapshotPrefix = "snapshots/"
)

func name(prefix string, number uint64) string { return fmt.Sprintf("%s%020d", prefix, number) }

// Options say where a log is, and who follows or writes it.
type Options struct {
	Store store.Store
	// Alone says that no other process may use the store. Then this process leads at once and for
	// good, and what cannot be written is an error, after which it may write on. Lease bounds how
	// long the store may take.
	Alone   bool
	Lease   time.Duration // of what this process writes
	Writer  string        // another one for each Log, of all processes: random
	Address string        // told to those who follow
	// SnapshotEvery is how many records there are from one snapshot to the next; default 256.
	SnapshotEvery uint64
	Now           func() time.Time
	// Warn, if not nil, is told when the store fails, once, and with nil when it works again.
	Warn func(err error)
	// Newest is a file that notes, for the one who writes alone, which record is the newest.
	// Records that are missing at the end are found by it. It is not synced: only when the machine
	// crashes it may have the number of an earlier record, or none.
	Newest string
	// Trouble, if not nil, is told what does not keep the log from going on.
	Trouble func(err error)
}

// Log is a process's part in it: first it follows, then it writes, and then it is over. One
// goroutine calls it, but for Held.
type Log struct {
	Options
	number  uint64 // of the last record that was read or written
	head    entry  // it, without changes
	state   map[string][]byte
	seen    time.Time // when it was
	warned  bool
	found   bool   // records, by the one who writes alone
	last    uint64 // snapshot
	pruning sync.WaitGroup
	busy    sync.Mutex // of who writes a snapshot
	long    bool       // the last snapshot failed
	ctx     context.Context
	cancel  context.CancelFunc // what is under way

	mu     sync.Mutex
	writes bool
	until  time.Time
}

// ErrLost is that another process may write by now, or that it cannot be known whether one does.
var ErrLost = errors.New("no longer the one who leads")

// Open prepares to follow a log.
func Open(o Options) *Log {
	if o.SnapshotEvery == 0 {
		o.SnapshotEvery = 256
	}
	if o.Trouble == nil {
		o.Trouble = func(error) {}
	}
	l := &Log{Options: o, state: map[string][]byte{}, seen: o.Now()}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// State is what the records come to, by key. It is the log's own.
func (l *Log) State() map[string][]byte { return l.state }

// Term is the number of the take-over by which this process writes.
func (l *Log) Term() uint64 { return l.head.term }

// Held reports whether what this process does counts: nobody else writes now. Any goroutine may
// ask.
func (l *Log) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes && (l.Alone || l.Now().Before(l.until))
}

// held is how long what is written holds, from before it was: others wait for the whole lease, from
// when they see it.
func (l *Log) held() time.Duration { return l.Lease * 3 / 4 }

// Renew is how long after what it wrote last who writes has to write something.
func (l *Log) Renew() time.Duration { return l.Lease / 4 }

// Due reports whether it is time for that.
func (l *Log) Due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes && l.until.Sub(l.Now()) <= l.Lease/2
}

// warn tells of a failure, or of none.
func (l *Log) warn(err error) {
	if l.Warn != nil && (err != nil) != l.warned {
		l.Warn(err)
	}
	l.warned = err != nil
}

// Leader is the address of who writes; empty if nobody does.
func (l *Log) Leader() string {
	if l.number == 0 || l.head.kind == released {
		return ""
	}
	return l.head.address
}

// Found reports whether anyone had written before this process did.
func (l *Log) Found() bool { return l.found || l.head.term > 1 }

// Lead follows until nobody else writes, and takes over. It tells who writes whenever that changes.
func (l *Log) Lead(ctx context.Context, told func(leader string)) error {
	if l.Alone {
		err := l.Poll(ctx)
		if err == nil {
			err = l.complete()
		}
		l.found, l.writes = l.number > 0, err == nil
		return err
	}
	leader := ""
	for {
		err := l.Poll(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.warn(err)
		if found := l.Leader(); err == nil && found != leader {
			leader = found
			told(leader)
		}
		if err == nil && (l.Leader() == "" || l.Now().Sub(l.seen) > l.head.lease) {
			err = l.append(ctx, entry{kind: takeOver, term: l.head.term + 1}, l.Now().Add(l.held()))
			if err == nil || ctx.Err() != nil {
				return err
			}
			l.seen = l.Now() // someone else has, or may have
			continue
		}
		if err := parallel.Sleep(ctx, l.Lease/10); err != nil {
			return err
		}
	}
}

// Append commits changes, or, with none, that this process goes on. It tries again while the store
// fails, until the lease is over. After an error, which is ErrLost, nothing more is written; the
// changes may have been.
func (l *Log) Append(ctx context.Context, changes []Change) error {
	return l.write(ctx, entry{kind: changed, changes: changes})
}

// Release lets another take over at once.
func (l *Log) Release(ctx context.Context) error {
	defer l.over()
	return l.write(ctx, entry{kind: released})
}

// Close waits for what is under way, for closing at most: a disk may hang.
func (l *Log) Close() {
	l.over()
	defer time.AfterFunc(closing, l.cancel).Stop()
	l.pruning.Wait()
}

// closing is how long a snapshot may take when the process is about to end. The next process tries
// again.
const closing = 5 * time.Second

func (l *Log) over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = false
}

// write writes while the lease lasts.
func (l *Log) write(ctx context.Context, e entry) error {
	l.mu.Lock()
	writes, until := l.writes, l.until
	l.mu.Unlock()
	if !writes {
		return ErrLost
	}
	e.term = l.head.term
	if l.Alone {
		return l.record(ctx, e)
	}
	return l.append(ctx, e, until)
}

// record writes an entry, in place of one of the same number that could not be written to the end.
func (l *Log) record(ctx context.Context, e entry) error {
	e.number, e.lease, e.writer, e.address = l.number+1, l.Lease, l.Writer, l.Address
	data := e.encode()
	if len(data) > maxEntry { // which nobody would read
		return fmt.Errorf("a record has %d bytes, expected at most %d", len(data), maxEntry)
	}
	if err := l.Store.Put(ctx, name(logPrefix, e.number), bytes.NewReader(data),
		int64(len(data))); err != nil {
		// It may be there, and would count for the next process.
		return errors.Join(err, l.Store.Delete(ctx, name(logPrefix, e.number)))
	}
	l.mu.Lock()
	l.take(&e)
	l.mu.Unlock()
	_ = statefile.NoteNumber(l.Newest, e.number) // an earlier number is right, too
	l.shorten()
	return nil
}

// append writes an entry, as the one who writes from then on; the store may fail until then. The
// lease counts from before the first try: that one may have been written, and seen by others,
// though the store said that it failed.
func (l *Log) append(ctx context.Context, e entry, until time.Time) error {
	e.number, e.lease, e.writer, e.address = l.number+1, l.Lease, l.Writer, l.Address
	data := e.encode()
	if len(data) > maxEntry { // which nobody would read
		l.over()
		return fmt.Errorf("%w: a record has %d bytes, of at most %d", ErrLost, len(data), maxEntry)
	}
	began := l.Now()
	late := fmt.Errorf("%w: nothing could be written to %s for %v", ErrLost, l.Store, l.held())
	ctx, cancel := context.WithTimeoutCause(ctx, until.Sub(began), late)
	defer cancel()
	var last error // of the store
	for wait := l.Lease / 200; ; wait = min(2*wait, l.Lease/20) {
		err := bounded(ctx, func() error { return l.commit(ctx, e.number, data) })
		switch {
		// Also if it was written: it is too late to say so. A process that was stopped may see it
		// by its clock first..
		case ctx.Err() != nil, !l.Now().Before(until):
			l.over()
			cause := context.Cause(ctx)
			if cause == nil {
				cause = late
			}
			if last != nil {
				return fmt.Errorf("%w: %w", cause, last)
			}
			return cause
		case err == nil:
			l.warn(nil)
			l.take(&e)
			l.mu.Lock()
			l.writes, l.until = e.kind != released, began.Add(l.held())
			l.mu.Unlock()
			l.shorten()
			return nil
		case errors.Is(err, ErrLost):
			l.over()
			return err
		}
		last = err
		l.warn(err)
		_ = parallel.Sleep(ctx, wait)
	}
}

// bounded does not wait for what hangs, as a directory of another machine may.
func bounded(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// commit writes a record if there is none of its number. That a put succeeds is not enough: the
// number may have been written, and removed since, while this process was stopped. Then there is a
// snapshot of that number, or a later one, and always will be.
func (l *Log) commit(ctx context.Context, number uint64, data []byte) error {
	err := l.Store.PutIfAbsent(ctx, name(logPrefix, number), data)
	if errors.Is(err, fs.ErrExist) { // it may be ours, if an answer was lost
		there, readErr := store.Get(ctx, l.Store, name(logPrefix, number), maxEntry)
		switch {
		case errors.Is(readErr, fs.ErrNotExist):
		case readErr != nil:
			return readErr
		case bytes.Equal(there, data):
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%w: another has written record %d of %s", ErrLost, number, l.Store)
		}
	}
	if err != nil {
		return err
	}
	_, taken, err := l.numbers(ctx, snapshotPrefix)
	if err != nil {
		return err
	}
	if n := len(taken); n > 0 && taken[n-1] >= number {
		return fmt.Errorf("%w: another has written record %d of %s", ErrLost, taken[n-1], l.Store)
	}
	return nil
}
