package mesh

import (
	"math"
	"net"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/superstep-go/superstep/internal/transport"
)

// Compression selects whether chunks are compressed.
type Compression string

// Auto compresses if that is faster. On and Off are for comparisons.
const (
	CompressAuto Compression = "auto"
	CompressOn   Compression = "on"
	CompressOff  Compression = "off"
)

// A chunk of n bytes takes n/L seconds on a link with L bytes per second. If it is first compressed
// at C bytes per second to the share r, it takes n/C + rn/L. So compression pays if L/C + r is
// below 1. L is measured on the connection (meter). C and r are measured for each kind of chunk
// when chunks are compressed (gauge). A kind that does not pay is tried again after a while.
const (
	leastCompressed = 1 << 10 // in bytes: for shorter chunks the gain is negligible
	// share of the uncompressed time: above it the gain is not worth the processor's work
	worthwhile = 0.9
	tryAgain   = 32 << 20 // bytes of a kind that are sent uncompressed before the next try
	mostRate   = 3e9      // bytes per second: no codec here is faster
)

// compressor compresses the chunks of one connection, for its writer.
type compressor struct {
	mode   Compression
	link   meter
	gauges [transport.Kinds + 1]gauge // one per kind of frame, and one for messages
	arena  []byte                     // compressed chunks that are not written yet
	used   int
	joined []byte // memory to join the two parts of a chunk
	chunk  int    // greatest payload of a chunk
}

// gauge measures the compression of one kind of chunk.
type gauge struct {
	cost  float64 // seconds per byte
	share float64 // compressed size / size
	known bool
	rest  int // bytes to send uncompressed before the next try
}

// weight is the weight of the newest chunk, or sample of a link, in the exponential mean.
const weight = 0.25

func smooth(old *float64, now float64, known bool) {
	if !known {
		*old = now
		return
	}
	*old += weight * (now - *old)
}

func (g *gauge) note(n, left int, took time.Duration) {
	smooth(&g.cost, took.Seconds()/float64(n), g.known)
	smooth(&g.share, float64(left)/float64(n), g.known)
	g.known = true
}

// pays reports whether compression is faster on a link with rate bytes per second.
func (g *gauge) pays(rate float64) bool { return rate*g.cost+g.share < worthwhile }

func newCompressor(mode Compression, c net.Conn, chunk int) compressor {
	if mode == CompressAuto && isLocal(c) {
		mode = CompressOff
	}
	p := compressor{mode: mode, chunk: chunk}
	if mode == CompressAuto {
		p.link = newMeter(c)
	}
	return p
}

// isLocal reports whether a connection stays on this host. No codec is faster than its memory.
func isLocal(c net.Conn) bool {
	switch a := c.RemoteAddr().(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	}
	return false
}

func (p *compressor) gauge(kind uint8) *gauge { return &p.gauges[min(int(kind), transport.Kinds)] }

// wants reports whether to compress a chunk.
func (p *compressor) wants(kind uint8, n int) bool {
	if n < leastCompressed || p.mode == CompressOff {
		return false
	}
	if p.mode == CompressOn {
		return true
	}
	if rate := p.link.rate(); rate == 0 || rate > mostRate {
		return false
	}
	g := p.gauge(kind)
	if g.rest > 0 {
		g.rest -= n
		return false
	}
	return true
}

// room reports whether the arena has room for another chunk.
func (p *compressor) room(n int) bool {
	return p.arena == nil || cap(p.arena)-p.used >= s2.MaxEncodedLen(n)
}

// compress compresses a chunk's two parts to one part, which is valid until it is written. It
// returns nil if the chunk should be sent uncompressed. The caller has checked room.
func (p *compressor) compress(kind uint8, a, b []byte) []byte {
	if p.arena == nil {
		p.arena = make([]byte, mostAtOnce+s2.MaxEncodedLen(p.chunk))
	}
	n := len(a) + len(b)
	began := time.Now()
	whole := a
	switch {
	case len(a) == 0:
		whole = b
	case len(b) > 0:
		p.joined = append(append(p.joined[:0], a...), b...)
		whole = p.joined
	}
	most := s2.MaxEncodedLen(n)
	packed := s2.Encode(p.arena[p.used:p.used+most:p.used+most], whole)
	g := p.gauge(kind)
	g.note(n, len(packed), time.Since(began))
	if p.mode == CompressAuto && !g.pays(p.link.rate()) {
		g.rest = tryAgain
	}
	if len(packed) >= n {
		return nil
	}
	if len(packed) > small { // a smaller one is copied by the writer
		p.used += len(packed)
	}
	return packed
}

// wrote records that everything was written: n bytes in time took.
func (p *compressor) wrote(n int, took time.Duration) {
	p.used = 0
	if p.mode == CompressAuto {
		p.link.wrote(n, took)
	}
}

// meter measures the rate of a link in bytes per second: by the kernel's delivery rate if
// available, else by the time of writes. Both are meaningful only while much is sent. So writes
// must be large and follow each other closely, for long enough.
type meter struct {
	kernel  func() (acked uint64, rate float64) // or nil
	seconds float64                             // per byte; 0: unknown
	bulk    uint64                              // delivered bytes of consecutive writes
	acked   uint64
	last    time.Time
}

const (
	bulky  = 64 << 10 // least number of bytes in a write
	enough = 256 << 10
	soon   = time.Second
	often  = 2 * time.Millisecond // shortest time between two questions to the kernel
	// in bytes: so much may be written to the kernel's buffer at once, which says nothing about the
	// link
	absorbed = 8 << 20
)

func newMeter(c net.Conn) meter { return meter{kernel: kernelRate(bare(c))} }

// rate returns bytes per second, or 0 if unknown.
func (m *meter) rate() float64 {
	if m.seconds == 0 {
		return 0
	}
	return 1 / m.seconds
}

func (m *meter) wrote(n int, took time.Duration) {
	if n < bulky {
		return
	}
	now := time.Now()
	acked, rate := m.acked+uint64(n), float64(n)/max(took.Seconds(), 1e-9)
	least := uint64(absorbed)
	if m.kernel != nil {
		if now.Sub(m.last) < often {
			return
		}
		acked, rate = m.kernel()
		least = enough
	}
	if now.Sub(m.last)-took > soon {
		m.bulk = 0
	} else {
		m.bulk += acked - min(m.acked, acked)
	}
	m.acked, m.last = acked, now
	if m.bulk < least || rate <= 0 || math.IsInf(rate, 0) {
		return
	}
	smooth(&m.seconds, 1/rate, m.seconds > 0)
}
