package mesh

import (
	"math/bits"
	"sync"
	"time"
)

// Seen has the measurements of real traffic from another worker, if it is behind a network. 0 means
// unknown.
type Seen struct {
	// PerByte is the time per byte, in seconds, of traffic from workers at a similar distance: an
	// exponential mean over the time while bytes arrived.
	PerByte float64
	// RoundTrip is TCP's least round trip time in the last minutes. It is measured by
	// acknowledgements, so no program is involved.
	RoundTrip time.Duration
}

// Seen returns the measurements of real traffic from a worker.
func (m *Mesh) Seen(name string) (s Seen) {
	m.mu.Lock()
	in, out := m.ins[name], m.outs[name]
	m.mu.Unlock()
	if in != nil && in.distant() {
		s.PerByte = in.traffic().mean()
	}
	if out != nil && !out.memory {
		s.RoundTrip = kernelRoundTrip(bare(out.conn))
	}
	return s
}

// traffic measures the rate of arriving bytes at the receiver, because a sender's bytes may wait
// long in its kernel. The clock runs while at least one chunk is being read whose header has
// arrived. So connections that share a link, from workers at a similar distance, are measured
// together. The time between chunks does not count: it is other processes' work.
type traffic struct {
	mu      sync.Mutex
	coming  int // number of arriving chunks
	began   time.Time
	busy    time.Duration // of the current sample
	bytes   int
	perByte float64 // in seconds; 0: unknown
}

const (
	leastChunk  = 64 << 10 // in bytes: shorter chunks arrive with their header
	leastSample = 1 << 20  // least number of bytes in a sample
	lightly     = 1. / 8   // weight of a sample
)

func (t *traffic) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.coming++; t.coming == 1 {
		t.began = time.Now()
	}
}

// end ends the chunk that begin began. bytes is 0 for an incomplete chunk.
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

// distant reports whether the other side is behind a network.
func (in *inbound) distant() bool {
	return !in.memory || time.Duration(in.delay.Load()) >= leastDelay
}

// distances is the number of classes of delay. Each class is four times as long as the one before.
const distances = 8

// traffic returns the measurements for the workers at a similar distance.
func (in *inbound) traffic() *traffic {
	class := bits.Len64(uint64(in.delay.Load())/uint64(100*time.Microsecond)+1) / 2
	return &in.mesh.traffic[min(class, distances-1)]
}

// clock runs the clock of traffic while a chunk's payload arrives. Some of its bytes were read with
// its header.
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
