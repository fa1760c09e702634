package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"

	"github.com/superstep-go/superstep/internal/buildinfo"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/metrics"
	"github.com/superstep-go/superstep/internal/trace"
)

// spans returns an exporter of traces to a collector, or nil if the environment names none. The
// caller must close it.
func (a *app) spans(ctx context.Context, service, root string) (trace.Exporter, error) {
	e, err := trace.Export(ctx, trace.ExportOptions{
		Service: service, Version: buildinfo.Revision(), Root: root, Log: a.logger(),
	})
	if err != nil {
		return nil, usageError{err}
	}
	return e, nil
}

// watched observes a worker: it updates the metrics, the health pages and the monitor.
type watched struct {
	*metrics.Worker
	health  control.Health
	monitor *monitor
}

func (w *watched) Session(attached bool) {
	w.Worker.Session(attached)
	if attached {
		w.health.Ready()
	} else {
		w.health.NotReady("no session with the master")
	}
}

func (w *watched) Leaving() {
	w.Worker.Leaving()
	w.health.NotReady("leaving")
}

// Stuck makes /healthz report that a command does not stop. Only the log names the command, because
// anyone may read /healthz.
func (w *watched) Stuck(what string) {
	if what != "" {
		what = "a command does not stop, as it was told to"
	}
	w.health.Stuck(what)
}

func (w *watched) Registered(master string, incarnation uint64) {
	w.monitor.registered(master, incarnation)
}

// pages serves a worker's pages on a listener until the returned function is called.
func (w *watched) pages(
	l net.Listener, set *metrics.Set, log *slog.Logger, gate *control.Gate,
) func() {
	mux := http.NewServeMux()
	w.health.Handle(mux)
	mux.Handle("GET /metrics", gate.Page(set.Handler(), control.Reading, true))
	server := control.NewHTTPServer(gate.AtHome(mux), context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := gate.Serve(server, l, log); err != nil &&
			!errors.Is(err, http.ErrServerClosed) {
			log.Error("no metrics any more", "error", err)
		}
	}()
	return func() {
		_ = server.Close()
		<-done
	}
}
