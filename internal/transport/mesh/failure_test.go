package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// pair opens a session of two partitions at two workers.
func pair(t testing.TB, change func(i int, o *Options)) ([]*Mesh, *Port, *Port) {
	t.Helper()
	meshes, peers := cluster(t, 2, change)
	sessions := openAll(t, meshes, 1, 1, dealt(peers, 2), nil)
	return meshes, sessions[0].Port(0), sessions[1].Port(1)
}

// wrapDial wraps the connections that a worker dials.
func wrapDial(o *Options, wrap func(net.Conn) net.Conn) {
	dial := o.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
}

// inVirtualTime opens a session of two partitions at two workers, which are connected by pipes. It
// runs the test in a synctest bubble. Its clock advances only when all goroutines wait, so a busy
// machine causes no timeouts.
func inVirtualTime(t *testing.T, c transport.Codec, change func(i int,
	o *Options), test func(t *testing.T, a, b *Port),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listeners := []*pipes{newPipes(), newPipes()}
		meshes, peers := cluster(t, 2, func(i int, o *Options) {
			// certificates need the real time
			o.Listener, o.Compress, o.TLS = listeners[i], CompressOff, nil
			o.Dial = func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				listeners[1-i].accept <- there
				return here, nil
			}
			change(i, o)
		})
		sessions := openAll(t, meshes, 1, 1, dealt(peers, 2), c)
		test(t, sessions[0].Port(0), sessions[1].Port(1))
	})
}

// held is a connection that a test can cut, block or corrupt.
type held struct {
	net.Conn
	mu    sync.Mutex
	spoil bool
	stop  chan struct{} // while it is not nil and not closed, writes wait
}

func (h *held) Write(b []byte) (int, error) {
	h.mu.Lock()
	spoil, stop := h.spoil, h.stop
	h.mu.Unlock()
	if stop != nil {
		<-stop
	}
	if spoil {
		b = append([]byte(nil), b...)
		b[len(b)-1] ^= 4
	}
	return h.Conn.Write(b)
}

// holding wraps the first worker's dialled connections in held.
func holding(to **held) func(int, *Options) {
	return func(i int, o *Options) {
		if i == 0 {
			wrapDial(o, func(c net.Conn) net.Conn {
				*to = &held{Conn: c}
				return *to
			})
		}
	}
}

func TestKilledConnectionFailsBothSessionsNamingTheWorkers(t *testing.T) {
	var c *held
	meshes, a, b := pair(t, holding(&c))
	errs := make(chan error, 2)
	for _, p := range []*Port{a, b} {
		go func() {
			_, err := p.Receive(t.Context(), transport.Expand)
			errs <- err
		}()
	}
	c.Close()
	for range 2 {
		err := <-errs
		var broken *BrokenError
		if !errors.As(err, &broken) || broken.From != "w0" || broken.To != "w1" ||
			!strings.HasPrefix(err.Error(), "the connection from worker w0 to worker w1 broke: ") {
			t.Error(err)
		}
	}
	if err := a.Send(&transport.Frame{From: 0, To: 1}); !errors.As(err, new(*BrokenError)) {
		t.Error(err)
	}
	if _, err := a.End(t.Context(), 0); err != nil && !errors.As(err, new(*BrokenError)) {
		t.Error(err)
	}
	// The next job opens a new connection.
	a.session.Close()
	b.session.Close()
	sessions := openAll(t, meshes, 2, 1, a.session.layout, nil)
	play(t, sessions, 3, 10<<10, transport.Expand)
	for _, m := range meshes {
		if n := m.Stats().Broken; n != 1 {
			t.Errorf("%d connections broke", n)
		}
	}
}

func TestCorruptFrameBreaksTheConnection(t *testing.T) {
	plainly(t)
	var c *held
	meshes, a, b := pair(t, holding(&c))
	c.mu.Lock()
	c.spoil = true
	c.mu.Unlock()
	if err := a.Send(&transport.Frame{From: 0, To: 1, Raw: make([]byte, 1000)}); err != nil {
		t.Fatal(err)
	}
	if f, err := b.Receive(t.Context(), transport.Expand); !errors.Is(err, errCorrupt) {
		t.Errorf("%+v, %v", f, err)
	}
	until(t, func() bool { return meshes[1].Stats().Corrupt == 1 })
}

func TestWorkerThatVanishes(t *testing.T) {
	meshes, a, _ := pair(t, nil)
	meshes[1].Close()
	_, err := a.Receive(t.Context(), transport.Expand)
	if !errors.As(err, new(*BrokenError)) || !strings.Contains(err.Error(), "w1") {
		t.Error(err)
	}
}

