//go:build linux

package mesh

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asAnother calls f as another user, in a thread that ends afterwards.
func asAnother(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		const keep = ^uintptr(0)
		_, _, err := unix.RawSyscall(unix.SYS_SETRESUID, keep, 65534, keep)
		if err == 0 {
			f()
			done <- nil
		} else {
			done <- err
		}
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestNamesOfOtherUsers: another user listens on the name of a worker's socket and forwards
// everything. It gets no data, and neither does a user who dials with a worker's name.
func TestNamesOfOtherUsers(t *testing.T) {
	meshes, peers := cluster(t, 2, func(i int, o *Options) { o.TCP = i == 1 })
	_, port, _ := net.SplitHostPort(peers[1].Addr)
	var l net.Listener
	asAnother(t, func() { l, _ = net.Listen("unix", "@superstep-mesh-"+port) })
	if l == nil {
		t.Fatal("the name is taken")
	}
	defer l.Close()
	var passed atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", peers[1].Addr)
			if err != nil {
				_ = c.Close()
				continue
			}
			pass := func(to, from net.Conn) {
				n, _ := io.Copy(to, from)
				passed.Add(n)
				_ = to.Close()
			}
			go pass(c, to)
			go pass(to, c)
		}
	}()
	if err := meshes[0].Connect(t.Context(), peers[1:2]); err != nil {
		t.Fatal(err)
	}
	if got := networks(meshes[0])["w1"]; got != "tcp" || passed.Load() > 0 {
		t.Errorf("worker w1 is reached by %s, %d bytes went through another user", got,
			passed.Load())
	}

	_, port, _ = net.SplitHostPort(peers[0].Addr)
	var c net.Conn
	asAnother(t, func() { c, _ = net.Dial("unix", "@superstep-mesh-"+port) })
	if c == nil {
		t.Fatal("the worker has no socket")
	}
	defer c.Close()
	start := time.Now()
	_ = c.SetDeadline(start.Add(time.Minute))
	// a silent connection that is not refused would stay open for 5 s
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || time.Since(start) > 4*time.Second {
		t.Errorf("another user's call: %d bytes after %v, %v", n, time.Since(start), err)
	}
}
