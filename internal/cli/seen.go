package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/buildinfo"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/jobtrace"
	"github.com/superstep-go/superstep/internal/metrics"
	"github.com/superstep-go/superstep/internal/otlp"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
)

// seeFlags say how a run can be seen.
type seeFlags struct {
	trace     string
	http      string
	linger    bool
	tokenFile string
	command   string
}

func (f *seeFlags) define(cmd *cobra.Command) {
	f.command = cmd.Name()
	cmd.Flags().StringVar(&f.trace, "trace", "", "write a record of every superstep, JSON lines, to `FILE`")
	f.defineHTTP(cmd, "", "serve a page that shows the run, its API and /metrics at `ADDR`, such as 127.0.0.1:8080, while it runs")
	cmd.Flags().BoolVar(&f.linger, "http-linger", false, "serve until an interrupt, also once the run has ended")
}

func (f *seeFlags) defineHTTP(cmd *cobra.Command, usual, help string) {
	cmd.Flags().StringVar(&f.http, "http", usual, help)
	cmd.Flags().StringVar(&f.tokenFile, "http-token-file", "", "ask who opens the page for the token in `FILE`: needed if others can reach it")
	nothing(cmd, "http")
}

// check refuses what cannot be, before long work.
func (f *seeFlags) check() error {
	if f.http == "" {
		if f.linger || f.tokenFile != "" {
			return usagef("--http-linger and --http-token-file are of --http")
		}
		return nil
	}
	token, err := readToken("--http-token-file", f.tokenFile)
	if err != nil {
		return err
	}
	if err := control.CheckListen(f.http, control.Credentials{Token: token, InsecureToken: true}); err != nil {
		if token.Given() || control.Loopback(f.http) || !strings.Contains(err.Error(), "other machines") {
			return usagef("--http: %w", err)
		}
		return usagef("--http: %s can be reached from other machines: give --http-token-file, or listen at 127.0.0.1", f.http)
	}
	return nil
}

// observer is what observes a run: its progress, what it comes to, and if asked for a trace, a page and spans.
type observer struct {
	trace.Tee
	*progress
	app    *app
	flags  *seeFlags
	meter  history.Meter
	file   *lateFile
	local  *web.Local
	server *web.Server
	spans  *otlp.Exporter // nil if nobody collects them
}

// start makes the observer, which is to be closed, of a run by so many threads of this process, or if there are none of a job on a cluster:
// its master has the page and the spans.
func (f *seeFlags) start(a *app, threads int) (*observer, error) {
	w := &observer{app: a, flags: f, progress: a.progress()}
	w.Tee = trace.Tee{&w.meter}
	if f.trace != "" {
		w.file = &lateFile{path: f.trace}
		w.Tee = append(w.Tee, trace.NewWriter(w.file))
	}
	if threads == 0 {
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
	if f.http == "" {
		return w, nil
	}
	set := metrics.New(buildinfo.Revision())
	w.local = web.NewLocal(web.About{Kind: "run", Name: a.line, Version: buildinfo.Version()}, threads)
	w.Tee = append(w.Tee, w.local, set.NewRuns().Journal(set.NewWork()))
	return w, w.serve(set.Handler())
}

func (w *observer) serve(metrics http.Handler) error {
	token, err := readToken("--http-token-file", w.flags.tokenFile)
	if err != nil {
		return err
	}
	if w.server, err = web.Start(w.flags.http, token, w.local, metrics); err != nil {
		return fmt.Errorf("--http: %w", err)
	}
	w.app.notices().say(slog.LevelInfo, "superstep: the page is at "+w.server.URL, "url", w.server.URL)
	return nil
}

// graph shows a graph that was loaded.
func (w *observer) graph(g *graph.Graph, grid string, seconds float64) {
	if w.local != nil {
		w.local.AddGraph(web.Graph{
			Name: g.Name, State: "loaded", Vertices: uint64(g.N), Arcs: g.Arcs, Directed: g.Directed, Bytes: g.Bytes(),
			Partitions: len(g.Parts), Grid: grid, Seconds: seconds,
		})
	}
}

// job records what a master tells of a job.
func (w *observer) job() *jobtrace.Observer {
	before := w.meter
	return &jobtrace.Observer{New: func() trace.Journal {
		w.meter = before // what an attempt that lost a worker came to does not count
		return &jobtrace.Late{To: w.Tee}
	}}
}

// finish completes the trace.
func (w *observer) finish() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

// interrupted says of a run that was ended early what would have been said at its end.
func (w *observer) interrupted(err error) {
	if !errors.Is(err, context.Canceled) {
		return
	}
	for _, line := range w.meter.Lines() {
		w.app.notices().say(slog.LevelInfo, "superstep: until the interrupt, "+line)
	}
}

// linger serves on until an interrupt, if that was asked for.
func (w *observer) linger(ctx context.Context) {
	if w.server == nil || !w.flags.linger || ctx.Err() != nil {
		return
	}
	w.app.notices().say(slog.LevelInfo, "superstep: the run has ended; the page stays at "+w.server.URL+" until an interrupt", "url", w.server.URL)
	<-ctx.Done()
}

// close ends the page, and sends the last spans. It is idempotent.
func (w *observer) close() {
	if w.spans != nil {
		w.spans.Close()
		w.spans = nil
	}
	if w.server != nil {
		w.server.Close()
	}
}

// ui is `superstep ui`.
func (a *app) ui() *cobra.Command {
	f := &seeFlags{}
	cmd := &cobra.Command{
		Use:   "ui TRACE...",
		Short: "Show saved traces on a page",
		Long: `Show what runs wrote with --trace on a page, until an interrupt: their timelines, what was chosen in each superstep and
why, who waited for whom. Two traces can be compared, superstep by superstep.`,
		Example: `  superstep ui supersteps.jsonl
  superstep ui before.jsonl after.jsonl --http 127.0.0.1:8080`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("ui wants a trace: superstep run --trace FILE writes one")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.show(cmd.Context(), f, args) },
	}
	cmd.Flags().SortFlags = false
	f.defineHTTP(cmd, "127.0.0.1:0", "serve the page and its API at `ADDR`")
	return cmd
}

