package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/superstep-go/superstep/internal/history"
)

// Bounds of the jobs that have series of their own: those that run, the newest if there are more,
// and the last that ended.
const (
	maxRunning = 64
	maxEnded   = 16
)

// jobs are those with series of their own.
type jobs struct{ running, ended []*job }

type job struct {
	name, program              string
	began, at                  time.Time // of the run, of the last superstep
	superstep, active, senders int
	seconds                    float64 // of the last superstep
	running                    float64 // 1, or 0 when it has ended
	kernels                    []history.Kernel
}

func (j *jobs) find(name string) *job {
	if i := slices.IndexFunc(j.running, func(k *job) bool { return k.name == name }); i >= 0 {
		return j.running[i]
	}
	return nil
}

func (j *jobs) forget(name string) {
	same := func(k *job) bool { return k.name == name }
	j.running, j.ended = slices.DeleteFunc(j.running, same), slices.DeleteFunc(j.ended, same)
}

func (r *Runs) begin(name, program string, began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if began.IsZero() {
		began = now
	}
	next := &job{name: name, program: program, began: began, at: now, running: 1}
	if i := slices.IndexFunc(r.jobs.ended, func(k *job) bool { return k.name == name }); i >= 0 {
		next.kernels = r.jobs.ended[i].kernels // of an attempt before
	}
	r.jobs.forget(name)
	r.jobs.running = append(r.jobs.running, next)
	if len(r.jobs.running) > maxRunning {
		r.jobs.running = slices.Delete(r.jobs.running, 0, 1)
	}
}

func (r *Runs) end(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.jobs.find(name)
	if j == nil {
		return
	}
	r.jobs.forget(name)
	j.running, j.active, j.senders = 0, 0, 0
	r.jobs.ended = append(r.jobs.ended, j)
	if len(r.jobs.ended) > maxEnded {
		r.jobs.ended = slices.Delete(r.jobs.ended, 0, 1)
	}
}

// The label is not called job: Prometheus has one of that name.
var jobLabels = []string{"job_id", "program"}

// What there is of a job by itself.
var (
	jobRunning = prometheus.NewDesc("superstep_job_running", "1 while the job runs, 0 when it has ended.", jobLabels, nil)
	jobBegan   = prometheus.NewDesc("superstep_job_start_timestamp_seconds", "When the job began.", jobLabels, nil)
	jobStep    = prometheus.NewDesc("superstep_job_superstep", "Supersteps that have ended.", jobLabels, nil)
	jobActive  = prometheus.NewDesc("superstep_job_active_vertices", "Vertices that ran in the last superstep.", jobLabels, nil)
	jobSenders = prometheus.NewDesc("superstep_job_senders", "Vertices whose messages to all neighbours the last superstep delivered.", jobLabels, nil)
	jobSeconds = prometheus.NewDesc("superstep_job_last_superstep_seconds", "How long the last superstep took.", jobLabels, nil)
	jobAt      = prometheus.NewDesc("superstep_job_progress_timestamp_seconds", "When the last superstep ended, or the job began.", jobLabels, nil)
)

var jobTEPS = prometheus.NewDesc("superstep_graph500_teps", "Edges that searches of Graph500 traversed a second: the harmonic mean of the job's searches so far.", append(jobLabels, "kernel"), nil)

// Describe describes the series of jobs.
func (r *Runs) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{jobRunning, jobBegan, jobStep, jobActive, jobSenders, jobSeconds, jobAt, jobTEPS} {
		to <- d
	}
}

// Collect collects the series of jobs.
func (r *Runs) Collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	all := make([]job, 0, len(r.jobs.running)+len(r.jobs.ended))
	for _, j := range slices.Concat(r.jobs.ended, r.jobs.running) {
		all = append(all, *j)
	}
	r.mu.Unlock()
	for _, j := range all {
		for _, m := range []struct {
			desc  *prometheus.Desc
			value float64
		}{
			{jobRunning, j.running},
			{jobBegan, seconds(j.began)},
			{jobStep, float64(j.superstep)},
			{jobActive, float64(j.active)},
			{jobSenders, float64(j.senders)},
			{jobSeconds, j.seconds},
			{jobAt, seconds(j.at)},
		} {
			to <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, m.value, j.name, j.program)
		}
		for _, k := range j.kernels {
			to <- prometheus.MustNewConstMetric(jobTEPS, prometheus.GaugeValue, k.TEPS, j.name, j.program, text(k.Name))
		}
	}
}

// text is a label's value: what is no UTF-8 would make the whole scrape fail.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
