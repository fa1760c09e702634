package mesh

import (
	"fmt"
	"math"
	"net"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/superstep-go/superstep/internal/transport"
)

// Compression says whether chunks are compressed.
type Compression string

// On and Off are for comparison; Auto compresses what goes faster so.
const (
	CompressAuto Compression = "auto"
	CompressOn   Compression = "on"
	CompressOff  Compression = "off"
)

// ParseCompression reads one; none is auto.
func ParseCompression(s string) (Compression, error) {
	switch c := Compression(s); c {
	case "":
		return CompressAuto, nil
	case CompressAuto, CompressOn, CompressOff:
		return c, nil
	}
	return "", fmt.Errorf("found %.40q, expected auto, on or off", s)
}

// A chunk of n bytes takes n/L seconds on a link of L bytes a second, and n/C + rn/L if it is
// compressed first, at C bytes a second to the share r: it pays when L/C + r is below 1. L is
// measured on the connection (meter), C and r of every kind of chunk on the chunks that are
// compressed (gauge). One that does not pay is tried again after a while.
const (
	leastCompressed = 1 << 10 // bytes: what is shorter saves no time that counts
	// of the time of the chunk as it is: what takes more is not worth the processor
	worthwhile = 0.9
	tryAgain   = 32 << 20 // bytes of a kind that go as they are before one is tried again
	mostRate   = 3e9      // bytes a second: no codec here is faster
)

// compressor compresses chunks of one connection, for its writer.
type compressor struct {
	mode   Compression
	link   meter
	gauges [transport.Kinds + 1]gauge // the last is of messages
	arena  []byte                     // what was compressed and is not written yet
	used   int
	joined []byte // a chunk of two parts
	chunk  int    // the most bytes of one
}

// gauge is what compressing chunks of one kind gives.
type gauge struct {
	cost  float64 // seconds a byte
	share float64 // of the bytes that are left
	known bool
	rest  int // bytes to go as they are
}

// weight is how much the newest chunk, or sample of a link, counts among those before.
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

// pays reports whether it takes less time on a link of so many bytes a second.
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

// isLocal reports whether a connection stays on this host: no codec is faster than its memory.
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

// wants reports whether a chunk is to be compressed.
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

// room reports whether there is room for another chunk before what is there is written.
func (p *compressor) room(n int) bool {
	return p.arena == nil || cap(p.arena)-p.used >= s2.MaxEncodedLen(n)
}

// compress compresses a chunk's two parts into one, which is good until written. It returns nil if
// they are better sent as they are. There is room.
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
	if len(packed) > small { // else the writer copies it
		p.used += len(packed)
	}
	return packed
}

// wrote takes note that everything was written, n bytes in so long.
func (p *compressor) wrote(n int, took time.Duration) {
	p.used = 0
	if p.mode == CompressAuto {
		p.link.wrote(n, took)
	}
}

// meter measures how many bytes a second a link takes: the kernel's own measure of what was
// delivered where there is one, and else what was written by the time it took. Neither says
// anything while little is sent: writes must be bulky, one soon after the other, for long enough.
type meter struct {
	kernel  func() (acked uint64, rate float64) // or nil
	seconds float64                             // a byte; 0: not known
	bulk    uint64                              // bytes of writes one after another, as delivered
	acked   uint64
	last    time.Time
}

const (
	bulky  = 64 << 10 // bytes of a write, at least
	enough = 256 << 10
	soon   = time.Second
	often  = 2 * time.Millisecond // it need not be known more often
	// bytes of writes that say nothing: the kernel's buffer may take that many at once
	absorbed = 8 << 20
)

func newMeter(c net.Conn) meter { return meter{kernel: kernelRate(bare(c))} }

// rate is in bytes a second, 0 while it is not known.
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