func (a *app) show(ctx context.Context, f *seeFlags, files []string) error {
	if err := f.check(); err != nil {
		return err
	}
	w := &observer{app: a, flags: f, local: web.NewLocal(web.About{Kind: "file", Name: strings.Join(files, " "), Version: buildinfo.Version()}, 0)}
	progress := a.progress()
	defer progress.done()
	for _, name := range files {
		var to trace.Journal = w.local
		if len(files) > 1 {
			to = ofFile{w.local, name}
		}
		if err := replay(ctx, name, to, progress); err != nil {
			if !errors.Is(err, trace.ErrCut) {
				return err
			}
			a.notices().say(slog.LevelWarn, err.Error())
		}
	}
	progress.done()
	if len(w.local.Jobs()) == 0 {
		return fmt.Errorf("%s: there are no supersteps in it", strings.Join(files, ", "))
	}
	if err := w.serve(nil); err != nil {
		return err
	}
	defer w.close()
	<-ctx.Done()
	return nil
}

// ofFile is a journal to which jobs are known by their file too: those of two traces mostly have the same names. Stages of no
// job are the file's.
type ofFile struct {
	to   trace.Journal
	file string
}

func (f ofFile) named(job string) string { return f.file + ": " + job }

func (f ofFile) Begin(j *trace.Job) error {
	named := *j
	named.Job = f.named(j.Job)
	return f.to.Begin(&named)
}

func (f ofFile) Record(s *trace.Superstep) error {
	named := *s
	named.Job = f.named(s.Job)
	return f.to.Record(&named)
}

func (f ofFile) End(e *trace.End) error {
	named := *e
	named.Job = f.named(e.Job)
	return f.to.End(&named)
}

func (f ofFile) Stage(s *trace.Stage) error {
	named := *s
	if named.Job = f.file; s.Job != "" {
		named.Job = f.named(s.Job)
	}
	return f.to.Stage(&named)
}

func (f ofFile) Log(l *trace.Log) error {
	named := *l
	if l.Job != "" {
		named.Job = f.named(l.Job)
	}
	return f.to.Log(&named)
}

// replay reads a trace into a journal.
func replay(ctx context.Context, name string, to trace.Journal, p *progress) error {
	if err := readable(name); err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	in := &metered{ctx: ctx, r: file, tell: func(done int64) { p.stage("reading "+name, done, info.Size()) }}
	return trace.NewReader(in, name).Play(to)
}

// metered tells how much was read, and fails once a context ends.
type metered struct {
	ctx  context.Context
	r    io.Reader
	done int64
	tell func(done int64)
}

func (m *metered) Read(p []byte) (int, error) {
	if m.ctx.Err() != nil {
		return 0, m.ctx.Err()
	}
	n, err := m.r.Read(p)
	m.done += int64(n)
	m.tell(m.done)
	return n, err
}
