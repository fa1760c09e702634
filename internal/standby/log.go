// Package standby replicates the state of a master: it stores numbered records in a shared store,
// to which only one process at a time may write. Standby processes follow the log, and one of them
// takes over when the writer dies. The sequence of records is also the lease: a process writes
// record N only if N does not exist; if it does exist, another process is the writer.
//
//	log/NUMBER        a record: the changes, the writer, and the length of its lease, as JSON
//	snapshots/NUMBER  the state after that record
//
// Objects before the last snapshot but one are removed.
//
// No decision compares clocks of two machines. A follower takes over if it has seen no new record
// for the time of the last record's lease, by its own clock. The writer stops earlier, counted by
// its own clock from before it wrote the record. If a clock stands still, as in a suspended
// machine, two processes may believe that they are the writer, but only one of them can commit.
// Read log.go first, then entry.go.
package standby

import (
	"bytes"
	"cmp"
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

// Prefixes of objects' names.
const (
	logPrefix      = "log/"
	snapshotPrefix = "snapshots/"
)

func name(prefix string, number uint64) string { return fmt.Sprintf("%s%020d", prefix, number) }

// Options are the parameters of a log.
type Options struct {
	Store store.Store
	// Alone means that no other process may use the store. Then this process becomes the writer at
	// once and stays it. A failed write is an error, after which it may write again. Lease bounds
	// the time that the store may take.
	Alone   bool
	Lease   time.Duration // of records that this process writes
	Writer  string        // random and unique for each Log, among all processes
	Address string        // published to followers
	// SnapshotEvery is the number of records between two snapshots; default 256.
	SnapshotEvery uint64
	Now           func() time.Time
	// Warn, if not nil, is called once when the store begins to fail, and with nil when it works
	// again.
	Warn func(err error)
	// Newest is a file with the number of the newest record, for a process that writes alone. It
	// detects missing records at the end of the log. It is not synced, so after a crash of the
	// machine it may have an earlier number, or none.
	Newest string
	// Trouble, if not nil, is called with errors after which the log can continue.
	Trouble func(err error)
}

// Log is a process's view of the log. First it follows, then it writes, and then it has ended. Only
// one goroutine may call its methods, except Held.
type Log struct {
	Options
	head    entry // the last record that was read or written, without its changes
	state   map[string][]byte
	seen    time.Time // when this process saw or wrote that record
	warned  bool
	found   bool   // records existed when this process, which writes alone, began
	last    uint64 // number of the last snapshot
	pruning sync.WaitGroup
	busy    sync.Mutex // held while a snapshot is written
	long    bool       // the last snapshot failed
	ctx     context.Context
	cancel  context.CancelFunc // cancels running operations

	mu     sync.Mutex
	writes bool
	until  time.Time
}

// ErrLost means that another process may be the writer now, or that this cannot be determined.
var ErrLost = errors.New("no longer the leader")

// Open prepares to follow a log.
func Open(o Options) *Log {
	o.SnapshotEvery = cmp.Or(o.SnapshotEvery, 256)
	if o.Trouble == nil {
		o.Trouble = func(error) {}
	}
	l := &Log{Options: o, state: map[string][]byte{}, seen: o.Now()}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// State returns the state after all records, by key. It belongs to the log.
func (l *Log) State() map[string][]byte { return l.state }

// Term returns the number of the take-over that made this process the writer.
func (l *Log) Term() uint64 { return l.head.Term }

// Held reports whether this process holds the lease: no other process can be the writer now. Any
// goroutine may call it.
func (l *Log) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes && (l.Alone || l.Now().Before(l.until))
}

// held returns the time for which a record gives its writer the lease, counted from before the
// write. Followers wait for the whole lease, counted from when they see the record.
func (l *Log) held() time.Duration { return l.Lease * 3 / 4 }

// Renew returns the time after its last record within which the writer should write another.
func (l *Log) Renew() time.Duration { return l.Lease / 4 }

// Due reports whether it is time to renew the lease.
func (l *Log) Due() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes && l.until.Sub(l.Now()) <= l.Lease/2
}

// warn reports a failure, or the end of failures.
func (l *Log) warn(err error) {
	if l.Warn != nil && (err != nil) != l.warned {
		l.Warn(err)
	}
	l.warned = err != nil
}

// Leader returns the address of the writer, or "" if there is none.
func (l *Log) Leader() string {
	if l.head.Number == 0 || l.head.Kind == released {
		return ""
	}
	return l.head.Address
}

// Found reports whether the log had records before this process wrote any.
func (l *Log) Found() bool { return l.found || l.head.Term > 1 }

// Lead follows the log until there is no writer, and takes over. It calls told whenever the writer
// changes.
func (l *Log) Lead(ctx context.Context, told func(leader string)) error {
	if l.Alone {
		err := l.Poll(ctx)
		if err == nil {
			err = l.complete()
		}
		l.found, l.writes = l.head.Number > 0, err == nil
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
		if err == nil && (l.Leader() == "" || l.Now().Sub(l.seen) > l.head.Lease) {
			err = l.append(ctx, entry{Kind: takeOver, Term: l.head.Term + 1}, l.Now().Add(l.held()))
			if err == nil || ctx.Err() != nil {
				return err
			}
			l.seen = l.Now() // another process has written, or may have
			continue
		}
		if err := parallel.Sleep(ctx, l.Lease/10); err != nil {
			return err
		}
	}
}

