// Package metrics has the Prometheus metrics of a process: of runs in it, of a master, of a worker.
// It observes the journal of a run, the state of a cluster and the commands of a worker, and does
// not affect them. Read this file first, then runs.go.
//
// Names and units follow Prometheus's conventions. Labels take values from small sets, so that a
// process has at most 2,000 series: phases, states, programs (the first 32), workers (the first 256
// by name), jobs (the running and the last few).
package metrics

import (
	"math"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Set is the metrics of a process.
type Set struct{ *prometheus.Registry }

// New makes a set with the metrics of every process: its build, its memory, the Go runtime.
func New(version string) *Set {
	s := &Set{prometheus.NewRegistry()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "superstep_build_info", Help: "Always 1; the labels have the versions.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	build.Set(1)
	s.MustRegister(build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// Limits of scrapes: more at a time, or slower ones, are refused.
const (
	maxScrapes    = 4
	scrapeTimeout = 10 * time.Second
)

// Handler answers scrapes.
func (s *Set) Handler() http.Handler {
	return promhttp.HandlerFor(s,
		promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout})
}

// Factors between the bounds of a histogram. A quantile of equal values is off by at most a half of
// the factor less 1: by a fifth with fine.
const fine, coarse = math.Sqrt2, 2

// exponential returns the bounds of a histogram for seconds up to most.
func exponential(from, most, factor float64) []float64 {
	return prometheus.ExponentialBucketsRange(from, most,
		1+int(math.Round(math.Log(most/from)/math.Log(factor))))
}

func (s *Set) gauge(name, help string) prometheus.Gauge {
	return promauto.With(s).NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func (s *Set) counter(name, help string) prometheus.Counter {
	return promauto.With(s).NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func (s *Set) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return promauto.With(s).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (s *Set) histograms(
	name, help string, bounds []float64, labels ...string,
) *prometheus.HistogramVec {
	o := prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}
	return promauto.With(s).NewHistogramVec(o, labels)
}

func (s *Set) histogram(name, help string, bounds []float64) prometheus.Observer {
	return s.histograms(name, help, bounds).WithLabelValues()
}

// collector collects metrics at every scrape.
type collector func(to chan<- prometheus.Metric)

// Describe describes nothing: metrics are checked at every scrape.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect calls the collector.
func (c collector) Collect(to chan<- prometheus.Metric) { c(to) }
