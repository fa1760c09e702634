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
	Finished   time.Time `json:"finished,omitzero"`
}

// Detail is a superstep, partition by partition, as its record has it. It is missing of supersteps
// so old that it was let go.
type Detail struct {
	Step       *trace.Step        `json:"step"`
	Partitions []record.Partition `json:"partitions"`
}

// rows is how much memory it takes, in partitions: four of a partition's peers take as much.
func (d *Detail) rows() int {
	peers := 0
	for i := range d.Partitions {
		peers += len(d.Partitions[i].Peers) + len(d.Partitions[i].Sums)
	}
	return len(d.Partitions) + peers/4
}

// job is all that is kept of a run.
type job struct {
	lasting
	of       *job // whose search it is, or nil
	timeLeft TimeLeft
	details  map[int]*Detail // by superstep, of some
	counted  int             // bytes, when it ended
}

// lasting is what Keep encodes of a run.
type lasting struct {
	Job    `json:"job"`
	Whole  `json:"whole"`
	Steps  []*trace.Step // in order, the newest MaxSteps
	Report string        // of a benchmark
}

// MaxSteps is how many supersteps are kept of a run; the oldest go first. The summary and the
// totals have all.
const MaxSteps = 50_000

// bytes estimates what is kept of the run but for details: of a superstep the Step, its reason and
// its predictions.
func (j *job) bytes() int {
	bytes := cap(j.Steps)*8 + len(j.Steps)<<10 + cap(j.Totals)*220 + cap(j.Matrix.Bytes)*8 + len(j.Report) + 4<<10
	for name, text := range j.Aggregators {
		bytes += len(name) + len(text)
	}
	return bytes
}

// ended reports whether nothing of the run is to come.
func (j *job) ended() bool { return j.State != trace.Queued && j.State != trace.Running }

func (j *job) endedJob() bool    { return j.of == nil && j.ended() }
func (j *job) endedSearch() bool { return j.of != nil && j.ended() }

// goesOn has a run that goes on from a checkpoint count from its beginning.
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

// count sets the figures that are the summary's too.
func (j *job) count() {
	s := &j.Summary
	j.Supersteps, j.Messages, j.Sent, j.Bytes, j.Seconds = s.Supersteps, s.Messages, s.Sent, s.Bytes, s.Times.Total
}

// record takes a superstep in. One that ran before, and runs again after a failure, takes the
// earlier's place.
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
	j.sum("", step)
	if step.Active > 0 {
		j.timeLeft.Add(step.Superstep, step.Times.Total, cmp.Or(s.Ended, time.Now()))
		j.Supersteps = step.Superstep + 1
	}
	for i := range s.Partitions {
		j.partition(&s.Partitions[i])
	}
	return &Detail{Step: j.Steps[len(j.Steps)-1], Partitions: s.Clone().Partitions}
}

// sum adds a superstep, of the run or of one of its searches.
func (j *job) sum(search string, step *trace.Step) {
	j.Summary.Add(search, step)
	j.count()
}

// maxEncoded bounds the exchanges and encodings: a trace from outside may have words of its own.
const maxEncoded = 64

// partition adds what a partition did to what is kept of the whole run.
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

// worded has the summary in words, which a run of an earlier process brings along.
func (j Job) worded() Job {
	if j.Said == nil {
		j.Said = j.Summary.Lines()
	}
	return j
}
