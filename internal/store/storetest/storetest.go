// Package storetest has the tests that every store must pass.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/superstep-go/superstep/internal/store"
)

// Run runs all tests, each on an empty store that open returns.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s store.Store)
	}{
		{"Whole", whole},
		{"Replace", replace},
		{"Ranges", ranges},
		{"Changed", changed},
		{"Absent", absent},
		{"OneCommits", oneCommits},
		{"Lists", lists},
		{"Delete", remove},
		{"Names", names},
		{"Short", short},
		{"Cancelled", cancelled},
		{"Large", large},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func put(t *testing.T, s store.Store, name, data string) {
	t.Helper()
	if err := s.Put(t.Context(), name, strings.NewReader(data), int64(len(data))); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s store.Store, name string) string {
	t.Helper()
	data, err := store.Get(t.Context(), s, name, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("found error %v, expected %v", err, want)
	}
}

func listed(t *testing.T, s store.Store, prefix string) string {
	t.Helper()
	var found []string
	for o, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("%s:%d", o.Name, o.Size))
	}
	return strings.Join(found, " ")
}

func whole(t *testing.T, s store.Store) {
	put(t, s, "a/b/c", "hello")
	put(t, s, "empty", "")
	if got := get(t, s, "a/b/c"); got != "hello" {
		t.Errorf("found %q", got)
	}
	if got := get(t, s, "empty"); got != "" {
		t.Errorf("found %q", got)
	}
	if _, err := store.Get(t.Context(), s, "a/b/c", 4); err == nil {
		t.Error("an object larger than allowed was read")
	}
	for _, name := range []string{"a/b", "a/b/c/d", "none"} {
		_, err := store.Get(t.Context(), s, name, 4)
		is(t, err, fs.ErrNotExist)
		is(t, s.GetRange(t.Context(), store.Object{Name: "none/" + name}, 0, make([]byte, 1)),
			fs.ErrNotExist)
	}
}

func replace(t *testing.T, s store.Store) {
	put(t, s, "x", "first")
	put(t, s, "x", "and last")
	if got := get(t, s, "x"); got != "and last" {
		t.Errorf("found %q", got)
	}
	if got := listed(t, s, ""); got != "x:8" {
		t.Errorf("found %q", got)
	}
}

func ranges(t *testing.T, s store.Store) {
	put(t, s, "x", "0123456789")
	for _, r := range []struct {
		off  int64
		n    int
		want string
	}{{0, 10, "0123456789"}, {0, 1, "0"}, {9, 1, "9"}, {3, 4, "3456"}, {4, 0, ""}} {
		p := make([]byte, r.n)
		if err := s.GetRange(t.Context(), store.Object{Name: "x"}, r.off, p); err != nil ||
			string(p) != r.want {
			t.Errorf("%d bytes from %d: found %q, %v", r.n, r.off, p, err)
		}
	}
	for _, off := range []int64{5, 10, 11, 1 << 40} {
		if err := s.GetRange(t.Context(), store.Object{Name: "x"}, off,
			make([]byte, 6)); err == nil {
			t.Errorf("6 bytes from %d of 10 were read", off)
		}
	}
}

func changed(t *testing.T, s store.Store) {
	put(t, s, "x", "first")
	o, err := store.Stat(t.Context(), s, "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.GetRange(t.Context(), o, 0, make([]byte, 5)); err != nil {
		t.Error(err)
	}
	put(t, s, "x", "second")
	is(t, s.GetRange(t.Context(), o, 0, make([]byte, 5)), store.ErrChanged)
}

func absent(t *testing.T, s store.Store) {
	if err := s.PutIfAbsent(t.Context(), "m/1", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	is(t, s.PutIfAbsent(t.Context(), "m/1", []byte("yours")), fs.ErrExist)
	if got := get(t, s, "m/1"); got != "mine" {
		t.Errorf("found %q", got)
	}
	if err := s.Delete(t.Context(), "m/1"); err != nil {
		t.Fatal(err)
	}
	if err := s.PutIfAbsent(t.Context(), "m/1", []byte("yours")); err != nil {
		t.Error(err)
	}
}

// oneCommits checks that one of several concurrent calls of PutIfAbsent succeeds, and that the
// store has its data.
func oneCommits(t *testing.T, s store.Store) {
	for round := range 5 {
		name := fmt.Sprintf("commit/%d", round)
		var won atomic.Int64
		var winner atomic.Value
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				data := fmt.Sprintf("writer %d", i)
				err := s.PutIfAbsent(t.Context(), name, []byte(data))
				if err == nil {
					won.Add(1)
					winner.Store(data)
				} else if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("found %d who committed, expected 1", n)
		}
		if got := get(t, s, name); got != winner.Load() {
			t.Errorf("found %q, of %q who was told that it committed", got, winner.Load())
		}
	}
}

