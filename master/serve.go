package master

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/buildinfo"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/job/resolve/benchmark"
	"github.com/superstep-go/superstep/internal/metrics"
	"github.com/superstep-go/superstep/internal/statefile"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
)

// defaultAddress is the default of Options.Listen.
const defaultAddress = "127.0.0.1:7700"

// Run runs a master, with its page, API and metrics, until ctx ends.
func Run(ctx context.Context, o Options) error { return Config{Options: o}.Run(ctx) }

// Run implements the function Run.
func (o Config) Run(ctx context.Context) (err error) {
	if o.Spans != nil {
		defer o.Spans.Close()
	}
	if err := o.complete(); err != nil {
		return err
	}
	if o.Listener == nil {
		at := cmp.Or(o.Listen, defaultAddress)
		if err := control.CheckListen(at, o.who()); err != nil {
			return err
		}
		if o.Listener, err = net.Listen("tcp", at); err != nil {
			return fmt.Errorf("master: %w", err)
		}
	}
	defer o.Listener.Close()
	who := o.who()
	if err := who.Complete(o.Listener.Addr().String()); err != nil {
		return fmt.Errorf("master: %w", err)
	}
	// The token of an arbitrary port is removed at the end.
	if o.Token = who.Token; o.Token.Own() && strings.HasSuffix(o.Listen, ":0") {
		defer control.ForgetOwn(o.Listener.Addr().String())
	}
	if o.Data == "" && o.State == "" && !o.Standby {
		if o.State, err = statefile.UserDir(); err != nil {
			return fmt.Errorf("%w: give --data, a directory", err)
		}
	}
	if o.Standby {
		return o.takeTurns(ctx)
	}
	return o.serve(ctx)
}

// serve runs a master with its page and metrics.
func (o Config) serve(ctx context.Context) error {
	set := o.observed()
	s, err := New(o)
	if err != nil {
		return err
	}
	set.NewMaster(s.whole)
	if o.Ready != nil {
		o.Ready(o.Listener.Addr().String())
	}
	return s.Serve(ctx, o.Listener)
}

// observed connects the master's jobs to Prometheus, the trace collector and the page.
func (o *Config) observed() *metrics.Set {
	set, programs := metrics.New(o.Version), []string{trace.Graph500}
	for _, p := range o.Registry {
		programs = append(programs, p.Name)
	}
	slices.Sort(programs)
	runs, store := set.NewRuns(programs...), history.NewNamedStore()
	observer := benchmark.Observe(o.Registry, func() trace.Journal {
		all := trace.Tee{runs.Journal(nil), &history.Searches{To: store}}
		if o.Spans != nil {
			all = append(all, o.Spans.Journal())
		}
		return all
	})
	observer.Queued = store.Queue
	o.Metrics, o.Watch, o.History = set.Handler(), observer.Event, store
	o.Log = slog.New(slog.NewMultiHandler(o.Log.Handler(), history.NewLogHandler(store)))
	return set
}

// who returns the master's credentials.
func (o *Config) who() control.Credentials {
	return control.Credentials{Token: o.Token, TLS: o.TLS, InsecureToken: o.InsecureToken}
}

// refusedEvery bounds how often refusals are logged.
const refusedEvery = time.Second

// quiet is a rate limiter for log lines. It counts the lines that it drops.
type quiet struct {
	next    atomic.Int64 // time of the next line, in nanoseconds since the master started
	dropped atomic.Int64
}

// let reports whether a line may be written now. If so, dropped is the number of lines dropped
// since the last one.
func (q *quiet) let(now time.Duration) (dropped int64, ok bool) {
	next := q.next.Load()
	if int64(now) < next || !q.next.CompareAndSwap(next, int64(now+refusedEvery)) {
		q.dropped.Add(1)
		return 0, false
	}
	return q.dropped.Swap(0), true
}

// turnAway counts a refused request or handshake, and logs at most one per second.
func (s *server) turnAway(from string, why error) {
	s.event(func() { s.refused++ })
	if dropped, ok := s.refusals.let(s.now()); ok {
		s.log.Warn("refused", "from", from, "reason", why, "more", dropped)
		reason := escape.Text(why.Error(), maxReason)
		s.audit.write(entry{What: "refused", From: from, More: dropped, Outcome: reason})
	}
}

// observed registers the handlers for monitoring, and the page. Health needs no token. Metrics and
// scrape targets accept the cluster's token or the metrics token.
func (s *server) observed(mux *http.ServeMux) {
	s.health.Handle(mux)
	guard := func(h http.Handler) http.Handler { return s.gate.Page(h, control.Reading, true) }
	if s.options.Metrics != nil {
		mux.Handle("GET /metrics", guard(s.options.Metrics))
	}
	mux.Handle("GET /metrics/targets", guard(http.HandlerFunc(s.targets)))
	if s.options.History != nil {
		c := web.NewCluster(s.options.History, s, s.options.Registry,
			web.About{Kind: "master", Name: "superstep master", Version: buildinfo.Version()})
		mux.Handle("/", web.New(c, web.Options{Gate: s.gate, Control: c, Closing: s.ctx.Done()}))
	}
}

// target is an entry of Prometheus's http_sd format.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// resolveTime bounds the lookup of a host name.
const resolveTime = time.Second

// scraped returns the address of a worker's metrics, given the address that the worker registers
// from. It returns "" if the metrics are at another host, because Prometheus would send its token
// there.
func scraped(ctx context.Context, peer, address string) string {
	from, _, err1 := net.SplitHostPort(peer)
	host, port, err2 := net.SplitHostPort(address)
	if err1 != nil || err2 != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	source := net.ParseIP(from)
	all, _ := net.DefaultResolver.LookupIPAddr(ctx, host) // without DNS if host is an address
	if slices.ContainsFunc(all, func(a net.IPAddr) bool { return a.IP.Equal(source) }) {
		return net.JoinHostPort(from, port) // not the name, which could be changed to another host
	}
	own, _ := net.InterfaceAddrs()
	here := func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(net.ParseIP(host))
	}
	if source.IsLoopback() && slices.ContainsFunc(own, here) {
		return address
	}
	return ""
}

// targets lists the live workers that serve metrics.
func (s *server) targets(w http.ResponseWriter, _ *http.Request) {
	all := []target{}
	s.mu.Lock()
	workers := s.workers()
	s.mu.Unlock()
	for _, k := range workers {
		there := k.State == control.WorkerState_WORKER_STATE_REGISTERED ||
			k.State == control.WorkerState_WORKER_STATE_LEAVING
		if there && k.HttpAddress != "" {
			labels := map[string]string{"worker": k.Name, "site": k.Site}
			if s.options.TLS != nil {
				labels["__scheme__"] = "https"
			}
			all = append(all, target{[]string{k.HttpAddress}, labels})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
}

// watched passes an event of a job to the observer. j may be nil if the job is forgotten.
func (s *server) watched(j *job, e *control.JobEvent) {
	if j != nil && s.options.Watch != nil {
		s.options.Watch(j.id, s.shownEvent(s.ctx, j.owner, e)) // as readers may see it
	}
}
