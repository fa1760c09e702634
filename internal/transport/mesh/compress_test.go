package mesh

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/superstep-go/superstep/internal/transport"
)

// narrow is a connection to another host with a limited rate in bytes per second.
type narrow struct {
	net.Conn
	rate float64
	free time.Time // when the last write has been sent
}

func (n *narrow) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(203, 0, 113, 1), Port: 1}
}

func (n *narrow) Write(b []byte) (int, error) {
	if now := time.Now(); n.free.Before(now) {
		n.free = now
	}
	n.free = n.free.Add(time.Duration(float64(len(b)) / n.rate * 1e9))
	<-time.After(time.Until(n.free))
	return n.Conn.Write(b)
}

// send sends frames of values from one mesh to another over a narrow link. It returns the time in
// virtual time, in which compression takes none, and the sender's counters.
func send(
	t *testing.T, mode Compression, rate float64, frames int, values []byte,
) (took time.Duration, s Stats) {
	t.Helper()
	change := func(_ int, o *Options) {
		o.Compress = mode
		wrapDial(o, func(c net.Conn) net.Conn { return &narrow{Conn: c, rate: rate} })
	}
	inVirtualTime(t, nil, change, func(t *testing.T, a, b *Port) {
		done := make(chan error, 1)
		go func() {
			for range frames {
				f, err := b.Receive(t.Context(), transport.Expand)
				if err == nil && !bytes.Equal(f.Raw, values) {
					err = fmt.Errorf("other values came than were sent")
				}
				if err != nil {
					done <- err
					return
				}
				b.Release(f)
			}
			done <- nil
		}()
		began := time.Now()
		for range frames {
			if err := a.Send(&transport.Frame{From: 0, To: 1, Count: len(values) / 8, Raw: values}); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		took = time.Since(began)
		if _, err := a.End(t.Context(), 0); err != nil { // wait until all is written and counted
			t.Fatal(err)
		}
		s = a.session.mesh.Stats()
	})
	return took, s
}

// labels returns values that can be compressed to about half: 24-bit numbers in 8 bytes.
func labels(n int) []byte {
	b := make([]byte, n)
	pattern(b, 0, 1, 0, transport.Expand)
	return b
}

// levels returns small numbers, which can be compressed even more.
func levels(n int) []byte {
	b := labels(n)
	for i := range b {
		if b[i] &= 3; i%8 > 0 {
			b[i] = 0
		}
	}
	return b
}

// TestNarrowLinkCompresses: on a link slower than the codec, compression sends fewer bytes in less
// time.
func TestNarrowLinkCompresses(t *testing.T) {
	values := levels(1 << 20)
	const frames, rate = 24, 16 << 20
	plain, off := send(t, CompressOff, rate, frames, values)
	quick, auto := send(t, CompressAuto, rate, frames, values)
	t.Logf("as it is %d bytes in %v, compressed %d in %v", off.BytesOut, plain, auto.BytesOut,
		quick)
	if off.CompressedFrom != 0 || off.BytesOut < frames<<20 {
		t.Errorf("off: %+v", off)
	}
	if auto.BytesOut > off.BytesOut*3/4 || auto.CompressedFrom == 0 ||
		auto.CompressedTo >= auto.CompressedFrom {
		t.Errorf("auto: %+v", auto)
	}
	if quick >= plain*3/4 {
		t.Errorf("compressed it took %v, and %v as it is", quick, plain)
	}
}

// TestNoiseTravelsAsItIs: incompressible values are sent uncompressed.
func TestNoiseTravelsAsItIs(t *testing.T) {
	values := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(values)
	_, s := send(t, CompressAuto, 64<<20, 24, values)
	if s.CompressedFrom != 0 || s.BytesOut < 24<<20 {
		t.Errorf("%+v", s)
	}
}

// TestThisHostIsNotCompressed: compression is not used on Unix sockets and loopback, unless it is
// on.
func TestThisHostIsNotCompressed(t *testing.T) {
	values := labels(1 << 20)
	for _, tcp := range []bool{false, true} {
		for mode, want := range map[Compression]bool{CompressAuto: false, CompressOn: true} {
			meshes, a, b := pair(t, func(_ int, o *Options) { o.Compress, o.TCP = mode, tcp })
			for range 24 {
				if err := a.Send(&transport.Frame{From: 0, To: 1, Count: len(values) / 8, Raw: values}); err != nil {
					t.Fatal(err)
				}
				f, err := b.Receive(t.Context(), transport.Expand)
				if err != nil || !bytes.Equal(f.Raw, values) {
					t.Fatalf("TCP %v, %s: other values came, %v", tcp, mode, err)
				}
				b.Release(f)
			}
			if s := meshes[0].Stats(); s.CompressedFrom > 0 != want {
				t.Errorf("TCP %v, %s: %+v", tcp, mode, s)
			}
		}
	}
}

// TestWhatPays tests the decision to compress, without a link.
func TestWhatPays(t *testing.T) {
	for _, x := range []struct {
		rate, codec, share float64
		want               bool
	}{
		{0, 1e9, .3, false},     // unknown rate
		{16e6, 1e9, .5, true},   // a slow link
		{16e6, 1e9, .99, false}, // incompressible data
		{120e6, 800e6, .5, true},
		{1.2e9, 800e6, .1, false}, // 10 Gbit/s is faster than the codec
		{8e9, 100e9, .1, false},   // the link is faster than any codec (mostRate)
	} {
		p := compressor{mode: CompressAuto}
		if x.rate > 0 {
			p.link.seconds = 1 / x.rate
		}
		g := p.gauge(uint8(transport.Expand))
		g.note(1<<20, int(x.share*(1<<20)), time.Duration(float64(1<<20)/x.codec*1e9))
		got := p.wants(uint8(transport.Expand), 1<<20) && g.pays(x.rate)
		if got != x.want {
			t.Errorf("%+v: found %v", x, got)
		}
		if p.wants(uint8(transport.Expand), leastCompressed-1) {
			t.Errorf("%+v: a short chunk is compressed", x)
		}
	}
}

// TestWhatDoesNotPayIsTriedAgain: after some bytes compression is tried again, separately for each
// kind.
func TestWhatDoesNotPayIsTriedAgain(t *testing.T) {
	p := newCompressor(CompressAuto, &narrow{}, 1<<20)
	p.link.seconds = 1 / 100e6
	noise := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(noise)
	if !p.wants(kindMessage, len(noise)) || p.compress(kindMessage, nil, noise) != nil {
		t.Fatal("noise is not tried, or was compressed")
	}
	waited := 0
	for !p.wants(kindMessage, 1<<20) {
		waited += 1 << 20
	}
	if waited != tryAgain || !p.wants(uint8(transport.Fold), 1<<20) {
		t.Errorf("tried again after %d bytes", waited)
	}
}

// TestMeter: the rate is measured only from large consecutive writes, after enough of them.
func TestMeter(t *testing.T) {
	var m meter
	for range 40 {
		m.wrote(1<<10, time.Second)
	}
	if m.rate() != 0 {
		t.Error("small writes yield a rate")
	}
	for range 8 {
		m.wrote(1<<20, time.Second/16)
	}
	if m.rate() != 0 {
		t.Error("writes that the kernel may have buffered yield a rate")
	}
	for range 8 {
		m.wrote(1<<20, time.Second/16)
	}
	if r := m.rate(); r < 16e6 || r > 17e6 {
		t.Errorf("found %v bytes a second, expected 16 MB", r)
	}
	acked := uint64(0)
	k := meter{kernel: func() (uint64, float64) { return acked, 5e6 }}
	k.wrote(1<<20, 0)
	k.last = k.last.Add(-often)
	acked += enough - 1
	if k.wrote(1<<20, 0); k.rate() != 0 {
		t.Error("too little was delivered to tell")
	}
	k.last = k.last.Add(-often)
	acked++
	if k.wrote(1<<20, 0); k.rate() < 4.9e6 || k.rate() > 5.1e6 {
		t.Errorf("found %v", k.rate())
	}
}

// TestCompressingAllocatesNothing: after the first use, compression does not allocate.
func TestCompressingAllocatesNothing(t *testing.T) {
	p := newCompressor(CompressOn, &narrow{}, 1<<20)
	a, b := labels(64<<10), labels(512<<10)
	to := make([]byte, len(a)+len(b))
	r := chunkReader{}
	n := testing.AllocsPerRun(50, func() {
		packed := p.compress(uint8(transport.Expand), a, b)
		in := r.room(len(packed))
		copy(in, packed)
		if err := unpack(to, in); err != nil {
			t.Fatal(err)
		}
		p.wrote(len(packed), time.Millisecond)
	})
	if n >= 1 && !raced {
		t.Errorf("%v allocations", n)
	}
	if !bytes.Equal(to[:len(a)], a) || !bytes.Equal(to[len(a):], b) {
		t.Error("other bytes came back")
	}
}

// TestExchangesCompressed exchanges frames and messages with compression and small chunks.
func TestExchangesCompressed(t *testing.T) {
	supersteps, chunks := 4, []int{10 << 10, 1 << 20}
	switch {
	case os.Getenv("SUPERSTEP_SOAK") != "":
		supersteps = 10
	case testing.Short():
		chunks = chunks[:1]
	}
	for _, chunk := range chunks {
		meshes, peers := cluster(t, 3,
			func(_ int, o *Options) { o.Compress, o.Chunk = CompressOn, chunk })
		sessions := openAll(t, meshes, 7, 1, dealt(peers, 7), nil)
		play(t, sessions, supersteps, 512<<10, transport.Sends, transport.Expand, transport.FoldReversed)
		to, from := sessions[0].Link(), sessions[1].Link()
		for i := range 2 * supersteps {
			data := labels(i * 50_000)
			sent := make(chan error, 1)
			go func() { sent <- to.Send(t.Context(), 1, 3, data) }()
			got, err := from.Receive(t.Context(), 0, 3)
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("message %d: %d bytes of %d, %v", i, len(got), len(data), err)
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range meshes {
			if s := m.Stats(); s.Stale() > 0 || s.Broken > 0 || s.CompressedTo == 0 ||
				s.CompressedTo >= s.CompressedFrom {
				t.Errorf("%+v", s)
			}
		}
	}
}

// FuzzUnpack: for any input, unpack fills the expected length or returns an error.
func FuzzUnpack(f *testing.F) {
	f.Add(s2.Encode(nil, bytes.Repeat([]byte("abcdefgh"), 100)), 800)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}, 100)
	f.Fuzz(func(t *testing.T, packed []byte, n int) {
		if n < 0 || n > 1<<20 {
			return
		}
		whole := make([]byte, n+64)
		behind := whole[n:]
		for i := range behind {
			behind[i] = 0xa5
		}
		err := unpack(whole[:n], packed)
		if bytes.Count(behind, []byte{0xa5}) != len(behind) {
			t.Fatal("it wrote beyond its room")
		}
		if err != nil {
			return
		}
		if again, err := s2.Decode(nil, packed); err != nil || !bytes.Equal(again, whole[:n]) {
			t.Errorf("another decoder finds other bytes: %v", err)
		}
	})
}
