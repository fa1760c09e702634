package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/superstep-go/superstep/internal/buildinfo"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/following"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/job/resolve/benchmark"
	"github.com/superstep-go/superstep/internal/jobtrace"
	"github.com/superstep-go/superstep/internal/metrics"
	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
)

// seeFlags are the flags for observing a run.
type seeFlags struct {
	Trace string `flag:"trace" group:"output" help:"write each superstep to {FILE}, as JSON"`
	pageFlags
	Linger  bool `flag:"http-linger" group:"output,more" help:"keep serving after the run has ended, until an interrupt"`
	command string
}

// pageFlags are the flags for the page that this process serves.
type pageFlags struct {
	HTTP      string `flag:"http" group:"output,more" help:"serve a page that shows the run, its API and /metrics at {ADDR}, such as 127.0.0.1:8080, while it runs"`
	TokenFile string `flag:"http-token-file" group:"output,more" help:"require the token in {FILE} to open the page; required if other machines can reach it (default: a new one, which the printed link has)"`
}

// check validates the flags before long work.
func (f *seeFlags) check() error {
	if f.HTTP == "" {
		if f.Linger || f.TokenFile != "" {
			return usagef("--http-linger and --http-token-file need --http")
		}
		return nil
	}
	token, err := readToken("--http-token-file", f.TokenFile, func(string) {})
	if err != nil {
		return err
	}
	if err := control.CheckListen(f.HTTP,
		control.Credentials{Token: token, InsecureToken: true}); err != nil {
		if token.Given() || control.Loopback(f.HTTP) ||
			!strings.Contains(err.Error(), "other machines") {
			return usagef("--http: %w", err)
		}
		return usagef(
			"--http: others can reach %s: expected 127.0.0.1 or --http-token-file", f.HTTP)
	}
	return nil
}

// observer observes a run: it shows progress, sums up the run and, if requested, writes a trace,
// serves a page and sends spans.
type observer struct {
	trace.Tee
	*progress
	app    *app
	flags  *seeFlags
	meter  history.Meter
	times  following.Times // of a job on a cluster
	file   lateFile        // of --trace
	local  *web.Local
	server *web.Server
	spans  trace.Exporter // nil without a collector
	last   []func()       // called when the page has ended
}

// start makes the observer of a run with so many threads in this process, or, with 0 threads, of a
// job on a cluster, whose master has the page and the spans. The caller must close it.
func (f *seeFlags) start(a *app, threads int) (*observer, error) {
	w := &observer{app: a, flags: f, progress: a.progress()}
	w.Tee = trace.Tee{&w.meter}
	if f.command != "graph500" { // searches have their own display
		w.Tee = append(w.Tee, &shows{progress: w.progress})
	}
	if f.Trace != "" {
		w.file.path = f.Trace
		w.Tee = append(w.Tee, trace.NewWriter(&w.file))
	}
	if threads == 0 {
		w.times = following.Times{}
		w.Tee = append(w.Tee, w.times)
		return w, nil
	}
	w.tell = w
	spans, err := a.spans(context.Background(), "superstep", "superstep "+f.command)
	if err != nil {
		return nil, err
	}
	if spans != nil {
		w.spans, w.Tee = spans, append(w.Tee, spans.Journal())
	}
	if f.HTTP == "" {
		return w, nil
	}
	set := metrics.New(buildinfo.Revision())
	w.local = web.NewLocal(web.About{Kind: "run", Name: a.line, Version: buildinfo.Version()},
		threads)
	w.Tee = append(w.Tee, &history.Searches{To: w.local}, set.NewRuns().Journal(set.NewWork()))
	return w, w.serve(set.Handler())
}

func (w *observer) serve(metrics http.Handler) error {
	token, err := readToken("--http-token-file", w.flags.TokenFile, w.app.warn)
	if err != nil {
		return err
	}
	if w.server, err = web.Start(w.flags.HTTP, token, w.local, metrics); err != nil {
		return fmt.Errorf("--http: %w", err)
	}
	link := shown(w.server.Link, w.app.shared[1], "; under umask 077 or at a terminal it is shown")
	w.app.notices().say(slog.LevelInfo, "superstep: the page is at "+link, "url", link)
	return nil
}

// job returns an observer that records the events of a job on a cluster.
func (w *observer) job() *jobtrace.Observer {
	before := w.meter
	return benchmark.Observe(w.app.programs, func() trace.Journal {
		w.meter = before // discards the figures of an attempt that lost a worker
		return &following.Late{To: w.Tee}
	})
}

// finish completes the trace.
func (w *observer) finish() error { return w.file.Close() }

// interrupted prints the summary of a run that was interrupted.
func (w *observer) interrupted(err error) {
	if !errors.Is(err, context.Canceled) {
		return
	}
	for _, line := range w.meter.Lines() {
		w.app.remark("superstep: until the interrupt, " + line)
	}
}

// lingers reports whether the page stays after the run.
func (w *observer) lingers() bool { return w.server != nil && w.flags.Linger }

// offer gives the page access to a run's result, if the page stays.
func (w *observer) offer(job string, form resultlines.Form, write func(ctx context.Context,
	to io.Writer) error,
) {
	if w.lingers() {
		w.last = append(w.last, w.local.Offer(job, form, write))
	}
}

// after calls f at once or, if the page stays, when the page has ended. Calls keep their order.
func (w *observer) after(f func()) {
	if w.lingers() {
		w.last = append(w.last, f)
	} else {
		f()
	}
}

// close ends the page and sends the last spans. It is idempotent.
func (w *observer) close() {
	if w.spans != nil {
		w.spans.Close()
		w.spans = nil
	}
	if w.server != nil {
		w.server.Close()
	}
	for _, f := range w.last {
		f()
	}
	w.last = nil
}
