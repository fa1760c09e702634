package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/storetest"
)

// TestLater: a store that is opened at its first use behaves like any store.
func TestLater(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s := store.Later(t.TempDir(), store.Open)
		t.Cleanup(func() { store.Close(s) })
		return s
	})
}

// TestLaterAgain: if opening a store fails, each use tries again. A store that was never opened can
// be closed.
func TestLaterAgain(t *testing.T) {
	place := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(place, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{place, "s3://A_b"} {
		if s, err := store.Open(bad); err == nil || s != nil {
			t.Errorf("%s: found %v, %v", bad, s, err)
		}
	}
	s := store.Later(place, store.Open)
	for range 2 {
		if err := s.PutIfAbsent(t.Context(), "a", []byte("b")); err == nil {
			t.Fatal("a file was opened as a directory")
		}
		for _, err := range s.List(t.Context(), "") {
			if err == nil {
				t.Fatal("a file was listed as a directory")
			}
		}
	}
	store.Close(s)
	if err := os.Remove(place); err != nil {
		t.Fatal(err)
	}
	if err := s.PutIfAbsent(t.Context(), "a", []byte("b")); err != nil {
		t.Error(err)
	}
	store.Close(s)
}
