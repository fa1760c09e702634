package store

import (
	"context"
	"io"
	"iter"
	"sync"
)

// Calls is a store that passes each call to Do with the number of its bytes. Do runs it with some
// store. Effects of a call after Do has returned are ignored.
type Calls struct {
	Place string
	Do    func(ctx context.Context, size int64, call func(ctx context.Context, s Store) error) error
}

func (c *Calls) String() string { return c.Place }

// Put is Store.Put.
func (c *Calls) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	return c.Do(ctx, size,
		func(ctx context.Context, s Store) error { return s.Put(ctx, name, data, size) })
}

// PutIfAbsent is Store.PutIfAbsent.
func (c *Calls) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	put := func(ctx context.Context, s Store) error { return s.PutIfAbsent(ctx, name, data) }
	return c.Do(ctx, int64(len(data)), put)
}

// GetRange is Store.GetRange.
func (c *Calls) GetRange(ctx context.Context, o Object, off int64, p []byte) error {
	data := make([]byte, len(p))
	get := func(ctx context.Context, s Store) error { return s.GetRange(ctx, o, off, data) }
	err := c.Do(ctx, int64(len(p)), get)
	if err == nil {
		copy(p, data)
	}
	return err
}

// List is Store.List.
func (c *Calls) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		var all []Object
		err := c.Do(ctx, 0, func(ctx context.Context, s Store) error {
			for o, err := range s.List(ctx, prefix) {
				if err != nil {
					return err
				}
				all = append(all, o)
			}
			return nil
		})
		if err != nil {
			yield(Object{}, err)
			return
		}
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Delete is Store.Delete.
func (c *Calls) Delete(ctx context.Context, name string) error {
	return c.Do(ctx, 0, func(ctx context.Context, s Store) error { return s.Delete(ctx, name) })
}

// Later returns the store of a place. It opens the store at the first use, and retries at each use
// until that succeeds.
func Later(place string, open func(place string) (Store, error)) Store {
	l := &later{}
	l.Calls = Calls{place, func(ctx context.Context, _ int64,
		call func(context.Context, Store) error,
	) error {
		s, err := l.store(open)
		if err != nil {
			return err
		}
		return call(ctx, s)
	}}
	return l
}

type later struct {
	Calls

	mu     sync.Mutex
	opened Store // nil until then
}

func (l *later) store(open func(place string) (Store, error)) (s Store, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		l.opened, err = open(l.Place)
	}
	return l.opened, err
}

// Close closes the store, if it was opened.
func (l *later) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	Close(l.opened)
	return nil
}
