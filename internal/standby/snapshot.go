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
func (l *Log) Snapshot() (state map[string][]byte, object string, data []byte, err error) {
	l.mu.Lock()
	e := l.whole()
	l.mu.Unlock()
	data, err = e.encode()
	return e.Changes, name(snapshotPrefix, e.Number), data, err
}

// whole returns the snapshot of the current state.
func (l *Log) whole() entry {
	e := l.head
	e.Kind, e.Changes = snapshot, maps.Clone(l.state)
	return e
}

// shorten writes a snapshot in the background, if it is time.
func (l *Log) shorten() {
	if l.head.Number < l.last+l.SnapshotEvery || !l.busy.TryLock() {
		return
	}
	e := l.whole()
	l.last = l.head.Number
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
	data, err := e.encode()
	if err != nil {
		return err
	}
	if !l.Alone {
		err = l.Store.PutIfAbsent(ctx, name(snapshotPrefix, e.Number), data)
	} else { // no other process writes this number, and some file systems have no links
		err = l.Store.Put(ctx, name(snapshotPrefix, e.Number), bytes.NewReader(data),
			int64(len(data)))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	snapshots, err := l.numbers(ctx, snapshotPrefix)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(snapshots, func(o numbered) bool { return o.number == e.Number })
	if i < 1 {
		return nil
	}
	records, err := l.numbers(ctx, logPrefix)
	if err != nil {
		return err
	}
	last := snapshots[i-1].number
	for _, o := range slices.Concat(snapshots[:i-1], records) {
		if o.number > last {
			continue
		}
		if err := l.Store.Delete(ctx, o.Name); err != nil {
			return err
		}
	}
	return nil
}
