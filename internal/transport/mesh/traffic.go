package mesh

import (
	"math/bits"
	"net"
	"sync"
	"time"
)

// Seen is what real frames and messages say of the way from another worker, where a network leads
// to it: 0 is nothing yet.
type Seen struct {
	// PerByte is the seconds that a byte took to come here from workers about as far away, while
	// any did: a light exponential mean.
	PerByte float64
	// RoundTrip is the least time there and back that TCP has seen in the last minutes, by
	// acknowledgements: no program takes part.
	RoundTrip time.Duration
}

// Seen says what real traffic says of the way from a worker.
func (m *Mesh) Seen(name string) (s Seen) {
	m.mu.Lock()
	in, out := m.ins[name], m.outs[name]
	m.mu.Unlock()
	if in != nil && in.distant() {
		s.PerByte = in.traffic().mean()
	}
	if out != nil && !out.memory {
		s.RoundTrip = roundTrip(out.conn)
	}
	return s
}

// traffic measures how fast bytes come over networks, at the receiver: what a sender has written
// may lie in its kernel for long. The clock runs while at least one chunk is being read whose
// header has come, so that connections that share a link, those of workers about as far away, count
// together; the waits between chunks, which are other processes' work, do not count.
type traffic struct {
	mu      sync.Mutex
	coming  int // chunks
	began   time.Time
	busy    time.Duration // of this sample
	bytes   int
	perByte float64 // seconds; 0: not known
}

const (
	leastChunk  = 64 << 10 // bytes: shorter chunks are there with their header
	leastSample = 1 << 20  // bytes of a sample, at least
	lightly     = 1. / 8   // what a sample counts
)

func (t *traffic) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.coming++; t.coming == 1 {
		t.began = time.Now()
	}
}

// end ends what began begun; of a chunk that did not come whole bytes is 0.
func (t *traffic) end(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes += bytes
	if t.coming--; t.coming > 0 {
		return
	}
	t.busy += time.Since(t.began)
	if t.bytes < leastSample {
		return
	}
	sample := max(t.busy, 1).Seconds() / float64(t.bytes)
	if t.perByte == 0 {
		t.perByte = sample
	}
	t.perByte += lightly * (sample - t.perByte)
	t.busy, t.bytes = 0, 0
}

func (t *traffic) mean() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.perByte
}

// distant reports whether a network leads from the other side.
func (in *inbound) distant() bool { return !in.memory || time.Duration(in.delay.Load()) >= leastDelay }

// distances are how many classes of delay there are, each four times as long as the one before.
const distances = 8

// traffic is that of the connections of workers about as far away as the other side.
func (in *inbound) traffic() *traffic {
	class := bits.Len64(uint64(in.delay.Load())/uint64(100*time.Microsecond)+1) / 2
	return &in.mesh.traffic[min(class, distances-1)]
}

// clock runs the clock of traffic while a chunk's payload comes, of which some bytes have been read
// with its header.
type clock struct {
	of    *traffic // nil while it does not run
	bytes int
}

func (in *inbound) startClock(h *header, already int) {
	if bytes := h.size() - already; bytes >= leastChunk && in.distant() {
		in.clock = clock{in.traffic(), bytes}
		in.clock.of.begin()
	}
}

func (in *inbound) stopClock(whole bool) {
	c := in.clock
	if c.of == nil {
		return
	}
	if !whole {
		c.bytes = 0
	}
	c.of.end(c.bytes)
	in.clock = clock{}
}

// roundTrip is the least time there and back that the kernel has seen on a connection lately, or 0.
func roundTrip(c net.Conn) time.Duration {
	if tcp, ok := bare(c).(*net.TCPConn); ok {
		return kernelRoundTrip(tcp)
	}
	return 0
}
