//go:build linux

package chaos_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// place is where checkpoints are kept: a small file system of its own, where the test may mount one, that can be full or read-only.
type place struct {
	t    *testing.T
	dir  string
	own  bool        // it is a file system
	left atomic.Bool // what fills it could not be removed while it was read-only
}

// placeSize is so small that it can be filled.
const placeSize = "64m"

func newPlace(t *testing.T, dir string) *place {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: dir}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+placeSize); err != nil {
		t.Logf("checkpoints have no file system of their own, which is not filled then: %v", err)
		return p
	}
	p.own = true
	return p
}

// unmount gives the file system up.
func (p *place) unmount() {
	if p.own {
		_ = syscall.Unmount(p.dir, syscall.MNT_DETACH)
	}
}

// fill leaves no room.
func (p *place) fill() {
	f, err := os.Create(filepath.Join(p.dir, "full"))
	if errors.Is(err, syscall.EROFS) { // another fault: nothing is written as it is
		return
	}
	if err != nil {
		p.t.Error(err)
		return
	}
	defer f.Close()
	some := make([]byte, 1<<20)
	for n := len(some); n > 0; {
		if _, err := f.Write(some[:n]); err != nil {
			n /= 2
		}
	}
}

func (p *place) empty() {
	if err := os.Remove(filepath.Join(p.dir, "full")); errors.Is(err, syscall.EROFS) {
		p.left.Store(true)
	}
}

func (p *place) protect(on bool) {
	flags := uintptr(syscall.MS_REMOUNT)
	if on {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount("tmpfs", p.dir, "tmpfs", flags, "size="+placeSize); err != nil && err != syscall.EBUSY { // a file is being written
		p.t.Error(err)
	}
	if !on && p.left.Swap(false) {
		p.empty()
	}
}
