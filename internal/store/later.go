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

func (l *later) store() (Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		return l.opened, nil
	}
	s, err := l.open(l.place)
	if err != nil {
		return nil, err
	}
	l.opened = s
	return s, nil
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
	s, err := l.store()
	if err != nil {
		return err
	}
	return s.Put(ctx, name, data, size)
}

func (l *later) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	s, err := l.store()
	if err != nil {
		return err
	}
	return s.PutIfAbsent(ctx, name, data)
}

func (l *later) GetRange(ctx context.Context, o Object, off int64, p []byte) error {
	s, err := l.store()
	if err != nil {
		return err
	}
	return s.GetRange(ctx, o, off, p)
}

func (l *later) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	s, err := l.store()
	if err != nil {
		return func(yield func(Object, error) bool) { yield(Object{}, err) }
	}
	return s.List(ctx, prefix)
}

func (l *later) Delete(ctx context.Context, name string) error {
	s, err := l.store()
	if err != nil {
		return err
	}
	return s.Delete(ctx, name)
}
