package metrics

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Runs counts runs and their supersteps: those of this process, or those of a master's jobs.
type Runs struct {
	runs        *prometheus.CounterVec
	runSeconds  prometheus.Observer
	supersteps  *prometheus.CounterVec
	stepSeconds *prometheus.HistogramVec
	skew, model prometheus.Observer
	messages    prometheus.Counter
	searches    *prometheus.CounterVec

	programs labels
	words    labels // of schemes, deliveries and ends
	mu       sync.Mutex
	jobs     jobs
	now      func() time.Time
}

// ends are the possible ends of a run: its state, and for done runs the reason.
var ends = [][2]string{
	{trace.Done, string(trace.Converged)},
	{trace.Done, string(trace.Iterations)},
	{trace.Done, string(trace.Limit)},
	{trace.Done, string(trace.Halted)},
	{trace.Done, string(trace.Stopped)},
	{trace.Failed},
	{trace.Cancelled},
	{again},
	{trace.Done}, // of Graph500 and netbench, without a reason
}

// NewRuns adds the metrics of runs to the set. The counters of the named programs exist from the
// start, so that increase() sees the first run of each.
func (s *Set) NewRuns(names ...string) *Runs {
	r := &Runs{
		runs: s.counters("superstep_jobs_total",
			"Ended jobs, by state: done, failed, cancelled; again counts attempts that were repeated. The label ended is the reason why a run is done: converged, iterations, limit, halted, stopped.",
			"program", "state", "ended"),
		runSeconds: s.histogram("superstep_job_duration_seconds",
			"How long the runs of jobs took, without loading and writing.", exponential(1e-3, 1e5, fine)),
		supersteps:  s.counters("superstep_supersteps_total", "Supersteps run, by the scheme of delivery that was chosen. A restarted master may count some of them again.", "scheme"),
		stepSeconds: s.histograms("superstep_superstep_duration_seconds", "How long supersteps took, by whether messages were pushed or pulled.", exponential(1e-5, 1e3, coarse), "delivery"),
		skew: s.histogram("superstep_superstep_skew_ratio",
			"The busiest partition's time at work over the mean of all, by superstep; 1 is even.",
			[]float64{1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10}),
		model: s.histogram("superstep_delivery_prediction_ratio",
			"Measured over predicted time of delivery, by superstep of at least 1 ms.",
			[]float64{.1, .25, .5, .75, .9, 1.1, 1.33, 2, 4, 10}),
		messages: s.counter("superstep_messages_total",
			"Messages programs sent, before combining."),
		searches: s.counters("superstep_graph500_searches_total",
			"Searches of Graph500 that have ended, by whether they were valid: true, false, or unchecked.", "kernel", "valid"),
		now: time.Now,
	}
	for _, kernel := range []string{"bfs", "sssp"} {
		for _, valid := range []string{"true", "false", "unchecked"} {
			r.searches.WithLabelValues(kernel, valid)
		}
	}
	for _, name := range names {
		for _, end := range ends {
			r.runs.WithLabelValues(r.programs.bounded(name), end[0], r.words.bounded(end[1]))
		}
	}
	for _, scheme := range []string{"none", "naive", "mirrored", "lalp", "pull"} {
		r.supersteps.WithLabelValues(r.words.bounded(scheme))
	}
	for _, delivery := range []string{"none", "push", "pull"} {
		r.stepSeconds.WithLabelValues(r.words.bounded(delivery))
	}
	s.MustRegister(collector(r.collect))
	return r
}

// Journal returns a journal for consecutive runs. Concurrent runs need a journal each. If work is
// not nil, it counts the work of the run's partitions.
func (r *Runs) Journal(work *Work) trace.Journal {
	return &journal{runs: r, work: work, supersteps: map[string]prometheus.Counter{}, seconds: map[string]prometheus.Observer{}}
}

type journal struct {
	runs    *Runs
	work    *Work
	step    trace.Step
	name    string // of the run, as a label
	program string
	skip    bool
	// By scheme and by delivery, because looking them up in a vector would take longer than
	// everything else.
	supersteps map[string]prometheus.Counter
	seconds    map[string]prometheus.Observer
}

