package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
)

// Worker counts the work of a worker of a cluster.
type Worker struct {
	session, leaving prometheus.Gauge
	sessions         prometheus.Counter
	commands         *prometheus.CounterVec
	took             *prometheus.HistogramVec
	work             *Work
}

// Commands that a worker gets.
var commands = []string{"load", "locate", "run", "values", "drop"}

// NewWorker adds the metrics of a worker to the set, and those of its partitions.
func (s *Set) NewWorker() *Worker {
	w := &Worker{
		session: s.gauge("superstep_worker_attached", "1 while the worker has a session."),
		leaving: s.gauge("superstep_worker_leaving",
			"1 while the worker finishes its work before it ends."),
		sessions: s.counter("superstep_worker_sessions_total",
			"Sessions begun with the master: more than one means that some broke."),
		commands: s.counters("superstep_worker_commands_total", "Commands of the master that ended, by how: done, failed, cancelled.", "command", "result"),
		took: s.histograms("superstep_worker_command_duration_seconds",
			"How long commands took.", exponential(1e-4, 1e3, coarse), "command"),
		work: s.NewWork(),
	}
	for _, c := range commands {
		w.took.WithLabelValues(c)
		for _, result := range []string{"done", "failed", "cancelled"} {
			w.commands.WithLabelValues(c, result)
		}
	}
	return w
}

// Session records the begin or end of a session.
func (w *Worker) Session(attached bool) {
	if attached {
		w.session.Set(1)
		w.sessions.Inc()
	} else {
		w.session.Set(0)
	}
}

// Leaving records that the worker is leaving.
func (w *Worker) Leaving() { w.leaving.Set(1) }

// Registered and Stuck count nothing.
func (*Worker) Registered(string, uint64) {}

// Stuck counts nothing.
func (*Worker) Stuck(string) {}

// Command counts a command that has ended.
func (w *Worker) Command(name string, took time.Duration, r *control.Report, err error) {
	result := "done"
	switch {
	case errors.Is(err, context.Canceled):
		result = "cancelled"
	case err != nil:
		result = "failed"
	}
	w.commands.WithLabelValues(name, result).Inc()
	w.took.WithLabelValues(name).Observe(took.Seconds())
}

// Superstep counts the work of the worker's partitions in a superstep.
func (w *Worker) Superstep(seconds float64, reports []*bsp.Report) {
	for _, r := range reports {
		p := r.Partition
		p.Times.End(seconds)
		w.work.record(&p)
	}
}
