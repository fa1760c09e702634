package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Job is a run as lists show it.
type Job struct {
	ID string `json:"id"`
	trace.Job
	State string `json:"state"` // queued, running, done, failed, cancelled
	// Submitted and Finished are zero where they are not known: of a run in one process, of a trace.
	Submitted time.Time `json:"submitted,omitzero"`
	Finished  time.Time `json:"finished,omitzero"`
	// Lost are the earlier attempts, which lost a worker or moved, oldest first.
	Lost []Attempt `json:"lost,omitempty"`
	// of one that is done: converged, iterations, limit, halted, stopped
	Ended trace.Ended `json:"ended,omitempty"`
	Error string      `json:"error,omitempty"`
	// from which other run's checkpoint it went on, and in what the two differ
	Forked     string  `json:"forked,omitempty"`
	Supersteps int     `json:"supersteps"`
	Seconds    float64 `json:"seconds"`
	// Left is how many seconds a run that is under way takes until MaxSupersteps at most, as it
	// seems; 0 if there is nothing to tell it by.
	Left float64 `json:"left_seconds,omitempty"`
	// Result says that what it has computed can be asked for in this process.
	Result   bool `json:"result,omitempty"`
	Messages int  `json:"messages"`
	Sent     int  `json:"messages_sent"`
	Bytes    int  `json:"bytes"`
	// Aggregators are what the program's aggregators ended with, as text.
	Aggregators map[string]string `json:"aggregators,omitempty"`
	// GraphLeft is the size of the graph as a program that changes it has left it.
	GraphLeft *record.GraphSize `json:"graph_left,omitempty"`
	Summary   Summary           `json:"summary"`
	// Search is what a search of Graph500 came to, and Kernels what all of the job did so far.
	Search  *trace.Search `json:"search,omitempty"`
	Kernels []Kernel      `json:"kernels,omitempty"`
	// Said is the summary in words, for who reads it.
	Said []string `json:"said"`
}

// Attempt is one of a job's that did not come to its end.
type Attempt struct {
	Began      time.Time `json:"began"`
	Supersteps int       `json:"supersteps"`
	Error      string    `json:"error"`
}

// Detail is a superstep, partition by partition, as its record has it. It is missing of supersteps
// so old that it was let go.
type Detail struct {
	Step       *trace.Step        `json:"step"`
	Partitions []record.Partition `json:"partitions"`
	// PeersGone says that what partitions sent to each other is not kept any more.
	PeersGone bool `json:"peers_gone,omitempty"`
}

// peers counts what partitions sent to each other.
func (d *Detail) peers() (n int) {
	for i := range d.Partitions {
		n += len(d.Partitions[i].Peers) + len(d.Partitions[i].Sums)
	}
	return n
}

// job is all that is kept of a run.
type job struct {
	Job
	timeLeft TimeLeft
	steps    []*trace.Step      // in order, the newest MaxSteps
	details  map[int]*Detail    // by superstep, of some
	totals   []record.Partition // of the whole run, by partition
	matrix   matrix
	encoded  []record.Sum
	report   string // of a benchmark
	counted  int    // bytes, when it ended
	detailed int    // supersteps in the Store's details
}

// MaxSteps is how many supersteps are kept of a run; the oldest go first. The summary and the
// totals have all.
const MaxSteps = 50_000

// bytes estimates what is kept of the run but for details: of a superstep the Step, its reason and
// its predictions.
func (j *job) bytes() int {
	bytes := cap(j.steps)*8 + len(j.steps)<<10 + cap(j.totals)*220 + cap(j.matrix.Bytes)*8 + len(j.report) + 4<<10
	for name, text := range j.Aggregators {
		bytes += len(name) + len(text)
	}
	return bytes
}

// goesOn has a run that goes on from a checkpoint count from its beginning.
func (j *job) goesOn() {
	before, began := Before(j.Job.Job.Before)
	j.Job.Job.Before = nil
	if began.IsZero() {
		return
	}
	if j.Began = began; j.Summary.Supersteps > 0 {
		return
	}
	j.Summary = before
	j.Supersteps, j.Messages, j.Sent, j.Bytes, j.Seconds = before.Supersteps, before.Messages, before.Sent, before.Bytes, before.Times.Total
}

// record takes a superstep in. One that ran before, and runs again after a failure, takes the
// earlier's place.
func (j *job) record(s *record.Superstep) *Detail {
	step := new(trace.Step)
	step.Sum(s)
	for n := len(j.steps); n > 0 && j.steps[n-1].Superstep >= step.Superstep; n-- {
		delete(j.details, j.steps[n-1].Superstep)
		j.steps = j.steps[:n-1]
	}
	if len(j.steps) >= MaxSteps {
		for _, old := range j.steps[:MaxSteps/10] {
			delete(j.details, old.Superstep)
		}
		j.steps = slices.Delete(j.steps, 0, MaxSteps/10)
	}
	j.steps = append(j.steps, step.Clone())
	j.sum("", step)
	if step.Active > 0 {
		j.timeLeft.Add(step.Superstep, step.Times.Total, cmp.Or(s.Ended, time.Now()))
		j.Supersteps = step.Superstep + 1
	}
	for i := range s.Partitions {
		j.partition(&s.Partitions[i])
	}
	return &Detail{Step: j.steps[len(j.steps)-1], Partitions: s.Clone().Partitions}
}

// sum adds a superstep, of the run or of one of its searches.
func (j *job) sum(search string, step *trace.Step) {
	if step.Active > 0 {
		j.Supersteps++
	}
	j.Seconds += step.Times.Total
	j.Messages += step.Messages
	j.Sent += step.Sent
	j.Bytes += step.Bytes
	j.Summary.Add(search, step)
}

// maxEncoded bounds the exchanges and encodings: a trace from outside may have words of its own.
const maxEncoded = 64

// partition adds what a partition did to what is kept of the whole run.
func (j *job) partition(p *record.Partition) {
	for i := len(j.totals); i <= p.Partition; i++ {
		j.totals = append(j.totals, record.Partition{Partition: i})
	}
	j.totals[p.Partition].Add(p)
	for i := range p.Peers {
		q := &p.Peers[i]
		j.matrix.add(p.Partition, q.Partition, q.Bytes)
		j.encode(q.Sum())
	}
	for _, s := range p.Sums {
		j.matrix.Summed = true
		j.encode(s)
	}
}

func (j *job) encode(s record.Sum) {
	j.encoded = record.AddSum(j.encoded, s)
	j.encoded = j.encoded[:min(len(j.encoded), maxEncoded)]
}

// worded has the summary in words.
func (j Job) worded() Job {
	j.Said = j.Summary.Lines()
	return j
}