// TestWorkerThatFallsSilent: a worker keeps its connections open but sends nothing.
func TestWorkerThatFallsSilent(t *testing.T) {
	var c *held
	inVirtualTime(t, nil, holding(&c), func(t *testing.T, a, b *Port) {
		stop := make(chan struct{})
		c.mu.Lock()
		c.stop = stop
		c.mu.Unlock()
		began := time.Now()
		for _, p := range []*Port{b, a} {
			if _, err := p.Receive(t.Context(), transport.Expand); !errors.As(err,
				new(*BrokenError)) {
				t.Error(err)
			}
		}
		if first, second := a.session.Err(), b.session.Err(); !strings.Contains(fmt.Sprint(first,
			second), "no sign of life for 5s") {
			// the side that detects it first closes the connection
			t.Errorf("%v; %v", first, second)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("noticed after %v", took)
		}
		close(stop)
	})
}

func TestIdleConnectionStaysAlive(t *testing.T) {
	inVirtualTime(t, nil, func(int, *Options) {}, func(t *testing.T, a, b *Port) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := a.Receive(ctx, transport.Expand); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := errors.Join(a.session.Err(), b.session.Err()); err != nil ||
			a.session.outs[1].doubtful() {
			t.Error(err, "or in doubt")
		}
	})
}

// TestBusyReceiver fills the window of a partition that computes.
func TestBusyReceiver(t *testing.T) {
	const window, frames, each = 1 << 20, 64, 1 << 20
	meshes, a, b := pair(t, func(_ int, o *Options) { o.Window, o.Chunk = window, 64<<10 })
	raw := make([]byte, each)
	var before, full runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	a.limit = frames
	for i := range frames {
		if err := a.Send(&transport.Frame{From: 0, To: 1, Raw: raw, Count: i}); err != nil {
			t.Fatal(err)
		}
	}
	in := a.session.outs[1]
	until(t, func() bool { in.mu.Lock(); defer in.mu.Unlock(); return in.sent >= window })
	until(t, func() bool { return meshes[1].Stats().BytesIn >= window })
	runtime.GC()
	runtime.ReadMemStats(&full)
	if got := meshes[1].Stats().BytesIn; got > window+128<<10 {
		t.Errorf("%d bytes came through a window of %d", got, window)
	}
	if got := int64(full.HeapAlloc) - int64(before.HeapAlloc); got > 3*window {
		t.Errorf("%d bytes are held for a window of %d", got, window)
	}
	for i := range frames {
		f, err := b.Receive(t.Context(), transport.Expand)
		if err != nil || len(f.Raw) != each || f.Count != i {
			t.Fatalf("frame %d: %v", i, err)
		}
		b.Release(f)
	}
	if _, err := a.End(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// TestSendWithoutEndWaits: partitions send very many frames without ending the superstep. Send
// waits, and the receiver makes progress.
func TestSendWithoutEndWaits(t *testing.T) {
	_, a, b := pair(t, func(_ int, o *Options) { o.Window = 256 << 10 })
	frames := 2000
	if testing.Short() {
		frames = 500
	}
	var group sync.WaitGroup
	for _, p := range []*Port{a, b} { // both send before they receive
		group.Go(func() {
			raw := make([]byte, 20<<10)
			for range frames {
				if err := p.Send(&transport.Frame{From: p.index, To: 1 - p.index, Raw: raw}); err != nil {
					t.Error(err)
				}
				p.mu.Lock()
				if p.pending[0]+p.pending[1] > p.limit {
					t.Error("more frames are queued than may be")
				}
				p.mu.Unlock()
			}
			for range frames {
				f, err := p.Receive(t.Context(), transport.Expand)
				if err != nil {
					t.Error(err)
					return
				}
				p.Release(f)
			}
		})
	}
	group.Wait()
}

func TestStaleFramesAreRefusedAndCounted(t *testing.T) {
	meshes, peers := cluster(t, 2, nil)
	l := dealt(peers, 2)
	s := openAll(t, meshes, 1, 2, l, nil)
	// Only the first worker opens this session, which has an older epoch.
	old, err := meshes[0].Open(t.Context(), 1, 1, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	stats := meshes[1].Stats
	send := func(p *Port, f *transport.Frame, count func(s Stats) uint64) {
		t.Helper()
		if err := p.Send(f); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool { return count(stats()) == 1 })
	}
	send(old.Port(0), &transport.Frame{From: 0, To: 1, Raw: make([]byte, 1<<20)},
		func(s Stats) uint64 { return s.StaleJob })
	if _, err := s[1].Port(1).End(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	send(s[0].Port(0), &transport.Frame{From: 0, To: 1, Superstep: 4, Raw: make([]byte, 10)},
		func(s Stats) uint64 { return s.StaleSuperstep })
	// A frame arrives in time but nobody receives it: it is refused at the end of the superstep,
	// and the accounts differ.
	if err := s[0].Port(0).Send(&transport.Frame{From: 0, To: 1, Superstep: 5, Count: 3}); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return stats().FramesIn == 3 })
	var accounts []*transport.Account
	for i, session := range s {
		a, err := session.Port(i).End(t.Context(), 5)
		if err != nil {
			t.Fatal(err)
		}
		accounts = append(accounts, a)
	}
	if n := stats().StaleSuperstep; n != 2 {
		t.Errorf("%d frames of old supersteps", n)
	}
	err = transport.Balance(accounts)
	if err == nil ||
		!strings.Contains(err.Error(), "superstep 5: partition 0 sent partition 1 3 values") {
		t.Error(err)
	}
	// The layout determines the worker of the sending partition.
	out := s[0].outs[1]
	forged := *s[0].Port(0)
	if err := out.enqueue(&forged, &transport.Frame{From: 1, To: 1, Superstep: 6}); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return stats().Misrouted == 1 })
	if err := s[1].Err(); err != nil {
		t.Error(err)
	}
}

