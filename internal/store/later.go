package store

import (
	"context"
	"io"
	"iter"
	"sync"
)

// Later returns the store of a place that is opened when it is first used, and, where that fails, each time until it succeeds.
func Later(place string, open func(place string) (Store, error)) Store {
	return &later{place: place, open: open}
}

type later struct {
	place string
	open  func(place string) (Store, error)

	mu     sync.Mutex
	opened Store // nil until then
}

// store returns the opened store, or one that fails with why it cannot be opened.
func (l *later) store() Store {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		s, err := l.open(l.place)
		if err != nil {
			return unopened{err: err}
		}
		l.opened = s
	}
	return l.opened
}

// Close closes the store, if it was opened.
func (l *later) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		Close(l.opened)
	}
	return nil
}

func (l *later) String() string { return l.place }

func (l *later) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	return l.store().Put(ctx, name, data, size)
}

func (l *later) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	return l.store().PutIfAbsent(ctx, name, data)
}

func (l *later) GetRange(ctx context.Context, o Object, off int64, p []byte) error {
	return l.store().GetRange(ctx, o, off, p)
}

func (l *later) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return l.store().List(ctx, prefix)
}

func (l *later) Delete(ctx context.Context, name string) error { return l.store().Delete(ctx, name) }

// unopened is a store that could not be opened.
type unopened struct {
	Store
	err error
}

func (u unopened) Put(context.Context, string, io.ReaderAt, int64) error { return u.err }
func (u unopened) PutIfAbsent(context.Context, string, []byte) error     { return u.err }
func (u unopened) GetRange(context.Context, Object, int64, []byte) error { return u.err }
func (u unopened) Delete(context.Context, string) error                  { return u.err }
func (u unopened) List(context.Context, string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) { yield(Object{}, u.err) }
}
