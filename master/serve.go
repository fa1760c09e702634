package master

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/buildinfo"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/jobtrace"
	"github.com/superstep-go/superstep/internal/metrics"
	"github.com/superstep-go/superstep/internal/statefile"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
)

// DefaultAddress is where a master answers unless its options say otherwise.
const DefaultAddress = "127.0.0.1:7700"

// Run runs a master, with its page, API and metrics, until ctx ends.
func Run(ctx context.Context, o Options) error { return Config{Options: o}.Run(ctx) }

// Run is the function Run of a Config.
func (o Config) Run(ctx context.Context) (err error) {
	if o.Spans != nil {
		defer o.Spans.Close()
	}
	if err := o.complete(); err != nil {
		return err
	}
	if o.Listener == nil {
		at := cmp.Or(o.Listen, DefaultAddress)
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
	// Nobody else's, until it closes.
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

// serve makes a master, with its page and metrics, and serves.
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

// observed makes the master's jobs known to Prometheus, to the collector of traces, and to the page.
func (o *Config) observed() *metrics.Set {
	set := metrics.New(o.Version)
	var programs []string
	for _, p := range o.Registry {
		programs = append(programs, p.Name)
	}
	slices.Sort(programs)
	runs, store := set.NewRuns(programs...), history.NewNamedStore()
	observer := &jobtrace.Observer{Queued: store.Queue, New: func() trace.Journal {
		all := trace.Tee{runs.Journal(nil), &jobtrace.Searches{To: store}}
		if o.Spans != nil {
			all = append(all, o.Spans.Journal())
		}
		return all
	}}
	o.Metrics, o.Watch = set.Handler(), observer.Event
	o.Log = slog.New(slog.NewMultiHandler(o.Log.Handler(), history.NewLogHandler(store)))
	o.Page = func(s *Server) http.Handler {
		c := web.NewCluster(store, Audited{s}, s.options.Registry, web.About{Kind: "master", Name: "superstep master", Version: buildinfo.Version()})
		return web.New(c, web.Options{Gate: s.Gate(), Control: c, Closing: s.Closing()})
	}
	return set
}
