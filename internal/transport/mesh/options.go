package mesh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/mem"
)

// Options are what a worker's mesh is made with. Zero values stand for what is said.
type Options struct {
	// Name and Incarnation say who this worker is. A worker that starts again has a higher
	// incarnation.
	Name        string
	Incarnation uint64
	// Token is the cluster's secret. It may be empty only if there is TLS.
	Token string
	// TLS has the certificates of workers, which then all connections show; nil is no TLS.
	TLS *certs.Files
	// Listen is the TCP address to listen at; by default a free port of 127.0.0.1. Listener, if not
	// nil, is used instead.
	Listen   string
	Listener net.Listener
	// TCP connects by TCP also to workers of this host, which else are met by a Unix socket.
	TCP bool
	// Dial connects to another worker; by default by TCP. If it is given, it is used for all.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Window is how many bytes may be on the way to this worker on one connection, on the wire or
	// waiting for a partition that is busy. It should be at least bandwidth x delay: 10 Gbit/s x 10
	// ms = 12.5 MB. 16 MB by default. Where Expect says that the way is longer it becomes larger,
	// up to MostWindow, 256 MB by default, and no more of all connections together than Spare, 1 GB
	// by default. With MostWindow no more than Window it stays as it is.
	Window, MostWindow int
	Spare              int64
	// Chunk is the most payload that is written at once: 1 MB by default, at most 64 MB.
	Chunk int
	// MaxFrame is the most payload a frame may have: 16 GB by default.
	MaxFrame int64
	// Hello is how long connecting may take, the hello included: 5 s by default.
	Hello time.Duration
	// Silence is how long the other side of a connection may give no sign of life, or take no byte:
	// 5 s by default.
	Silence time.Duration
	// Stall is how long a frame may wait for a busy partition to make room: 10 minutes by default.
	Stall time.Duration
	// Compress says whether what goes to others is compressed: by default where it goes faster so.
	Compress Compression
	// Budget bounds the memory of frames that come; nil is that of the process.
	Budget *mem.Budget
	// Log takes a line a second at most about refused connections; nil for none.
	Log *slog.Logger
}

// LeastWindow and MostWindow are the windows that a connection has by default before and after it
// was widened.
const (
	LeastWindow = 16 << 20
	MostWindow  = 256 << 20
)

func (o *Options) setDefaults() {
	orDefault(&o.Listen, "127.0.0.1:0")
	orDefault(&o.Window, LeastWindow)
	orDefault(&o.MostWindow, MostWindow)
	orDefault(&o.Spare, 1<<30)
	orDefault(&o.Compress, CompressAuto)
	orDefault(&o.Chunk, 1<<20)
	orDefault(&o.MaxFrame, 16<<30)
	orDefault(&o.Hello, 5*time.Second)
	orDefault(&o.Silence, 5*time.Second)
	orDefault(&o.Stall, 10*time.Minute)
	if o.Dial != nil {
		o.TCP = true
	} else {
		o.Dial = new(net.Dialer).DialContext
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// budget returns what bounds the memory of frames that come.
func (m *Mesh) budget() *mem.Budget {
	if m.options.Budget != nil {
		return m.options.Budget
	}
	return mem.Process()
}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (o *Options) validate() error {
	var all []error
	if o.Token == "" && o.TLS == nil {
		all = append(all, errors.New("other workers are known by TLS or a token: found neither"))
	}
	if err := checkName(o.Name); err != nil {
		all = append(all, fmt.Errorf("worker name %.40q: it has 1 to %d bytes of printable text",
			o.Name, maxName))
	}
	if o.Window < 0 || o.MostWindow < 0 || o.Spare < 0 || o.MaxFrame < 0 || o.Hello < 0 ||
		o.Silence < 0 || o.Stall < 0 {
		all = append(all, errors.New("a negative limit"))
	}
	if _, err := ParseCompression(string(o.Compress)); err != nil {
		all = append(all, fmt.Errorf("compression: %w", err))
	}
	if o.Chunk < 0 || o.Chunk > maxChunk {
		all = append(all, fmt.Errorf("chunks of %d bytes: at most %d", o.Chunk, maxChunk))
	}
	return errors.Join(all...)
}

// Stats counts what a mesh has seen since it was made.
type Stats struct {
	FramesOut, FramesIn     uint64
	MessagesOut, MessagesIn uint64 // of links
	BytesOut, BytesIn       uint64 // on the wire, headers included
	// Of chunks that were compressed, the bytes before and after.
	CompressedFrom, CompressedTo uint64
	// Stale counts frames that were refused, by what was wrong with them.
	StaleJob, StaleSuperstep, StaleIncarnation, Misrouted uint64
	// Refused counts connections that were not let in, by why; Garbage includes those that said
	// nothing.
	Garbage, WrongVersion, WrongToken, WrongCertificate, Fenced uint64
	// connections given up for a corrupt frame
	Corrupt uint64
	// connections that broke, those included
	Broken uint64
}

// Stale returns how many frames were refused.
func (s *Stats) Stale() uint64 {
	return s.StaleJob + s.StaleSuperstep + s.StaleIncarnation + s.Misrouted
}

// counters are what Stats is taken from.
type counters struct {
	framesOut, framesIn, bytesOut, bytesIn                atomic.Uint64
	messagesOut, messagesIn                               atomic.Uint64
	compressedFrom, compressedTo                          atomic.Uint64
	staleJob, staleSuperstep, staleIncarnation, misrouted atomic.Uint64
	garbage, wrongVersion, wrongToken, wrongCert, fenced  atomic.Uint64
	corrupt, broken                                       atomic.Uint64
	// second of the last line, since start
	logged atomic.Int64
	start  time.Time
}

func (c *counters) stats() Stats {
	return Stats{
		FramesOut: c.framesOut.Load(), FramesIn: c.framesIn.Load(), BytesOut: c.bytesOut.Load(),
		BytesIn:     c.bytesIn.Load(),
		MessagesOut: c.messagesOut.Load(), MessagesIn: c.messagesIn.Load(),
		CompressedFrom: c.compressedFrom.Load(), CompressedTo: c.compressedTo.Load(),
		StaleJob: c.staleJob.Load(), StaleSuperstep: c.staleSuperstep.Load(),
		StaleIncarnation: c.staleIncarnation.Load(),
		Misrouted:        c.misrouted.Load(), Garbage: c.garbage.Load(),
		WrongVersion: c.wrongVersion.Load(),
		WrongToken:   c.wrongToken.Load(), WrongCertificate: c.wrongCert.Load(),
		Fenced: c.fenced.Load(), Corrupt: c.corrupt.Load(), Broken: c.broken.Load(),
	}
}

// pressed counts a chunk that was compressed.
func (c *counters) compressed(from, to int) {
	c.compressedFrom.Add(uint64(from))
	c.compressedTo.Add(uint64(to))
}

// refused counts a connection that was not let in, and reports whether it may be logged.
func (c *counters) refused(err error) bool {
	switch {
	case errors.Is(err, ErrVersion):
		c.wrongVersion.Add(1)
	case errors.Is(err, ErrToken):
		c.wrongToken.Add(1)
	case errors.Is(err, ErrCertificate):
		c.wrongCert.Add(1)
	case errors.Is(err, ErrFenced):
		c.fenced.Add(1)
	default:
		c.garbage.Add(1)
	}
	now, last := int64(time.Since(c.start)/time.Second)+1, c.logged.Load()
	return now > last && c.logged.CompareAndSwap(last, now)
}
