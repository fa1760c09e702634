package storetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/superstep-go/superstep/internal/store"
)

// Memory holds the objects of a store in memory. Several Views can share it.
type Memory struct {
	mu      sync.Mutex
	objects map[string]object
	puts    int
	// Overwrites makes PutIfAbsent replace existing objects: a fault that the tests of its callers
	// must detect.
	Overwrites bool
}

type object struct {
	data    []byte
	version string
}

// Names returns the names of all objects, sorted.
func (m *Memory) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

// View is a store as one process sees it. Trouble, if not nil, is called before and after each
// operation, and may block. The operation returns Trouble's error. If done is true, the operation
// has taken effect all the same.
type View struct {
	*Memory
	Trouble func(ctx context.Context, call, name string, done bool) error
}

var _ store.Store = (*View)(nil)

// call runs an operation on the objects, with Trouble before and after it.
func (v *View) call(ctx context.Context, what, name string, do func() error) error {
	failed := func(done bool) error {
		if v.Trouble == nil {
			return nil
		}
		return v.Trouble(ctx, what, name, done)
	}
	err := failed(false)
	if err == nil {
		v.mu.Lock()
		err = do()
		v.mu.Unlock()
		if lost := failed(true); lost != nil {
			err = lost
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, name, err)
	}
	return nil
}

func (v *View) String() string { return "memory" }

func (v *View) set(name string, data []byte) {
	if v.objects == nil {
		v.objects = map[string]object{}
	}
	v.puts++
	v.objects[name] = object{bytes.Clone(data), fmt.Sprint(v.puts)}
}

// Put implements store.Store.
func (v *View) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	all := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(data, 0, size), all); err != nil {
		return err
	}
	return v.call(ctx, "put", name, func() error {
		v.set(name, all)
		return nil
	})
}

// PutIfAbsent implements store.Store.
func (v *View) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return v.call(ctx, "put if absent", name, func() error {
		if _, there := v.objects[name]; there && !v.Overwrites {
			return fs.ErrExist
		}
		v.set(name, data)
		return nil
	})
}

// GetRange implements store.Store.
func (v *View) GetRange(ctx context.Context, o store.Object, off int64, p []byte) error {
	return v.call(ctx, "get", o.Name, func() error {
		found, there := v.objects[o.Name]
		switch {
		case !there:
			return fs.ErrNotExist
		case o.Version != "" && o.Version != found.version:
			return store.ErrChanged
		case off+int64(len(p)) > int64(len(found.data)):
			return io.ErrUnexpectedEOF
		}
		copy(p, found.data[off:])
		return nil
	})
}

// List implements store.Store.
func (v *View) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		var found []store.Object
		err := v.call(ctx, "list", prefix, func() error {
			for _, name := range slices.Sorted(maps.Keys(v.objects)) {
				if strings.HasPrefix(name, prefix) {
					o := v.objects[name]
					found = append(found,
						store.Object{Name: name, Size: int64(len(o.data)), Version: o.version})
				}
			}
			return nil
		})
		if err != nil {
			yield(store.Object{}, err)
			return
		}
		for _, o := range found {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Delete implements store.Store.
func (v *View) Delete(ctx context.Context, name string) error {
	return v.call(ctx, "delete", name, func() error {
		delete(v.objects, name)
		return nil
	})
}