func lists(t *testing.T, s store.Store) {
	for _, name := range []string{"b/2", "a/1", "a-b", "b/10", "a/x/y", "ab"} {
		put(t, s, name, name)
	}
	for prefix, want := range map[string]string{
		"":      "a-b:3 a/1:3 a/x/y:5 ab:2 b/10:4 b/2:3",
		"a":     "a-b:3 a/1:3 a/x/y:5 ab:2",
		"a/":    "a/1:3 a/x/y:5",
		"a/x":   "a/x/y:5",
		"b/1":   "b/10:4",
		"c":     "",
		"a/1/z": "",
	} {
		if got := listed(t, s, prefix); got != want {
			t.Errorf("prefix %q: found %q, expected %q", prefix, got, want)
		}
	}
	for o, err := range s.List(t.Context(), "") {
		if err != nil || o.Name != "a-b" {
			t.Errorf("found %v, %v", o, err)
		}
		break
	}
}

func remove(t *testing.T, s store.Store) {
	put(t, s, "x", "1")
	for range 2 {
		if err := s.Delete(t.Context(), "x"); err != nil {
			t.Error(err)
		}
	}
	if err := s.Delete(t.Context(), "no/where"); err != nil {
		t.Error(err)
	}
	if got := listed(t, s, ""); got != "" {
		t.Errorf("found %q", got)
	}
}

func names(t *testing.T, s store.Store) {
	for _, name := range []string{"", ".", "..", "../x", "/x", "x/", "a//b", "a/../b", "a/./b", `a\b`, "a\xff", strings.Repeat("x", 1000)} {
		if err := s.Put(t.Context(), name, strings.NewReader("1"), 1); err == nil {
			t.Errorf("an object was put under %q", name)
		}
		is(t, s.PutIfAbsent(t.Context(), name, []byte("1")), fs.ErrInvalid)
		is(t, s.GetRange(t.Context(), store.Object{Name: name}, 0, make([]byte, 1)), fs.ErrInvalid)
		is(t, s.Delete(t.Context(), name), fs.ErrInvalid)
	}
	put(t, s, "Rue de Rivoli/é+?&=%20#", "1")
	if got := listed(t, s, "Rue"); got != "Rue de Rivoli/é+?&=%20#:1" {
		t.Errorf("found %q", got)
	}
	if got := get(t, s, "Rue de Rivoli/é+?&=%20#"); got != "1" {
		t.Errorf("found %q", got)
	}
}

// short checks that Put changes nothing if its data are too short or cannot be read.
func short(t *testing.T, s store.Store) {
	put(t, s, "x", "there")
	all := map[string]io.ReaderAt{"short": strings.NewReader("123"), "failed": broken{}}
	for name, data := range all {
		for _, to := range []string{"x", "new"} {
			if err := s.Put(t.Context(), to, data, 10); err == nil {
				t.Errorf("%s data were put", name)
			}
		}
	}
	if got := listed(t, s, ""); got != "x:5" {
		t.Errorf("found %q", got)
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errors.New("the source broke") }

func cancelled(t *testing.T, s store.Store) {
	put(t, s, "x", "there")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	is(t, s.Put(ctx, "x", strings.NewReader("1"), 1), context.Canceled)
	is(t, s.PutIfAbsent(ctx, "y", []byte("1")), context.Canceled)
	is(t, s.GetRange(ctx, store.Object{Name: "x"}, 0, make([]byte, 1)), context.Canceled)
	is(t, s.Delete(ctx, "x"), context.Canceled)
	for _, err := range s.List(ctx, "") {
		is(t, err, context.Canceled)
	}
	if got := listed(t, s, ""); got != "x:5" {
		t.Errorf("found %q", got)
	}
}

// large tests an object that is uploaded in several parts.
func large(t *testing.T, s store.Store) {
	data := make([]byte, 17<<20+5)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	if err := s.Put(t.Context(), "large", bytes.NewReader(data), int64(len(data))); err != nil {
		t.Fatal(err)
	}
	o, err := store.Stat(t.Context(), s, "large")
	if err != nil || o.Size != int64(len(data)) {
		t.Fatalf("found %v, %v", o, err)
	}
	p := make([]byte, 3<<20)
	off := int64(len(data) - len(p))
	if err := s.GetRange(t.Context(), o, off, p); err != nil || !bytes.Equal(p, data[off:]) {
		t.Errorf("the end is another: %v", err)
	}
}
