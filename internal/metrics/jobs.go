package metrics

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/trace"
)

// Bounds of the jobs with their own series: the running ones, the newest if there are more, and the
// last that ended.
const (
	maxRunning = 64
	maxEnded   = 16
)

// jobs are the jobs with their own series.
type jobs struct{ running, ended []*job }

type job struct {
	name, program              string
	began, at                  time.Time // of the run; of the last superstep
	superstep, active, senders int
	seconds                    float64 // of the last superstep
	running                    float64 // 1 while it runs, else 0
	kernels                    []history.Kernel
	generation, construction   float64 // seconds, of Graph500
	official                   bool    // these
	failed                     time.Time
	reason                     string // of the failure
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
		next.kernels = r.jobs.ended[i].kernels // from an earlier attempt
	}
	r.jobs.forget(name)
	r.jobs.running = append(r.jobs.running, next)
	if len(r.jobs.running) > maxRunning {
		r.jobs.running = slices.Delete(r.jobs.running, 0, 1)
	}
}

func (r *Runs) end(name string, e *trace.End) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j := r.jobs.find(name)
	if j == nil {
		return
	}
	r.jobs.forget(name)
	j.running, j.active, j.senders = 0, 0, 0
	if e.State == trace.Failed && !e.Again {
		j.failed, j.reason = r.now(), text(fmt.Sprintf("%.200s", trace.Unquoted(e.Error)))
	}
	r.jobs.ended = append(r.jobs.ended, j)
	if len(r.jobs.ended) > maxEnded {
		r.jobs.ended = slices.Delete(r.jobs.ended, 0, 1)
	}
}

// series are the series of each job.
var series = []struct {
	desc  *prometheus.Desc
	value func(*job) float64
}{
	{jobDesc("running", "1 while the job runs, 0 when it has ended."), func(j *job) float64 { return j.running }},
	{jobDesc("start_timestamp_seconds", "When the job began."), func(j *job) float64 { return seconds(j.began) }},
	{jobDesc("superstep", "Supersteps that have ended."), func(j *job) float64 { return float64(j.superstep) }},
	{jobDesc("active_vertices", "Vertices that ran in the last superstep."), func(j *job) float64 { return float64(j.active) }},
	{jobDesc("senders", "Vertices whose messages to all neighbours the last superstep delivered."), func(j *job) float64 { return float64(j.senders) }},
	{jobDesc("last_superstep_seconds", "How long the last superstep took."), func(j *job) float64 { return j.seconds }},
	{jobDesc("progress_timestamp_seconds", "When the last superstep ended, or the job began."), func(j *job) float64 { return seconds(j.at) }},
}

// The label is not called job, because Prometheus has a label of that name.
func jobDesc(name, help string) *prometheus.Desc {
	return clusterDesc("job_"+name, help, "job_id", "program")
}

var failed = clusterDesc("job_failed_timestamp_seconds", "When the job failed, and why: the "+
	"error has at most 200 characters, and no quotes of an input.", "job_id", "program", "error")

// The series of jobs of Graph500.
var (
	jobTEPS = clusterDesc("graph500_teps",
		"Edges that searches of Graph500 traversed a second: the harmonic mean of the job's searches so far.", "job_id", "program", "kernel")
	searchTEPS = clusterDesc("graph500_search_teps",
		"Edges that the job's last search of Graph500 traversed a second.",
		"job_id", "program", "kernel")
	partSeconds = clusterDesc("graph500_part_seconds", "Time of the parts of a job of Graph500 "+
		"so far: generation, construction, search, translation, validation.",
		"job_id", "program", "part")
)

// collect collects the series of jobs.
func (r *Runs) collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	all := make([]job, 0, len(r.jobs.running)+len(r.jobs.ended))
	for _, j := range slices.Concat(r.jobs.ended, r.jobs.running) {
		all = append(all, *j)
	}
	r.mu.Unlock()
	for _, j := range all {
		for _, one := range series {
			send(to, one.desc, prometheus.GaugeValue, one.value(&j), j.name, j.program)
		}
		if !j.failed.IsZero() {
			send(to, failed, prometheus.GaugeValue, seconds(j.failed), j.name, j.program, j.reason)
		}
		parts := values{"generation": j.generation, "construction": j.construction}
		for _, k := range j.kernels {
			kernel := text(k.Name)
			send(to, jobTEPS, prometheus.GaugeValue, k.TEPS, j.name, j.program, kernel)
			send(to, searchTEPS, prometheus.GaugeValue, k.Last, j.name, j.program, kernel)
			parts["search"] += k.Seconds - k.Translate
			parts["translation"] += k.Translate
			parts["validation"] += k.Validate
		}
		for part, seconds := range parts {
			if seconds > 0 { // known, and of Graph500
				send(to, partSeconds, prometheus.GaugeValue, seconds, j.name, j.program, part)
			}
		}
	}
}

// text returns a label's value: invalid UTF-8 would make the whole scrape fail.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
