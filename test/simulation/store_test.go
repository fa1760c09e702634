package simulation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/superstep-go/superstep/internal/store"
)

// objects is a store in memory that all hosts can reach. It has the places of checkpoints.
type objects struct {
	mu     sync.Mutex
	places map[string]map[string][]byte
	trouble
}

// trouble is the current trouble of the store.
type trouble struct {
	slow  time.Duration // delay of each call
	full  bool          // writes fail
	away  bool          // all calls fail
	loses bool          // writes succeed but return an error

	fullOf  string // a host whose writes fail
	damages int    // the bit that is flipped in written data; 0 means none
}

func (o *objects) set(change func(*trouble)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(&o.trouble)
}

// damage flips a bit in each object.
func (o *objects) damage(bit int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, at := range o.places {
		for name, data := range at {
			at[name] = turned(data, bit)
		}
	}
}

// of returns a function that opens places for a host. Pending calls of a killed host are not
// performed.
func (o *objects) of(h *host) func(place string) (store.Store, error) {
	return func(place string) (store.Store, error) { return &view{o, place, h}, nil }
}

// view is a place as one host sees it. It is a store.Store.
type view struct {
	all   *objects
	place string
	host  *host
}

var _ store.Store = (*view)(nil)

func (v *view) String() string { return v.place }

// call waits for the store's delay and then performs do on the objects of the place.
func (v *view) call(
	ctx context.Context, name string, writes bool, do func(all map[string][]byte) error,
) error {
	v.all.mu.Lock()
	slow := v.all.slow
	v.all.mu.Unlock()
	select {
	case <-time.After(slow + time.Millisecond):
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	v.host.net.mu.Lock()
	down := v.host.down
	v.host.net.mu.Unlock()
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	switch {
	case down:
		return fmt.Errorf("%s: %w", name, syscall.EHOSTDOWN)
	case v.all.away:
		return fmt.Errorf("%s: %w", name, syscall.EIO)
	case writes && (v.all.full || v.all.fullOf == v.host.name):
		return fmt.Errorf("%s: %w", name, syscall.ENOSPC)
	}
	at := v.all.places[v.place]
	if at == nil {
		if v.all.places == nil {
			v.all.places = map[string]map[string][]byte{}
		}
		at = map[string][]byte{}
		v.all.places[v.place] = at
	}
	if err := do(at); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if writes && v.all.loses {
		return fmt.Errorf("%s: the answer is lost: %w", name, syscall.ETIMEDOUT)
	}
	return nil
}

// kept returns written data as the store keeps it. The caller holds the lock.
func (o *objects) kept(data []byte) []byte {
	if o.damages == 0 {
		return data
	}
	return turned(data, o.damages)
}

func (v *view) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	all, err := io.ReadAll(io.NewSectionReader(data, 0, size))
	if err != nil {
		return err
	}
	return v.call(ctx, name, true, func(at map[string][]byte) error {
		at[name] = v.all.kept(all)
		return nil
	})
}

func (v *view) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return v.call(ctx, name, true, func(at map[string][]byte) error {
		if at[name] != nil {
			return fs.ErrExist
		}
		at[name] = v.all.kept(bytes.Clone(data))
		return nil
	})
}

func (v *view) GetRange(ctx context.Context, o store.Object, off int64, p []byte) error {
	return v.call(ctx, o.Name, false, func(at map[string][]byte) error {
		switch data := at[o.Name]; {
		case data == nil:
			return fs.ErrNotExist
		case int64(len(data)) < off+int64(len(p)):
			return io.ErrUnexpectedEOF
		default:
			copy(p, data[off:])
			return nil
		}
	})
}

func (v *view) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		var found []store.Object
		err := v.call(ctx, prefix, false, func(at map[string][]byte) error {
			for name, data := range at {
				if strings.HasPrefix(name, prefix) {
					found = append(found, store.Object{Name: name, Size: int64(len(data))})
				}
			}
			return nil
		})
		if err != nil {
			yield(store.Object{}, err)
			return
		}
		slices.SortFunc(found,
			func(a, b store.Object) int { return strings.Compare(a.Name, b.Name) })
		for _, o := range found {
			if !yield(o, nil) {
				return
			}
		}
	}
}

func (v *view) Delete(ctx context.Context, name string) error {
	return v.call(ctx, name, true, func(at map[string][]byte) error {
		delete(at, name)
		return nil
	})
}
