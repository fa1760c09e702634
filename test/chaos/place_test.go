//go:build linux

package chaos_test

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
)

// place is a separate file system, if the test may mount one. It can be full or read-only.
type place struct {
	t    *testing.T
	dir  string
	size int64 // in bytes, while it is not full
	own  bool  // it is a separate file system

	mu         sync.Mutex
	full, held bool // held: read-only
}

func newPlace(t *testing.T, dir string, size int64) *place {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: dir, size: size}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Logf("%s is no file system of its own, which is not filled then: %v", dir, err)
		return p
	}
	p.own = true
	return p
}

// unmount unmounts the file system.
func (p *place) unmount() {
	if p.own {
		_ = syscall.Unmount(p.dir, syscall.MNT_DETACH)
	}
}

// fill leaves no room. empty makes room again.
func (p *place) fill()  { p.remount(func() { p.full = true }) }
func (p *place) empty() { p.remount(func() { p.full = false }) }

func (p *place) protect(on bool) { p.remount(func() { p.held = on }) }

// remount changes the state of the file system. A full one is limited to its content.
func (p *place) remount(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	flags := uintptr(syscall.MS_REMOUNT)
	if p.held {
		flags |= syscall.MS_RDONLY
	}
	for range 100 {
		size := p.size
		var now syscall.Statfs_t
		if err := syscall.Statfs(p.dir, &now); err != nil {
			p.t.Error(err)
			return
		}
		if p.full {
			size = max(int64(now.Blocks-now.Bfree), 1) * now.Bsize
		}
		err := syscall.Mount("tmpfs", p.dir, "tmpfs", flags, fmt.Sprintf("size=%d", size))
		switch {
		case err == nil, err == syscall.EBUSY && p.held: // a file is being written
			return
		case err != syscall.EINVAL || !p.full: // otherwise the content has grown
			p.t.Error(err)
			return
		}
	}
	p.t.Errorf("%s grows too fast to be full", p.dir)
}
