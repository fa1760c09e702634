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

// numbered is an object that has a number in its name.
type numbered struct {
	store.Object
	number uint64
}

// numbers lists the numbered objects with a prefix, in order. It ignores other names.
func (l *Log) numbers(ctx context.Context, prefix string) ([]numbered, error) {
	var all []numbered
	err := l.within(ctx, l.Lease, func(ctx context.Context) error {
		for o, err := range l.Store.List(ctx, prefix) {
			if err != nil {
				return err
			}
			if n, err := strconv.ParseUint(o.Name[len(prefix):], 10, 64); err == nil &&
				name(prefix, n) == o.Name {
				all = append(all, numbered{o, n})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err // a hanging call may still append
	}
	return all, nil
}

// within returns after d at the latest, even if the store hangs.
func (l *Log) within(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d,
		fmt.Errorf("%s does not answer within %v", l.Store, d))
	defer cancel()
	return Bounded(ctx, func() error { return do(ctx) })
}

// read reads a listed object.
func (l *Log) read(ctx context.Context, o numbered) (*entry, error) {
	var data []byte
	get := func(ctx context.Context) (err error) {
		data, err = store.Fetch(ctx, l.Store, o.Object, maxEntry)
		return err
	}
	if err := l.within(ctx, 10*l.Lease, get); err != nil {
		return nil, err
	}
	e, err := decode(data, o.number)
	if err == nil && (e.Kind == snapshot) != strings.HasPrefix(o.Name, snapshotPrefix) {
		err = store.ErrDamaged
	}
	return e, store.At(l.Store, o.Name, err)
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
	records, err := l.numbers(ctx, logPrefix)
	if err != nil {
		return err
	}
	snapshots, err := l.numbers(ctx, snapshotPrefix)
	if err != nil {
		return err
	}
	var damaged []error // errors of the newest snapshots; the log continues from an earlier one
	for i := len(snapshots) - 1; i >= 0 && snapshots[i].number > l.head.Number; i-- {
		e, err := l.read(ctx, snapshots[i])
		if err == nil {
			l.state = map[string][]byte{}
			l.take(e)
			break
		}
		if damaged = append(damaged, err); len(damaged) > 1 {
			return errors.Join(damaged...)
		}
	}
	for _, o := range records {
		if o.number <= l.head.Number {
			continue
		}
		if o.number != l.head.Number+1 {
			return errors.Join(append(damaged, fmt.Errorf("%s: there is no record %d, but %d",
				l.Store, l.head.Number+1, o.number))...)
		}
		e, err := l.read(ctx, o)
		if err != nil {
			return err
		}
		l.take(e)
	}
	if n := len(snapshots); n > 0 {
		if l.last = snapshots[n-1].number; l.last > l.head.Number {
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
	case newest > l.head.Number:
		return fmt.Errorf(
			"%s: the newest record is %d, expected %d: remove the file %s to use the log as it is",
			l.Store, l.head.Number, newest, l.Newest)
	}
	return nil
}

// take applies an entry.
func (l *Log) take(e *entry) {
	for key, data := range e.Changes {
		if l.state[key] = data; data == nil {
			delete(l.state, key)
		}
	}
	l.head, l.seen = *e, l.Now()
	l.head.Changes = nil
}