// Append commits the new values of keys; nil deletes a key. Without changes it renews the lease. It
// retries while the store fails, until the lease ends. After an error, which is ErrLost, nothing
// more can be written, but the changes may have been committed.
func (l *Log) Append(ctx context.Context, changes map[string][]byte) error {
	return l.write(ctx, entry{Kind: changed, Changes: changes})
}

// Release lets another process take over at once.
func (l *Log) Release(ctx context.Context) error {
	defer l.over()
	return l.write(ctx, entry{Kind: released})
}

// Close waits for running operations, but at most for closing, because a disk may hang.
func (l *Log) Close() {
	l.over()
	defer time.AfterFunc(closing, l.cancel).Stop()
	l.pruning.Wait()
}

// closing bounds the time for a snapshot when the process is about to exit. The next process writes
// one.
const closing = 5 * time.Second

func (l *Log) over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = false
}

// write writes an entry while the lease lasts.
func (l *Log) write(ctx context.Context, e entry) error {
	l.mu.Lock()
	writes, until := l.writes, l.until
	l.mu.Unlock()
	if !writes {
		return ErrLost
	}
	e.Term = l.head.Term
	if l.Alone {
		return l.record(ctx, e)
	}
	return l.append(ctx, e, until)
}

// record writes an entry. It replaces an entry of the same number that was only partly written.
func (l *Log) record(ctx context.Context, e entry) error {
	e.Number, e.Lease, e.Writer, e.Address = l.head.Number+1, l.Lease, l.Writer, l.Address
	data, err := e.encode()
	if err != nil {
		return err
	}
	if err := l.Store.Put(ctx, name(logPrefix, e.Number), bytes.NewReader(data),
		int64(len(data))); err != nil {
		// It may exist, and would be valid for the next process.
		return errors.Join(err, l.Store.Delete(ctx, name(logPrefix, e.Number)))
	}
	l.mu.Lock()
	l.take(&e)
	l.mu.Unlock()
	_ = statefile.NoteNumber(l.Newest, e.Number) // an earlier number is correct too
	l.shorten()
	return nil
}

// append writes an entry as a writer that shares the store. It retries until a time. The lease
// counts from before the first try, because that try may have succeeded, and others may have seen
// the record, although the store reported an error.
func (l *Log) append(ctx context.Context, e entry, until time.Time) error {
	e.Number, e.Lease, e.Writer, e.Address = l.head.Number+1, l.Lease, l.Writer, l.Address
	data, err := e.encode()
	if err != nil {
		l.over()
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	began := l.Now()
	late := fmt.Errorf("%w: nothing could be written to %s for %v", ErrLost, l.Store, l.held())
	ctx, cancel := context.WithTimeoutCause(ctx, until.Sub(began), late)
	defer cancel()
	var last error // the store's last error
	for wait := l.Lease / 200; ; wait = min(2*wait, l.Lease/20) {
		err := Bounded(ctx, func() error { return l.commit(ctx, e.Number, data) })
		switch {
		// Even if it was written: the lease has ended. If this process was stopped, its clock may
		// show that before the context's timer does.
		case ctx.Err() != nil, !l.Now().Before(until):
			l.over()
			cause := cmp.Or(context.Cause(ctx), late)
			if last != nil {
				return fmt.Errorf("%w: %w", cause, last)
			}
			return cause
		case err == nil:
			l.warn(nil)
			l.take(&e)
			l.mu.Lock()
			l.writes, l.until = e.Kind != released, began.Add(l.held())
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

// Bounded returns when ctx ends, even if do hangs, as access to a remote directory may.
func Bounded(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// commit writes a record if its number does not exist. A successful put is not enough: the number
// may have been written and removed while this process was stopped. In that case there is, and
// always will be, a snapshot with that number or a later one.
func (l *Log) commit(ctx context.Context, number uint64, data []byte) error {
	err := l.Store.PutIfAbsent(ctx, name(logPrefix, number), data)
	if errors.Is(err, fs.ErrExist) { // it may be our own, if an answer was lost
		there, readErr := store.Get(ctx, l.Store, name(logPrefix, number), maxEntry)
		switch {
		case errors.Is(readErr, fs.ErrNotExist):
		case readErr != nil:
			return readErr
		case bytes.Equal(there, data):
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%w: another leader wrote record %d of %s", ErrLost, number, l.Store)
		}
	}
	if err != nil {
		return err
	}
	taken, err := l.numbers(ctx, snapshotPrefix)
	if err != nil {
		return err
	}
	if n := len(taken); n > 0 && taken[n-1].number >= number {
		return fmt.Errorf("%w: another leader wrote record %d of %s", ErrLost, taken[n-1].number,
			l.Store)
	}
	return nil
}
