package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Job is a run as shown in lists.
type Job struct {
	ID string `json:"id"`
	trace.Job
	Of    string `json:"of,omitempty"` // the id of the job whose search this is
	State string `json:"state"`        // queued, running, done, failed, cancelled
	// Submitted and Finished are zero if they are unknown, as for a run in one process or from a
	// trace.
	Submitted time.Time `json:"submitted,omitzero"`
	Finished  time.Time `json:"finished,omitzero"`
	// Lost has the earlier attempts, which lost a worker or moved, oldest first.
	Lost []Attempt `json:"lost,omitempty"`
	// if the run is done: converged, iterations, limit, halted, stopped
	Ended trace.Ended `json:"ended,omitempty"`
	Error string      `json:"error,omitempty"`
	// the checkpoint of another run that this run continued, and the differences
	Forked     string  `json:"forked,omitempty"`
	Supersteps int     `json:"supersteps"`
	Seconds    float64 `json:"seconds"`
	// Left is the estimated time until MaxSupersteps in seconds; 0 if there is no estimate.
	Left float64 `json:"left_seconds,omitempty"`
	// Result means that this process can serve the result.
	Result   bool `json:"result,omitempty"`
	Messages int  `json:"messages"`
	Sent     int  `json:"messages_sent"`
	Bytes    int  `json:"bytes"`
	// Aggregators has the final values of the program's aggregators, as text.
	Aggregators map[string]string `json:"aggregators,omitempty"`
	// GraphLeft is the final size of the graph if the program changes it.
	GraphLeft *record.GraphSize `json:"graph_left,omitempty"`
	Summary   Summary           `json:"summary"`
	// Search is the result of a search of Graph500. Kernels has the totals of all searches so far
	// of a job.
	Search  *trace.Search `json:"search,omitempty"`
	Kernels []Kernel      `json:"kernels,omitempty"`
	// Said is the summary as text.
	Said []string `json:"said"`
}

// Attempt is an attempt of a job that did not reach its end.
type Attempt struct {
	Began      time.Time `json:"began"`
	Supersteps int       `json:"supersteps"`
	Error      string    `json:"error"`
	Finished   time.Time `json:"finished,omitzero"`
}

// Detail is a superstep by partition, as in its record. It is discarded for old supersteps.
type Detail struct {
	Step       *trace.Step        `json:"step"`
	Partitions []record.Partition `json:"partitions"`
}

// rows returns the memory use, in partitions: four peers take as much as a partition.
func (d *Detail) rows() int {
	peers := 0
	for i := range d.Partitions {
		peers += len(d.Partitions[i].Peers) + len(d.Partitions[i].Sums)
	}
	return len(d.Partitions) + peers/4
}

// job is everything stored of a run.
type job struct {
	lasting
	of       *job // the job whose search this is, or nil
	timeLeft TimeLeft
	details  map[int]*Detail // of some supersteps, by number
	counted  int             // what bytes returned when the run ended
}

// lasting is the part of a run that Keep encodes.
type lasting struct {
	Job    `json:"job"`
	Whole  `json:"whole"`
	Steps  []*trace.Step // in order, at most the newest MaxSteps
	Report string        // of a benchmark
}

// MaxSteps bounds the stored supersteps of a run; the oldest are discarded. The summary and the
// totals include all.
const MaxSteps = 50_000

// bytes estimates the memory of the run without details. A superstep has a Step with its reason and
// predictions.
func (j *job) bytes() int {
	bytes := cap(j.Steps)*8 + len(j.Steps)<<10 + cap(j.Totals)*220 +
		cap(j.Matrix.Bytes)*8 + len(j.Report) + 4<<10
	n, most := len(j.Steps), 0
	for _, s := range j.Steps[max(0, n-2):] { // the last superstep may have run no vertex
		most = max(most, len(s.Aggregators))
	}
	bytes += n * most * (record.MaxAggregatorName + 24)
	for name, text := range j.Aggregators {
		bytes += len(name) + len(text)
	}
	return bytes
}

// ended reports whether the run has ended.
func (j *job) ended() bool { return j.State != trace.Queued && j.State != trace.Running }

func (j *job) endedJob() bool    { return j.of == nil && j.ended() }
func (j *job) endedSearch() bool { return j.of != nil && j.ended() }

// goesOn makes the figures of a resumed run include the part before its checkpoint.
func (j *job) goesOn() {
	before, began := Before(j.Job.Job.Before)
	j.Job.Job.Before = nil
	if began.IsZero() {
		return
	}
	if j.Began = began; j.Summary.Supersteps == 0 {
		j.Summary = before
		j.count()
	}
}

// count copies figures from the summary.
func (j *job) count() {
	s := &j.Summary
	j.Supersteps, j.Messages, j.Sent, j.Bytes, j.Seconds = s.Supersteps, s.Messages, s.Sent,
		s.Bytes, s.Times.Total
}

// record adds a superstep. If it ran before, and runs again after a failure, it replaces the
// earlier one.
func (j *job) record(s *record.Superstep) *Detail {
	step := new(trace.Step)
	step.Sum(s)
	for n := len(j.Steps); n > 0 && j.Steps[n-1].Superstep >= step.Superstep; n-- {
		delete(j.details, j.Steps[n-1].Superstep)
		j.Steps = j.Steps[:n-1]
	}
	if len(j.Steps) >= MaxSteps {
		for _, old := range j.Steps[:MaxSteps/10] {
			delete(j.details, old.Superstep)
		}
		j.Steps = slices.Delete(j.Steps, 0, MaxSteps/10)
	}
	j.Steps = append(j.Steps, step.Clone())
	reached := j.Supersteps
	j.sum("", step)
	if j.Supersteps = reached; step.Active > 0 {
		j.timeLeft.Add(step.Superstep, step.Times.Total, cmp.Or(s.Ended, time.Now()))
		j.Supersteps = step.Superstep + 1
	}
	for i := range s.Partitions {
		j.partition(&s.Partitions[i])
	}
	return &Detail{Step: j.Steps[len(j.Steps)-1], Partitions: s.Clone().Partitions}
}

// sum adds a superstep of the run, or of one of its searches, to the totals.
func (j *job) sum(search string, step *trace.Step) {
	j.Summary.Add(search, step)
	j.count()
}

// maxEncoded bounds the exchanges and encodings, because a foreign trace may contain arbitrary
// names.
const maxEncoded = 64

// partition adds a partition's record to the totals.
func (j *job) partition(p *record.Partition) {
	for i := len(j.Totals); i <= p.Partition; i++ {
		j.Totals = append(j.Totals, record.Partition{Partition: i})
	}
	j.Totals[p.Partition].Add(p)
	for i := range p.Peers {
		q := &p.Peers[i]
		j.Matrix.add(p.Partition, q.Partition, q.Bytes)
		j.encode(q.Sum())
	}
	for _, s := range p.Sums {
		j.Matrix.Summed = true
		j.encode(s)
	}
}

func (j *job) encode(s record.Sum) {
	j.Encoded = record.AddSum(j.Encoded, s)
	j.Encoded = j.Encoded[:min(len(j.Encoded), maxEncoded)]
}

// worded fills in the summary as text, unless a run of an earlier process already has it.
func (j Job) worded() Job {
	if j.Said == nil {
		j.Said = j.Summary.Lines()
	}
	return j
}
