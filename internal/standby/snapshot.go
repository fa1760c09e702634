package standby

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Snapshot returns the current state, and an object (name and data) with which a log may begin. Any
// goroutine may call it if this process writes alone.
func (l *Log) Snapshot() (state map[string][]byte, object string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.head
	e.kind, e.changes = snapshot, changesOf(l.state)
	return maps.Clone(l.state), name(snapshotPrefix, e.number), e.encode()
}

// shorten writes a snapshot in the background, if it is time.
func (l *Log) shorten() {
	if l.number < l.last+l.SnapshotEvery || !l.busy.TryLock() {
		return
	}
	e := l.head
	e.kind, e.changes = snapshot, changesOf(l.state)
	l.last = l.number
	l.pruning.Go(func() {
		defer l.busy.Unlock()
		err := l.within(l.ctx, 10*l.Lease,
			func(ctx context.Context) error { return l.prune(ctx, &e) })
		if err != nil && !l.long {
			l.Trouble(fmt.Errorf("the log in %s grows because it cannot be compacted; the next attempt is after %d more records: %w",
				l.Store, l.SnapshotEvery, err))
		}
		l.long = err != nil
	})
}

// prune writes a snapshot, and removes all objects before the previous one.
func (l *Log) prune(ctx context.Context, e *entry) error {
	data := e.encode()
	if len(data) > maxEntry {
		return fmt.Errorf("a snapshot has %d bytes, expected at most %d", len(data), maxEntry)
	}
	var err error
	if !l.Alone {
		err = l.Store.PutIfAbsent(ctx, name(snapshotPrefix, e.number), data)
	} else { // no other process writes this number, and some file systems have no links
		err = l.Store.Put(ctx, name(snapshotPrefix, e.number), bytes.NewReader(data),
			int64(len(data)))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	snapshots, taken, err := l.numbers(ctx, snapshotPrefix)
	if err != nil {
		return err
	}
	i := slices.Index(taken, e.number)
	if i < 1 {
		return nil
	}
	gone := slices.Clone(snapshots[:i-1])
	records, numbers, err := l.numbers(ctx, logPrefix)
	if err != nil {
		return err
	}
	for k, n := range numbers {
		if n <= taken[i-1] {
			gone = append(gone, records[k])
		}
	}
	for _, o := range gone {
		if err := l.Store.Delete(ctx, o.Name); err != nil {
			return err
		}
	}
	return nil
}
