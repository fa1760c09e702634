package snapshot_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/store"
)

// small saves a small graph.
func small(t *testing.T, o graph.Options) (dir string, s store.Store, g *graph.Graph) {
	t.Helper()
	dir = t.TempDir()
	s = openStore(t, dir)
	g = random(t, 5, 40, 90, true, true, o)
	if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); err != nil {
		t.Fatal(err)
	}
	return dir, s, g
}

// whatComes opens a damaged snapshot. It must be refused with an error that names the file.
func whatComes(t *testing.T, s store.Store, name, what string) {
	t.Helper()
	g, err := open(t, s, nil)
	if err == nil {
		g.Close()
		t.Fatalf("%s: %s: it was opened", name, what)
	}
	if !strings.Contains(err.Error(), filepath.Base(name)) {
		t.Fatalf("%s: %s: the error does not name it: %v", name, what, err)
	}
}

// TestFlippedBytes: a changed byte is detected in every file, mapped or read. It tests a sample of
// the bytes, in make soak all bytes of a snapshot of one partition.
func TestFlippedBytes(t *testing.T) {
	one, several := 20, 200
	if os.Getenv("SUPERSTEP_SOAK") != "" {
		one, several = 1, 50
	}
	flipBytes(t, graph.Options{Weights: 1}, one)
	flipBytes(t, graph.Options{Grid: graph.Grid{Rows: 2, Columns: 2}, Weights: 2}, several)
}

// flipBytes changes a random sample of the bytes, one at a time: one of "of" bytes on average.
func flipBytes(t *testing.T, o graph.Options, of int) {
	dir, s, _ := small(t, o)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, name := range files(t, dir) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		put := func(i int, b byte) {
			if _, err := f.WriteAt([]byte{b}, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range data {
			if rng.IntN(of) > 0 {
				continue
			}
			put(i, data[i]^byte(1+rng.IntN(255)))
			from := s
			if i%8 == 0 {
				from = unmapped{s}
			}
			whatComes(t, from, name, "a byte changed")
			put(i, data[i])
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open(t, s, nil); err != nil {
		t.Errorf("with all bytes as they were: %v", err)
	}
}

// TestCutShort: truncated, extended and missing files are detected.
func TestCutShort(t *testing.T) {
	dir, s, _ := small(t, graph.Options{Grid: graph.Grid{Rows: 2, Columns: 2}})
	for _, name := range files(t, dir) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 1, 20, 4095, 4096, len(data) / 2, len(data) - 1} {
			if err := os.WriteFile(name, data[:min(size, len(data)-1)], 0o600); err != nil {
				t.Fatal(err)
			}
			whatComes(t, s, name, "cut short")
			whatComes(t, unmapped{s}, name, "cut short")
		}
		if err := os.WriteFile(name, append(data, 0), 0o600); err != nil {
			t.Fatal(err)
		}
		whatComes(t, s, name, "longer")
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		whatComes(t, s, name, "gone")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOfAnother: a file of another snapshot is refused although its checksums are right, even if it
// replaces a file of the same name.
func TestOfAnother(t *testing.T) {
	dir, s, _ := small(t, graph.Options{Partitions: 2})
	other, _, _ := small(t, graph.Options{Partitions: 2})
	mine, theirs := files(t, dir), files(t, other)
	data, err := os.ReadFile(theirs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	whatComes(t, s, mine[0], "of another snapshot")
}

// failing is a store that fails after a number of puts, or during a put.
type failing struct {
	store.Store
	left int
}

var errFull = errors.New("no space left on device")

func (f *failing) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	if f.left--; f.left < 0 {
		return errFull
	}
	return f.Store.Put(ctx, name, data, size)
}

func (f *failing) PutIfAbsent(ctx context.Context, name string, data []byte) error {
	if f.left--; f.left < 0 {
		return errFull
	}
	return f.Store.PutIfAbsent(ctx, name, data)
}

// TestFull: saving to a full store fails with the store's error and leaves no snapshot. A later
// save to the same place succeeds.
func TestFull(t *testing.T) {
	g := random(t, 9, 100, 300, false, false, graph.Options{Partitions: 3})
	for left := range 5 { // three partitions, an index and the manifest
		dir := t.TempDir()
		s := openStore(t, dir)
		if _, err := snapshot.Save(t.Context(), &failing{s, left}, g,
			snapshot.Options{}); !errors.Is(err, errFull) {
			t.Fatalf("after %d puts: found %v", left, err)
		}
		if left < 4 && len(files(t, dir)) > 0 {
			t.Errorf("after %d puts: found the files %q", left, files(t, dir))
		}
		if _, err := open(t, s, nil); !errors.Is(err, snapshot.ErrNone) {
			t.Errorf("after %d puts: found %v", left, err)
		}
		if _, err := snapshot.Save(t.Context(), s, g, snapshot.Options{}); err != nil {
			t.Errorf("after %d puts: %v", left, err)
		}
		opened, err := open(t, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, g, opened)
	}
}

// TestInterrupted: a cancelled save leaves no snapshot.
func TestInterrupted(t *testing.T) {
	g := random(t, 9, 100, 300, false, false, graph.Options{Partitions: 3})
	ctx, cancel := context.WithCancelCause(t.Context())
	s := openStore(t, t.TempDir())
	stop := errors.New("stop")
	_, err := snapshot.Save(ctx, s, g,
		snapshot.Options{Progress: func(int64, int64) { cancel(stop) }})
	if !errors.Is(err, stop) {
		t.Errorf("found %v", err)
	}
	if _, err := open(t, s, nil); !errors.Is(err, snapshot.ErrNone) {
		t.Errorf("found %v", err)
	}
}

// TestSavedAtOnce: several processes save to the same place at the same time. One complete snapshot
// remains, and no file of the others.
func TestSavedAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	g := random(t, 9, 100, 300, false, true, graph.Options{Partitions: 3})
	const savers = 4
	done := make(chan error, savers)
	for range savers {
		go func() {
			_, err := snapshot.Save(context.Background(), s, g, snapshot.Options{})
			done <- err
		}()
	}
	saved := 0
	for range savers {
		if err := <-done; err == nil {
			saved++
		} else if !errors.Is(err, os.ErrExist) {
			t.Error(err)
		}
	}
	if n := len(files(t, dir)); saved != 1 || n != 5 {
		t.Errorf("%d have saved, and there are %d files", saved, n)
	}
	opened, err := open(t, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, g, opened)
}
