// Package metrics has what Prometheus can ask of a process: of a run in it, of a master, of a
// worker. It counts what the journal of a run, the state of a cluster and the commands of a worker
// say, and takes part in nothing.
//
// Names and units go by Prometheus's conventions. Labels take values from small sets, so that a
// process has at most 2,000 series: phases, states, programs (the first 32), workers (the first 256
// by name), jobs (those that run and the last few).
package metrics

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Set is the metrics of a process.
type Set struct{ registry *prometheus.Registry }

// New makes a set that has what every process has: its build, its memory, the Go runtime.
func New(version string) *Set {
	s := &Set{prometheus.NewRegistry()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "superstep_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	s.registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// Bounds of a scrape: more at a time, or slower ones, are refused.
const (
	maxScrapes    = 4
	scrapeTimeout = 10 * time.Second
)

// Handler answers scrapes.
func (s *Set) Handler() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout})
}

// exponential are bounds of a histogram, each four times the one before.
func exponential(from float64, n int) []float64 { return prometheus.ExponentialBuckets(from, 4, n) }
