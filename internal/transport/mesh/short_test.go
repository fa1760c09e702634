package mesh

import (
	"bytes"
	"io"
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

// TestPoll: poll leaves an incomplete chunk to the goroutine that waits, which gets all of it. A
// chunk that poll has read keeps the connection alive.
func TestPoll(t *testing.T) {
	here, there := socket(t)
	k := newIntake(there, time.Minute, 1<<10)
	if k.raw == nil {
		t.Skip("there are no raw reads")
	}
	h := header{identity: identity{contents: 8}, length: 8}
	chunk := append(make([]byte, headerSize), "contents"...)
	h.put(chunk)
	if k.poll(true) {
		t.Error("a chunk, although nothing was sent")
	}
	for _, cut := range []int{1, headerSize, headerSize + 7} {
		write := func(b []byte) {
			if _, err := here.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		write(chunk[:cut])
		if k.poll(true) || len(k.ahead) != cut {
			t.Errorf("found %d bytes ahead, or a chunk, after %d bytes", len(k.ahead), cut)
		}
		waited := make(chan error, 1)
		got := make([]byte, len(chunk))
		go func() {
			err := k.wait()
			if err == nil {
				_, err = io.ReadFull(k, got)
			}
			k.turn.Unlock()
			waited <- err
		}()
		write(chunk[cut:])
		if err := <-waited; err != nil || !bytes.Equal(got, chunk) {
			t.Errorf("cut at %d: %v, or other bytes", cut, err)
		}
	}
	write := append(chunk, chunk...)
	if _, err := here.Write(write); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !k.poll(true) {
			t.Fatal("no whole chunk")
		}
		if _, err := io.ReadFull(k, make([]byte, len(chunk))); err != nil {
			t.Error(err)
		}
		k.turn.Unlock()
	}
}

// TestVainSpins: after vain spins, most calls poll only once.
func TestVainSpins(t *testing.T) {
	_, there := socket(t)
	in := newInbound(&Mesh{options: Options{Silence: time.Minute}}, there, greeting{})
	if in.from.raw == nil {
		t.Skip("there are no raw reads")
	}
	s := &Session{bound: []*inbound{in}}
	wanted := make(chan struct{}, 1)
	spun := 0
	for range 1000 {
		if s.skip <= 1 {
			spun++ // this call
		}
		if s.spin(wanted) {
			t.Fatal("signalled by nobody")
		}
	}
	if spun < mostVain || spun > 60 {
		t.Errorf("%d of 1,000 vain calls spun, expected %d to 60", spun, mostVain)
	}
	signal(wanted)
	if !s.spin(wanted) {
		t.Error("a signal was missed")
	}
}

// TestPollOfCorruptChunk: a partition polls a corrupt chunk while the reading goroutine, which the
// chunk woke, waits for its turn. Closing the connection waits until all reads of it have returned.
func TestPollOfCorruptChunk(t *testing.T) {
	here, there := socket(t)
	in := newInbound(&Mesh{options: Options{Silence: time.Minute}}, there, greeting{})
	k := in.from
	if k.raw == nil {
		t.Skip("there are no raw reads")
	}
	awaiting, await := make(chan struct{}, 1), k.await
	k.await = func(fd uintptr) bool {
		signal(awaiting)
		return await(fd)
	}
	if _, err := here.Write(make([]byte, headerSize)); err != nil {
		t.Fatal(err)
	}
	k.turn.Lock()
	ended := make(chan struct{})
	go func() { in.run(); close(ended) }()
	<-awaiting
	go func() {
		defer k.turn.Unlock()
		if err := k.raw.Control(k.looking); err != nil || in.next(nil) {
			t.Errorf("read a corrupt chunk, or: %v", err)
		}
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the connection does not end")
	}
}

// TestPollEnds: a poll handles only what arrived before it. Otherwise a fast stream of another job
// would keep a partition whose frame has come.
func TestPollEnds(t *testing.T) {
	here, there := socket(t)
	in := newInbound(&Mesh{options: Options{Silence: time.Minute}}, there, greeting{})
	if in.from.raw == nil {
		t.Skip("there are no raw reads")
	}
	w := newWriter(here, time.Minute, new(atomic.Uint64))
	const pings = 400
	for range pings {
		w.add(&header{identity: identity{kind: kindPing}}, nil, nil)
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	const most = 10
	in.from.buffer = in.from.buffer[:most*headerSize]
	for before := uint32(0); before < pings; before += most {
		if in.poll(); in.chunks.sequence != before+most {
			t.Fatalf("a poll handled %d pings, expected %d", in.chunks.sequence-before, most)
		}
	}
}