// Record counts an event.
func (j *journal) Record(e trace.Event) error {
	switch e := e.(type) {
	case *trace.Job:
		j.begin(e)
	case *record.Superstep:
		if j.skip {
			break
		}
		if j.work != nil {
			for i := range e.Partitions {
				j.work.record(&e.Partitions[i])
			}
		}
		j.step.Sum(e)
		j.count(e.Job, &j.step)
	case *trace.Stage:
		j.stage(e)
	case *trace.Search:
		j.search(e)
	case *trace.End:
		if !j.skip {
			j.end(e)
		}
		j.skip = false
	}
	return nil
}

// begin begins a run, or adds what is known later: the start time of a run that continues from a
// checkpoint, and the official times of Graph500.
func (j *journal) begin(b *trace.Job) {
	if b.More {
		j.runs.mu.Lock()
		defer j.runs.mu.Unlock()
		if job := j.runs.jobs.find(j.name); job != nil && !b.Began.IsZero() {
			job.began = b.Began
			if job.official = b.Construction > 0; job.official {
				job.generation, job.construction = b.Generation, b.Construction
			}
		}
		return
	}
	if j.skip = strings.HasSuffix(b.Job, trace.WarmUp); !j.skip {
		j.name = text(b.Job)
		j.program = j.runs.programs.bounded(b.Program)
		j.runs.begin(j.name, j.program, b.Began)
	}
}

// stage records the times of Graph500 before its searches, until the official ones are known. An
// attempt replaces those of the attempt before.
func (j *journal) stage(s *trace.Stage) {
	j.runs.mu.Lock()
	defer j.runs.mu.Unlock()
	job := j.runs.jobs.find(j.name)
	if job == nil || j.program != trace.Graph500 || job.official {
		return
	}
	switch s.Stage {
	case "generating":
		job.generation = s.Seconds
	case "constructing":
		job.construction = s.Seconds
	}
}

// search counts a search of Graph500.
func (j *journal) search(s *trace.Search) {
	r, valid := j.runs, "unchecked"
	if s.Valid != nil {
		valid = strconv.FormatBool(*s.Valid)
	}
	r.searches.WithLabelValues(s.Kernel, valid).Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	if job := r.jobs.find(j.name); job != nil {
		job.kernels = history.AddSearch(job.kernels, s)
	}
}

// again is the state of an attempt after which the job is started again.
const again = "again"

func (j *journal) end(e *trace.End) {
	state := e.State
	if e.Again {
		state = again
	}
	j.runs.runs.WithLabelValues(j.program, state, j.runs.words.bounded(string(e.Ended))).Inc()
	j.runs.runSeconds.Observe(e.Seconds)
	j.runs.end(j.name, e)
}

// count counts a superstep of the run, or of the search that its record names.
func (j *journal) count(search string, s *trace.Step) {
	r := j.runs
	scheme, delivery := r.words.bounded(s.Scheme), r.words.bounded(s.Delivery)
	counter, seconds := j.supersteps[scheme], j.seconds[delivery]
	if counter == nil {
		counter = r.supersteps.WithLabelValues(scheme)
		j.supersteps[scheme] = counter
	}
	if seconds == nil {
		seconds = r.stepSeconds.WithLabelValues(delivery)
		j.seconds[delivery] = seconds
	}
	if s.Active == 0 {
		return // a last superstep without running vertices: only its bytes count
	}
	counter.Inc()
	seconds.Observe(s.Times.Total)
	r.messages.Add(float64(s.Messages))
	if s.Busy.Mean > 0 {
		r.skew.Observe(s.Busy.Ratio())
	}
	if predicted := s.Predicted[s.Scheme]; predicted > 0 && s.Actual >= history.Tiny {
		r.model.Observe(s.Actual / predicted)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if job := r.jobs.find(j.name); job != nil {
		if job.superstep++; search == j.name {
			job.superstep = s.Superstep + 1
		}
		job.active, job.senders, job.seconds, job.at = s.Active, s.Senders, s.Times.Total, r.now()
	}
}

// maxLabels bounds the values of a label; later ones are "other".
const maxLabels = 32

// labels has the values of a label, or of several, seen so far.
type labels struct {
	mu    sync.Mutex
	names map[string]bool
}

func (p *labels) bounded(name string) string {
	name = text(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names[name] {
		return name
	}
	if len(p.names) >= maxLabels {
		return "other"
	}
	if p.names == nil {
		p.names = map[string]bool{}
	}
	p.names[name] = true
	return name
}
