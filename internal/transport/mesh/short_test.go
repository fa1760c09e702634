package mesh

import (
	"bytes"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// socket returns the two ends of a Unix socket.
func socket(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close(); there.Close() })
	return here, there
}

// TestTry writes chunks until the other side accepts no more, even in part. flush writes the rest.
func TestTry(t *testing.T) {
	here, there := socket(t)
	w := newWriter(here, time.Minute, new(atomic.Uint64))
	if w.raw == nil {
		t.Skip("there are no raw writes")
	}
	payload := bytes.Repeat([]byte("chunk"), small/5)
	n := uint32(0)
	for wrote := true; wrote; n++ {
		w.add(&header{identity: identity{contents: uint64(len(payload))}, length: uint32(len(payload))},
			nil, payload)
		wrote = w.try()
	}
	flushed := make(chan error, 1)
	go func() { flushed <- w.flush() }()
	r := chunkReader{from: there, maxFrame: testLimit}
	for range n {
		got, h := make([]byte, len(payload)), header{}
		err := r.next(&h, func(*header) ([]byte, error) { return got, nil })
		if err != nil || !bytes.Equal(got, payload) {
			t.Fatalf("chunk %d of %d: %v", r.sequence, n, err)
		}
	}
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	if want := uint64(n) * uint64(headerSize+len(payload)); w.written.Load() != want {
		t.Errorf("counted %d bytes, expected %d", w.written.Load(), want)
	}
}
