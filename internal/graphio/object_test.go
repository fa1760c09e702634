package graphio

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/superstep-go/superstep/internal/store"
)

// objects is a directory as a bucket. It counts requests for lists.
type objects struct {
	store.Store
	lists atomic.Int64
}

func (o *objects) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	o.lists.Add(1)
	return o.Store.List(ctx, prefix)
}

// bucket returns the bucket s3://b with a file.
func bucket(t *testing.T, name, content string) *objects {
	t.Helper()
	dir := t.TempDir()
	putIn(t, dir, name, content)
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close(s) })
	o := &objects{Store: s}
	store.Register(store.S3, func(string) (store.Store, error) { return o, nil })
	return o
}

// TestObjectAgain: an object is read again after the context of its opener has ended.
func TestObjectAgain(t *testing.T) {
	bucket(t, "a.metis", "2 1 1\n2 3\n1 4\n")
	ctx, cancel := context.WithCancel(t.Context())
	s, err := newReader(ReadOptions{}, pieceSize).readRank(ctx, "s3://b/a.metis")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	wantError(t, s.Unbalanced(t.Context()), "s3://b/a.metis", "s3://b/a.metis: found edges with "+
		"different weights in the lists of their two ends, expected the same weight in the lists "+
		"of both ends")
}

// TestObjectInputs: the format and the files of an object need one request.
func TestObjectInputs(t *testing.T) {
	for _, format := range []Format{"", EL} {
		o := bucket(t, "a.el", "1 2\n")
		got, files, err := inputs(t.Context(), "s3://b/a.el", format)
		if err != nil || got != EL || len(files) != 1 || o.lists.Load() != 1 {
			t.Errorf("format %q: found %s, %v, %v, %d lists", format, got, files, err,
				o.lists.Load())
		}
	}
}
