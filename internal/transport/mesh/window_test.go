package mesh

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// stream sends frames of 1 MB over a link with the given one-way delay and unlimited rate, in
// virtual time. It returns the time of the second half of the frames, and the final window.
func stream(
	t *testing.T, delay time.Duration, frames int, change func(o *Options), expected func(m *Mesh),
) (took time.Duration, window uint64) {
	var group sync.WaitGroup
	var links []*late
	inVirtualTime(t, nil, func(i int, o *Options) {
		change(o)
		if i == 0 {
			wrapDial(o, func(c net.Conn) net.Conn {
				l := newLate(c, delay, &group)
				links = append(links, l)
				return l
			})
		}
	}, func(t *testing.T, a, b *Port) {
		t.Cleanup(func() {
			a.session.mesh.Close() // stop the writer
			for _, l := range links {
				close(l.queue)
			}
			group.Wait()
		})
		receiver := b.session.mesh
		expected(receiver)
		done := make(chan error, 1)
		var half time.Time
		go func() {
			for i := range frames {
				if i == frames/2 {
					half = time.Now()
				}
				f, err := b.Receive(t.Context(), transport.Expand)
				if err != nil {
					done <- err
					return
				}
				b.Release(f)
			}
			done <- nil
		}()
		raw := make([]byte, 1<<20)
		for range frames {
			if err := a.Send(&transport.Frame{From: 0, To: 1, Raw: raw}); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		took = time.Since(half)
		receiver.mu.Lock()
		in := receiver.ins["w0"]
		receiver.mu.Unlock()
		in.mu.Lock()
		window = in.window
		in.mu.Unlock()
	})
	return took, window
}

// TestWindowsFollowTheWay: over a link of 20 ms, a fixed window limits the rate. If the expected
// delay is set, the window grows with the traffic up to its bound. If the rate is set too, the
// window is bandwidth x delay at once.
func TestWindowsFollowTheWay(t *testing.T) {
	if testing.Short() {
		t.Skip("the concurrency of TestWideWindowsAreBounded, with 640 MB")
	}
	const delay, frames, least, most = 20 * time.Millisecond, 128, 2 << 20, 16 << 20
	small := func(o *Options) { o.Window, o.MostWindow, o.Chunk = least, most, 256<<10 }
	fixed, window := stream(t, delay, frames, func(o *Options) { small(o); o.MostWindow = least },
		func(m *Mesh) { m.Expect("w0", delay, 1e12) })
	if window != least {
		t.Errorf("a window of %d, expected %d", window, least)
	}
	unknown, window := stream(t, delay, frames, small, func(*Mesh) {})
	if window != least || unknown < fixed*9/10 || unknown > fixed*10/9 {
		t.Errorf("an unmeasured path: a window of %d, %v against %v", window, unknown,
			fixed)
	}
	near, window := stream(t, delay, frames, small,
		func(m *Mesh) { m.Expect("w0", 100*time.Microsecond, 1e9) })
	if window != least || near < fixed*9/10 {
		t.Errorf("a path with a short expected delay: a window of %d, %v against %v", window, near,
			fixed)
	}
	grown, window := stream(t, delay, frames, small, func(m *Mesh) { m.Expect("w0", delay, 0) })
	if window != most || grown > fixed/4 {
		t.Errorf("by the received rate: a window of %d, %v against %v", window, grown, fixed)
	}
	told, window := stream(t, delay, frames, small,
		func(m *Mesh) { m.Expect("w0", delay, float64(8<<20)/delay.Seconds()) })
	if window < 12<<20 || told > fixed/3 {
		t.Errorf("by the measured rate: a window of %d, %v against %v", window, told, fixed)
	}
	t.Logf("%d MB over 20 ms: window of 2 MiB %v, as it grows %v, as measured %v", frames/2, fixed,
		grown, told)
}

// TestWideWindowsAreBounded: two senders fill their windows while the receiving partition is busy.
// Together, the windows grow by at most Spare.
func TestWideWindowsAreBounded(t *testing.T) {
	const least, most, extra, chunk = 256 << 10, 2 << 20, 2 << 20, 64 << 10
	meshes, peers := cluster(t, 3, func(_ int, o *Options) {
		o.Window, o.MostWindow, o.Spare, o.Chunk = least, most, extra, chunk
	})
	meshes[0].Expect("w1", 50*time.Millisecond, 1e12)
	sessions := openAll(t, meshes, 1, 1, dealt(peers, 3), nil)
	meshes[0].Expect("w2", 50*time.Millisecond, 1e12)
	raw := make([]byte, 4*most)
	for i := 1; i < 3; i++ {
		if err := sessions[i].Port(i).Send(&transport.Frame{From: i, To: 0, Raw: raw}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, func() bool { return meshes[0].Stats().BytesIn >= 2*least+extra })
	until(t, func() bool {
		full := 0
		for i := 1; i < 3; i++ {
			out := meshes[i].outs["w0"]
			out.mu.Lock()
			if out.sent-out.consumed >= out.window {
				full++
			}
			out.mu.Unlock()
		}
		return full == 2
	})
	if got := meshes[0].Stats().BytesIn; got > 2*least+extra+2*2*chunk {
		t.Errorf("%d bytes came through windows of %d", got, 2*least+extra)
	}
	for range 2 {
		if f, err := sessions[0].Port(0).Receive(t.Context(), transport.Expand); err != nil ||
			len(f.Raw) != len(raw) {
			t.Fatal(err)
		}
	}
	for _, m := range meshes {
		m.Close()
	}
	if left := meshes[0].spare.left.Load(); left != extra {
		t.Errorf("%d bytes are to spare when all connections have ended, of %d", left, extra)
	}
}

// TestMessagesGetWiderWindowsToo: messages under a tag that nobody receives fill the wider window.
func TestMessagesGetWiderWindowsToo(t *testing.T) {
	const least, most, n = 64 << 10, 256 << 10, 16 << 10
	meshes, all := links(t, 2, func(_ int, o *Options) { o.Window, o.MostWindow = least, most })
	// the lane exists before the window grows
	if err := all[0].Send(t.Context(), 1, 7, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	meshes[1].Expect("w0", time.Second, 1e12)
	for i := 1; i < most/n; i++ {
		if err := all[0].Send(t.Context(), 1, 7, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	for range most / n {
		if data, err := all[1].Receive(t.Context(), 0, 7); err != nil || len(data) != n {
			t.Fatal(len(data), err)
		}
	}
}
