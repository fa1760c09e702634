package master

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/store"
)

var errFull = errors.New("no space left on device")

// TestFullDisk: of a part that was not written completely nothing is stored.
func TestFullDisk(t *testing.T) {
	for _, text := range []string{"", "1 2\n"} {
		r, err := newResults(t.TempDir(), 1, func(from io.Reader) io.Reader {
			return io.MultiReader(from, iotest.ErrReader(errFull))
		})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := r.put(t.Context(), r.attempt("aaaa-1", 1), 0, strings.NewReader(text))
		if !errors.Is(err, errFull) || sum != nil {
			t.Errorf("found %v, %v, expected %v", sum, err, errFull)
		}
		if f, err := r.local.result(t.Context(), "aaaa-1"); err != nil || len(f.objects) != 0 {
			t.Errorf("found %v, %v", f, err)
		}
		r.close()
	}
}

// TestPartsOfAnAttemptThatEnded: a part that is written completely when its attempt has ended is
// not stored, and parts of the next attempt stay.
func TestPartsOfAnAttemptThatEnded(t *testing.T) {
	r, err := newResults(t.TempDir(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	ctx, end := context.WithCancelCause(t.Context())
	next := r.attempt("aaaa-1", 2)
	over := errors.New("it was cancelled")
	from := io.MultiReader(strings.NewReader("1 2\n"), reading(func() {
		end(over)
		if _, err := r.put(t.Context(), next, 0, strings.NewReader("1 3\n")); err != nil {
			t.Error(err)
		}
		r.remove(r.attempt("aaaa-1", 1))
		r.atDisk.Wait()
	}))
	if sum, err := r.put(ctx, r.attempt("aaaa-1", 1), 0, from); !errors.Is(err, over) ||
		sum != nil {
		t.Errorf("found %v, %v", sum, err)
	}
	all, err := store.SizesOf(t.Context(), r.files, "")
	if err != nil || len(all) != 1 || all[next+"/part-00000"] != 4 {
		t.Errorf("found %v, %v", all, err)
	}
}

// TestPartsOfAKilledMaster: when a result is stored, what a killed master wrote of it is removed.
// Parts of a later attempt stay.
func TestPartsOfAKilledMaster(t *testing.T) {
	r, err := newResults(t.TempDir(), 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	put := func(name string) {
		t.Helper()
		if err := r.files.Put(t.Context(), name, strings.NewReader("1 2\n"), 4); err != nil {
			t.Fatal(err)
		}
	}
	other, now, later := "aaaa-2/part-00000", r.attempt("aaaa-1", 2), r.attempt("aaaa-1", 3)
	killed := filepath.Join(r.files.String(), "aaaa-1", "00000000000000000007_0000000002")
	put("aaaa-1/" + filepath.Base(killed) + "/part-00000")
	if err := os.WriteFile(filepath.Join(killed, ".new-X"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	put("aaaa-1/part-00000") // of an earlier version
	put(other)
	put(now + "/part-00000")
	put(later + "/part-00000")
	r.removeEarlier(now)
	r.atDisk.Wait()
	all, err := store.SizesOf(t.Context(), r.files, "")
	left := all[other] + all[now+"/part-00000"] + all[later+"/part-00000"]
	if err != nil || len(all) != 3 || left != 12 {
		t.Errorf("found %v, %v", all, err)
	}
	if _, err := os.Stat(killed); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the killed master: %v", err)
	}
}

// reading is an empty reader that calls a function.
type reading func()

func (r reading) Read([]byte) (int, error) {
	r()
	return 0, io.EOF
}

// TestResultsOfEarlierVersions: parts that lie in the job's directory, and in one of the master's
// run, are found.
func TestResultsOfEarlierVersions(t *testing.T) {
	for _, dir := range []string{"aaaa-1", "aaaa-1/00000000000000000007"} {
		r, err := newResults(t.TempDir(), 8, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		at := filepath.Join(r.files.String(), dir)
		if err := errors.Join(os.MkdirAll(at, 0o700), os.WriteFile(
			filepath.Join(at, "part-00000"), []byte("1 2\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		old := store.SumOf([]byte("1 2\n"))
		sums := []*control.Sum{{Bytes: 4, Crc32C: old.CRC32C}}
		if got := readAs(t, r, "aaaa-1", sums); got != "1 2\n" {
			t.Errorf("%s: found %q", dir, got)
		}
		_, sums = r.made(t, "aaaa-1", "1 3\n")
		if got := readAs(t, r, "aaaa-1", sums); got != "1 3\n" {
			t.Errorf("%s: of a later attempt: found %q", dir, got)
		}
	}
}
