package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestNextNeverRepeats: concurrent and successive callers get each number once, in order.
func TestNextNeverRepeats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs")
	const callers, each = 8, 5
	var mu sync.Mutex
	seen := map[uint64]bool{}
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			last := uint64(0)
			for range each {
				n, err := Next(path)
				if err != nil || n <= last {
					t.Errorf("after %d: found %d, %v", last, n, err)
				}
				last = n
				mu.Lock()
				seen[n] = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if n, err := Next(path); err != nil || n != callers*each+1 || len(seen) != callers*each {
		t.Errorf("at the end: %d, %v, after %d numbers", n, err, len(seen))
	}
}

// TestNumbersAreSealed: no changed byte and no truncation gives another number. A line with only a
// number, from an earlier version or a user, is accepted.
func TestNumbersAreSealed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs")
	put := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put([]byte("1233\n"))
	if n, err := Next(path); n != 1234 || err != nil {
		t.Fatalf("after the file of an earlier version: %d, %v", n, err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 3
		for _, data := range [][]byte{bad, good[:i]} {
			put(data)
			_, err := Next(path)
			if err == nil || !strings.Contains(err.Error(),
				fmt.Sprintf("%s is damaged: found %.40q, expected a sealed number", path, data)) {
				t.Errorf("of %q: %v", data, err)
			}
			if found, _ := os.ReadFile(path); !bytes.Equal(found, data) {
				t.Errorf("%q became %q", data, found)
			}
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint64{7, 99, 100, 1 << 40} {
		if err := NoteNumber(path, n); err != nil {
			t.Fatal(err)
		}
		if found, err := ReadNumber(path); found != n || err != nil {
			t.Errorf("noted %d, found %d, %v", n, found, err)
		}
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("the second: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	again, err := Lock(path)
	if err != nil {
		t.Fatalf("after the first: %v", err)
	}
	_ = again.Close()
}

// TestALockThatWasRemovedIsNone: a process locks a file that has been removed meanwhile. This lock
// does not count, because others lock the new file of this name.
func TestALockThatWasRemovedIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "held")
	var group sync.WaitGroup
	var using, most atomic.Int32
	for range 4 {
		group.Go(func() {
			for range 25 {
				if err := Locked(path, func() error {
					if n := using.Add(1); n > most.Load() {
						most.Store(n)
					}
					// afterwards the file is gone, and another process may lock a new one
					using.Add(-1)
					return os.Remove(path + ".lock")
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if group.Wait(); most.Load() != 1 {
		t.Errorf("%d had it at once", most.Load())
	}
}

// TestKeyIsOneForAll: concurrent callers get the same key, in a file that only its user can read.
func TestKeyIsOneForAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	keys := make([][]byte, 8)
	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			var err error
			if keys[i], err = Key(path, 32); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, k := range keys {
		if len(k) != 32 || !bytes.Equal(k, keys[0]) || bytes.Equal(k, make([]byte, 32)) {
			t.Errorf("found keys %x and %x", keys[0], k)
		}
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("found %v, %v", info.Mode(), err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes")
	}
	path := filepath.Join(t.TempDir(), "key")
	refused := func(want string) {
		t.Helper()
		if key, err := Key(path, 16); key != nil || err == nil ||
			!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("found %x, %v, expected %q", key, err, want)
		}
	}
	put := func(text string, mode os.FileMode) {
		t.Helper()
		_ = os.Remove(path)
		if err := errors.Join(os.WriteFile(path, []byte(text), mode),
			os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	good := strings.Repeat("0f", 16) + "\n"
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o620} {
		put(good, mode)
		refused("open to others")
	}
	put("0f\n", 0o600)
	refused("hexadecimal digits")
	put("xyz\n", 0o600)
	refused("hexadecimal digits")
	if os.Geteuid() == 0 {
		put(good, 0o600)
		if err := os.Chown(path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		refused("as its owner")
	}
	put(good, 0o600)
	if key, err := Key(path, 16); len(key) != 16 || err != nil {
		t.Errorf("found %x, %v", key, err)
	}
	_ = os.Rename(path, path+"-other")
	if err := os.Symlink(path+"-other", path); err != nil {
		t.Fatal(err)
	}
	refused("regular file")
}

func TestReadSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for size, refused := range map[int]bool{0: false, 1 << 20: false, 1<<20 + 1: true} {
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := ReadSmall(path)
		if refused && (err == nil || err.Error() != path+
			": found more than 1048576 bytes, expected a small file") || !refused && (err != nil ||
			len(data) != size) {
			t.Errorf("of %d bytes: found %d, %v", size, len(data), err)
		}
	}
	if _, err := ReadSmall(path + "-none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestUserDir(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the variables are Linux's")
	}
	state := filepath.Join(t.TempDir(), "state")
	t.Setenv("XDG_STATE_HOME", state)
	dir, err := UserDir()
	if err != nil || dir != filepath.Join(state, "superstep") {
		t.Errorf("found %q, %v", dir, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := UserDir(); err == nil || !strings.Contains(err.Error(), "open to others") {
		t.Errorf("of a directory that all can write to: %v", err)
	}
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", "no/absolute/name")
	t.Setenv("HOME", home)
	if dir, err = PrivateDir("keys"); err != nil || dir != filepath.Join(home, ".local", "state",
		"superstep", "keys") {
		t.Errorf("in a home: %q, %v", dir, err)
	}
	if err := os.Chmod(dir, 0o710); err != nil {
		t.Fatal(err)
	}
	if _, err := PrivateDir("keys"); err == nil ||
		!strings.Contains(err.Error(), "open to others") {
		t.Errorf("of a directory that others can search: %v", err)
	}
	t.Setenv("HOME", "")
	t.Setenv("TMPDIR", t.TempDir())
	if dir, err = UserDir(); err != nil || filepath.Dir(dir) != os.TempDir() {
		t.Errorf("without a home: %q, %v", dir, err)
	}
}
