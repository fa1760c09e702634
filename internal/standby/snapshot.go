package standby

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Snapshot is a state as a log may begin with it: an object of a store, by name.
type Snapshot struct {
	Name  string
	Data  []byte
	State map[string][]byte
}

// Snapshot returns what the records come to now. Any goroutine may ask, if this process writes alone.
func (l *Log) Snapshot() Snapshot {
	l.mu.Lock()
	e, state := l.head, maps.Clone(l.state)
	l.mu.Unlock()
	e.kind, e.changes = snapshot, changesOf(state)
	return Snapshot{name(snapshotPrefix, e.number), e.encode(), state}
}

// shorten writes a snapshot beside what else is done, when it is time.
func (l *Log) shorten() {
	if l.number < l.last+l.SnapshotEvery {
		return
	}
	select {
	case l.busy <- struct{}{}:
	default:
		return
	}
	e := l.head
	e.kind, e.changes = snapshot, changesOf(l.state)
	l.last = l.number
	l.pruning.Go(func() {
		defer func() { <-l.busy }()
		ctx, cancel := context.WithTimeout(context.Background(), 10*l.Lease)
		defer cancel()
		if err := bounded(ctx, func() error { return l.prune(ctx, &e) }); err != nil && l.Long != nil {
			l.Long(fmt.Errorf("%s has more than the last %d records: %w", l.Store, l.SnapshotEvery, err))
		}
	})
}

// prune writes a snapshot, and removes what is before the one before it.
func (l *Log) prune(ctx context.Context, e *entry) error {
	data := e.encode()
	if len(data) > maxEntry {
		return fmt.Errorf("a snapshot has %d bytes, expected at most %d", len(data), maxEntry)
	}
	if err := l.Store.PutIfAbsent(ctx, name(snapshotPrefix, e.number), data); err != nil && !errors.Is(err, fs.ErrExist) {
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
