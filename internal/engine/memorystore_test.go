package engine_test

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/superstep-go/superstep/internal/store"
)

// memory is a store in memory, so that checkpoints are as fast as supersteps. While a run
// continues, it lists no objects, so nothing is pruned.
type memory struct {
	mu      sync.Mutex
	objects map[string][]byte
	running bool
}

func (m *memory) String() string { return "memory" }

func (m *memory) Put(_ context.Context, name string, data io.ReaderAt, size int64) error {
	b := make([]byte, size)
	if _, err := data.ReadAt(b, 0); err != nil && err != io.EOF {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[name] = b
	return nil
}

func (m *memory) PutIfAbsent(_ context.Context, name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, found := m.objects[name]; found {
		return fs.ErrExist
	}
	m.objects[name] = data
	return nil
}

func (m *memory) GetRange(_ context.Context, o store.Object, off int64, p []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.objects[o.Name]
	if !ok {
		return fs.ErrNotExist
	}
	copy(p, b[off:])
	return nil
}

func (m *memory) List(_ context.Context, prefix string) iter.Seq2[store.Object, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []store.Object
	if m.running {
		return func(func(store.Object, error) bool) {}
	}
	for _, name := range slices.Sorted(maps.Keys(m.objects)) {
		if strings.HasPrefix(name, prefix) {
			found = append(found, store.Object{Name: name, Size: int64(len(m.objects[name]))})
		}
	}
	return func(yield func(store.Object, error) bool) {
		for _, o := range found {
			if !yield(o, nil) {
				return
			}
		}
	}
}

func (m *memory) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
	return nil
}
