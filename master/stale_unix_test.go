//go:build unix

package master

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestStalePipe: any user can create files in the temporary directory. A pipe, link or directory in
// place of a lock does not block a starting master, and stays unchanged.
func TestStalePipe(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var left []string
	for name, put := range map[string]func(lock string) error{
		"pipe":      func(lock string) error { return syscall.Mkfifo(lock, 0o600) },
		"link":      func(lock string) error { return os.Symlink("/dev/null", lock) },
		"directory": func(lock string) error { return os.Mkdir(lock, 0o700) },
	} {
		dir := filepath.Join(os.TempDir(), temporaryName+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := put(filepath.Join(dir, lockName)); err != nil {
			t.Fatal(err)
		}
		left = append(left, dir)
	}
	made := make(chan error, 1)
	go func() {
		r, err := newResults("", 1, nil)
		if err == nil {
			r.close()
		}
		made <- err
	}()
	select {
	case err := <-made:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("a master waits for a pipe")
	}
	for _, dir := range left {
		if _, err := os.Lstat(dir); err != nil {
			t.Error(err)
		}
	}
}
