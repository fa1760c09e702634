package standby

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/statefile"
	"github.com/superstep-go/superstep/internal/store"
)

// numbers lists the objects with a prefix. It ignores other names.
func (l *Log) numbers(ctx context.Context, prefix string) ([]store.Object, []uint64, error) {
	var all []store.Object
	var numbers []uint64
	err := l.within(ctx, l.Lease, func(ctx context.Context) error {
		for o, err := range l.Store.List(ctx, prefix) {
			if err != nil {
				return err
			}
			if n, err := strconv.ParseUint(o.Name[len(prefix):], 10, 64); err == nil &&
				name(prefix, n) == o.Name {
				all, numbers = append(all, o), append(numbers, n)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err // a hanging call may still append to them
	}
	return all, numbers, nil
}

// within returns after d at the latest, even if the store hangs.
func (l *Log) within(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d,
		fmt.Errorf("%s does not answer within %v", l.Store, d))
	defer cancel()
	return Bounded(ctx, func() error { return do(ctx) })
}

// read reads a listed object.
func (l *Log) read(ctx context.Context, o store.Object, number uint64) (*entry, error) {
	if o.Size > maxEntry {
		return nil, fmt.Errorf("%s/%s: %w", l.Store, o.Name, errDamaged)
	}
	data := make([]byte, o.Size)
	get := func(ctx context.Context) error { return l.Store.GetRange(ctx, o, 0, data) }
	if err := l.within(ctx, 10*l.Lease, get); err != nil {
		return nil, err
	}
	e, err := decode(data, number)
	if err == nil && (e.kind == snapshot) != strings.HasPrefix(o.Name, snapshotPrefix) {
		err = errDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", l.Store, o.Name, err)
	}
	return e, nil
}

// Poll reads new records. It lists records before snapshots. If no snapshot is newer than the last
// record read, none of the listed later records had been removed before, so an object with a number
// is the first with that number.
func (l *Log) Poll(ctx context.Context) (err error) {
	// A listed object may be removed before it is read; then there is a newer snapshot.
	for range 3 {
		if err = l.poll(ctx); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

func (l *Log) poll(ctx context.Context) error {
	records, numbers, err := l.numbers(ctx, logPrefix)
	if err != nil {
		return err
	}
	snapshots, taken, err := l.numbers(ctx, snapshotPrefix)
	if err != nil {
		return err
	}
	var damaged []error // errors of the newest snapshots; the log continues from an earlier one
	for i := len(snapshots) - 1; i >= 0 && taken[i] > l.number; i-- {
		e, err := l.read(ctx, snapshots[i], taken[i])
		if err == nil {
			l.state = map[string][]byte{}
			l.take(e)
			break
		}
		if damaged = append(damaged, err); len(damaged) > 1 {
			return errors.Join(damaged...)
		}
	}
	for i, n := range numbers {
		if n <= l.number {
			continue
		}
		if n != l.number+1 {
			return errors.Join(append(damaged, fmt.Errorf("%s: there is no record %d, but %d",
				l.Store, l.number+1, n))...)
		}
		e, err := l.read(ctx, records[i], n)
		if err != nil {
			return err
		}
		l.take(e)
	}
	if len(taken) > 0 {
		if l.last = taken[len(taken)-1]; l.last > l.number {
			return errors.Join(damaged...)
		}
	}
	return nil
}

// complete returns an error if the newest records are missing.
func (l *Log) complete() error {
	newest, err := statefile.ReadNumber(l.Newest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// no file was configured, or the log is from an earlier version, or new
	case err != nil:
		l.Trouble(fmt.Errorf("cannot check if the newest records of %s are missing: %w", l.Store,
			err))
		return os.Remove(l.Newest)
	case newest > l.number:
		return fmt.Errorf(
			"%s: the newest record is %d, expected %d: remove the file %s to use the log as it is",
			l.Store, l.number, newest, l.Newest)
	}
	return nil
}

// take applies an entry.
func (l *Log) take(e *entry) {
	apply(l.state, e.changes)
	l.number, l.head, l.seen = e.number, *e, l.Now()
	l.head.changes = nil
}