func TestSessionOfAnotherIncarnation(t *testing.T) {
	meshes, peers := cluster(t, 2, nil)
	l := dealt(peers, 2)
	s := openAll(t, meshes, 1, 1, l, nil)
	l.Workers = []Peer{peers[0], peers[1]}
	l.Workers[0].Incarnation++ // as if the master had announced a restart of the first worker
	if _, err := meshes[0].Open(t.Context(), 2, 1, l, nil); !errors.Is(err, ErrFenced) {
		t.Error(err)
	}
	if err := s[0].Port(0).Send(&transport.Frame{From: 0, To: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s[1].Port(1).Receive(t.Context(), transport.Expand); err != nil {
		t.Error(err)
	}
}

func TestCloseEndsWaitingAndIsIdempotent(t *testing.T) {
	meshes, a, b := pair(t, func(_ int, o *Options) { o.Window = 64 << 10 })
	done := make(chan error, 2)
	go func() {
		_, err := a.Receive(t.Context(), transport.Fold)
		done <- err
	}()
	for range 20 { // more than the window
		if err := b.Send(&transport.Frame{From: 1, To: 0, Raw: make([]byte, 1<<20)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		a.session.Close()
		b.session.Close()
	}
	if err := <-done; !errors.Is(err, transport.ErrClosed) {
		t.Error(err)
	}
	if err := a.Send(&transport.Frame{From: 0, To: 1}); !errors.Is(err, transport.ErrClosed) {
		t.Error(err)
	}
	for _, m := range meshes {
		m.Close()
		m.Close()
		if _, err := m.Open(t.Context(), 3, 1, a.session.layout, nil); !errors.Is(err,
			transport.ErrClosed) {
			t.Error(err)
		}
	}
}

func TestLayoutsAreChecked(t *testing.T) {
	meshes, peers := cluster(t, 2, nil)
	for name, l := range map[string]Layout{
		"without this worker": {Workers: peers[1:], Owner: []int{0}},
		"a worker twice":      {Workers: append(peers, peers[0]), Owner: []int{0}},
		"an unknown worker":   {Workers: peers, Owner: []int{0, 2}},
	} {
		if s, err := meshes[0].Open(t.Context(), 1, 1, l, nil); err == nil {
			s.Close()
			t.Errorf("%s: taken", name)
		}
	}
	s := openAll(t, meshes, 1, 1, dealt(peers, 2), nil)
	if _, err := meshes[0].Open(t.Context(), 1, 1, dealt(peers, 2), nil); err == nil {
		t.Error("a job is opened twice")
	}
	for _, f := range []transport.Frame{{From: 1, To: 0}, {To: 2}, {To: -1}, {To: 1, Kind: transport.Kind(transport.Kinds)}, {To: 1, Ref: []string{"no codec"}}} {
		if err := s[0].Port(0).Send(&f); err == nil {
			t.Errorf("%+v is sent", f)
		}
	}
	_ = fmt.Sprint(s[0].Endpoint(0, 0, false))
}
