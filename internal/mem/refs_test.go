package mem

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestRefs: Refs frees once, after Close and the last Release, in either order.
func TestRefs(t *testing.T) {
	freed := 0
	r := NewRefs(func() { freed++ })
	want := func(n int, when string) {
		t.Helper()
		if freed != n {
			t.Fatalf("%s: freed %d times, expected %d", when, freed, n)
		}
	}
	for range 2 {
		if !r.Acquire() {
			t.Fatal("an open count refuses a user")
		}
	}
	r.Release()
	want(0, "open, with a user")
	r.Release()
	want(0, "open, without users")
	if !r.Acquire() {
		t.Fatal("an open count refuses a user")
	}
	r.Close()
	r.Close()
	want(0, "closed, with a user")
	if r.Acquire() {
		t.Error("a closed count takes a user")
	}
	r.Release()
	want(1, "closed, the last user gone")
	r.Close()
	want(1, "closed again")

	NewRefs(func() { freed++ }).Close()
	want(2, "closed without users")
}

// TestRefsOfMany acquires and closes concurrently. Nobody who has acquired finds it freed, and it
// is freed once.
func TestRefsOfMany(t *testing.T) {
	for range 200 {
		var freed atomic.Int32
		r := NewRefs(func() { freed.Add(1) })
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for r.Acquire() {
					if freed.Load() != 0 {
						t.Error("freed while it is used")
					}
					r.Release()
				}
			})
		}
		group.Go(r.Close)
		group.Go(r.Close)
		group.Wait()
		if n := freed.Load(); n != 1 {
			t.Fatalf("freed %d times", n)
		}
	}
}

// TestReleaseWithoutAcquire: a Release too many panics.
func TestReleaseWithoutAcquire(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a release too many went unseen")
		}
	}()
	NewRefs(func() {}).Release()
}
