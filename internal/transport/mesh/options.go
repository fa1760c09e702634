package mesh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/mem"
)

// Options are the parameters of a mesh. Zero values mean the defaults.
type Options struct {
	// Name and Incarnation identify this worker. After a restart a worker has a greater
	// incarnation.
	Name        string
	Incarnation uint64
	// Token is the cluster's secret. It may be empty only with TLS.
	Token string
	// TLS has the certificates of workers, which all connections then require; nil means no TLS.
	TLS *certs.Files
	// Listener accepts the connections of other workers; by default it is a free port of 127.0.0.1.
	Listener net.Listener
	// TCP makes connections to workers of this host use TCP, not a Unix socket.
	TCP bool
	// Dial connects to another worker; the default is TCP. If it is given, it is used for all
	// workers.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Window is the number of bytes that may be in flight to this worker on one connection: on the
	// wire, or waiting for a busy partition. It should be at least bandwidth x delay: 10 Gbit/s x
	// 10 ms = 12.5 MB. The default is 16 MB. For a longer delay (Expect) the window grows, up to
	// MostWindow, by default 256 MB. Spare bounds the growth of all connections together, by
	// default to 1 GB. If MostWindow is at most Window, windows do not grow.
	Window, MostWindow int
	Spare              int64
	// Chunk is the greatest payload that is written at once: by default 1 MB, at most 64 MB.
	Chunk int
	// MaxFrame is the greatest payload of a frame: by default 16 GB.
	MaxFrame int64
	// Hello bounds the time to connect, including the hello: by default 5 s.
	Hello time.Duration
	// Silence bounds the time in which the other side of a connection sends no sign of life, or
	// accepts no byte: by default 5 s.
	Silence time.Duration
	// Stall bounds the time that a frame waits for a busy partition: by default 10 minutes.
	Stall time.Duration
	// Compress selects compression: by default it is used if it is faster.
	Compress Compression
	// Budget bounds the memory of received frames; nil means the process's budget.
	Budget *mem.Budget
	// Log gets at most one line per second about refused connections; nil means no log.
	Log *slog.Logger
}

// LeastWindow and MostWindow are the default windows of a connection, initially and at most.
const (
	LeastWindow = 16 << 20
	MostWindow  = 256 << 20
)

func (o *Options) setDefaults() {
	o.Window = cmp.Or(o.Window, LeastWindow)
	o.MostWindow = cmp.Or(o.MostWindow, MostWindow)
	o.Spare = cmp.Or(o.Spare, 1<<30)
	o.Compress = cmp.Or(o.Compress, CompressAuto)
	o.Chunk = cmp.Or(o.Chunk, 1<<20)
	o.MaxFrame = cmp.Or(o.MaxFrame, 16<<30)
	o.Hello = cmp.Or(o.Hello, 5*time.Second)
	o.Silence = cmp.Or(o.Silence, 5*time.Second)
	o.Stall = cmp.Or(o.Stall, 10*time.Minute)
	if o.Dial != nil {
		o.TCP = true
	} else {
		o.Dial = new(net.Dialer).DialContext
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
}

func (o *Options) validate() error {
	var all []error
	if o.Token == "" && o.TLS == nil {
		all = append(all, errors.New("found neither TLS nor a token, expected one of the two"))
	}
	if err := checkName(o.Name); err != nil {
		all = append(all, fmt.Errorf("worker name: found %.40q, expected 1 to %d bytes of text",
			o.Name, maxName))
	}
	if o.Window < 0 || o.MostWindow < 0 || o.Spare < 0 || o.MaxFrame < 0 || o.Hello < 0 ||
		o.Silence < 0 || o.Stall < 0 {
		all = append(all, errors.New("found a negative limit, expected 0 or more"))
	}
	modes := []Compression{CompressAuto, CompressOn, CompressOff}
	if !slices.Contains(modes, o.Compress) {
		all = append(all, fmt.Errorf("compression: found %.40q, expected %v", o.Compress, modes))
	}
	if o.Chunk < 0 || o.Chunk > maxChunk {
		all = append(all, fmt.Errorf("chunks of %d bytes: at most %d", o.Chunk, maxChunk))
	}
	return errors.Join(all...)
}

// Stats are a mesh's counters since it was made.
type Stats figures[uint64]

// figures are counters of type N.
type figures[N any] struct {
	FramesOut, FramesIn     N
	MessagesOut, MessagesIn N // of links
	BytesOut, BytesIn       N // on the wire, with headers
	// Bytes of compressed chunks, before and after compression.
	CompressedFrom, CompressedTo N
	// Refused frames, by reason.
	StaleJob, StaleSuperstep, StaleIncarnation, Misrouted N
	// Refused connections, by reason. Garbage includes connections that sent nothing.
	Garbage, WrongVersion, WrongToken, WrongCertificate, Fenced N
	// connections closed because of a corrupt frame
	Corrupt N
	// broken connections, including those with a corrupt frame
	Broken N
}

// Stale returns the number of refused frames.
func (s *Stats) Stale() uint64 {
	return s.StaleJob + s.StaleSuperstep + s.StaleIncarnation + s.Misrouted
}

// Add adds the counters of another mesh.
func (s *Stats) Add(o Stats) {
	to, from := reflect.ValueOf(s).Elem(), reflect.ValueOf(o)
	for i := range to.NumField() {
		to.Field(i).SetUint(to.Field(i).Uint() + from.Field(i).Uint())
	}
}

// counters are the counters of a running mesh, which count changes.
type counters struct {
	figures[atomic.Uint64]
	// when the last line was logged, in seconds since start
	logged atomic.Int64
	start  time.Time
}

// count adds to a counter.
func count[N int | uint64](counter *atomic.Uint64, n N) { counter.Add(uint64(n)) }

func (c *counters) stats() (s Stats) {
	from, to := reflect.ValueOf(&c.figures).Elem(), reflect.ValueOf(&s).Elem()
	for i := range to.NumField() {
		to.Field(i).SetUint(from.Field(i).Addr().Interface().(*atomic.Uint64).Load())
	}
	return s
}

// refused counts a refused connection, and reports whether it may be logged.
func (c *counters) refused(err error) bool {
	switch {
	case errors.Is(err, ErrVersion):
		count(&c.WrongVersion, 1)
	case errors.Is(err, ErrToken):
		count(&c.WrongToken, 1)
	case errors.Is(err, ErrCertificate):
		count(&c.WrongCertificate, 1)
	case errors.Is(err, ErrFenced):
		count(&c.Fenced, 1)
	default:
		count(&c.Garbage, 1)
	}
	now, last := int64(time.Since(c.start)/time.Second)+1, c.logged.Load()
	return now > last && c.logged.CompareAndSwap(last, now)
}
