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
	State      string      `json:"state"`           // queued, running, done, failed, cancelled
	Ended      trace.Ended `json:"ended,omitempty"` // of one that is done: converged, iterations, limit, halted, stopped
	Error      string      `json:"error,omitempty"`
	Forked     string      `json:"forked,omitempty"` // from which other run's checkpoint it went on, and in what the two differ
	Supersteps int         `json:"supersteps"`
	Seconds    float64     `json:"seconds"`
	// Left is how many seconds a run that is under way takes until MaxSupersteps at most, as it seems; 0 if there is nothing to tell it by.
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
	// Said is the summary in words, for who reads it.
	Said []string `json:"said"`
}

// Row is what a partition did in a superstep, in the least space.
type Row struct {
	Partition int     `json:"partition"`
	Expand    float32 `json:"expand"`
	Traverse  float32 `json:"traverse"`
	Fold      float32 `json:"fold"`
	Compute   float32 `json:"compute"`
	Wait      float32 `json:"wait"`
	Active    int     `json:"active"`
	Senders   int     `json:"senders"`
	Edges     int     `json:"edges"`
	Messages  int     `json:"messages"`
	Sent      int     `json:"messages_sent"`
	Bytes     int     `json:"bytes"`
	Requests  int     `json:"requests,omitempty"`
}

func newRow(p *record.Partition) Row {
	t := &p.Times
	return Row{
		Partition: p.Partition, Expand: float32(t.Expand), Traverse: float32(t.Traverse), Fold: float32(t.Fold),
		Compute: float32(t.Compute), Wait: float32(t.Wait), Active: p.Computed, Senders: p.Delivered, Edges: p.Walked, Messages: p.Messages,
		Sent: p.Sent, Bytes: p.Bytes, Requests: p.Requests,
	}
}

// Pair is a column that one partition sent another.
type Pair struct {
	From int `json:"from"`
	record.Peer
}

// Detail is a superstep, partition by partition. Rows are missing of supersteps so old that they were let go.
type Detail struct {
	Step  *trace.Step `json:"step"`
	Rows  []Row       `json:"rows"`
	Pairs []Pair      `json:"pairs"`
	// PairsGone says that there were pairs, which are not kept any more.
	PairsGone bool `json:"pairs_gone,omitempty"`
}

// Total is what a partition did in the whole run.
type Total struct {
	Partition int            `json:"partition"`
	Worker    string         `json:"worker,omitempty"`
	Times     record.Seconds `json:"seconds"`
	Active    int            `json:"active"`
	Edges     int            `json:"edges"`
	Messages  int            `json:"messages"`
	Sent      int            `json:"messages_sent"`
	Bytes     int            `json:"bytes"`
	Memory    int64          `json:"memory,omitempty"` // of its process, at last
}

func (t *Total) add(p *record.Partition) {
	t.Worker = p.Worker
	t.Times.Add(&p.Times)
	t.Active += p.Computed
	t.Edges += p.Walked
	t.Messages += p.Messages
	t.Sent += p.Sent
	t.Bytes += p.Bytes
	t.Memory = p.Memory
}

// Encoded is what columns of an exchange and an encoding carried.
type Encoded struct {
	Exchange string `json:"exchange"`
	Encoding string `json:"encoding"`
	Columns  int    `json:"columns"`
	Messages int    `json:"messages"`
	Bytes    int    `json:"bytes"`
}

// job is all that is kept of a run.
type job struct {
	Job
	timeLeft TimeLeft
	steps    []*trace.Step   // in order, the newest MaxSteps
	details  map[int]*Detail // by superstep, of some
	totals   []Total         // by partition
	matrix   matrix
	encoded  []Encoded
	counted  int // bytes, when it ended
	detailed int // supersteps in the Store's details
}

// MaxSteps is how many supersteps are kept of a run; the oldest go first. The summary and the totals have all.
const MaxSteps = 50_000

// bytes estimates what is kept of the run but for details: of a superstep the Step, its reason and its predictions.
func (j *job) bytes() int {
	const aStep, aTotal = 1 << 10, 120
	bytes := cap(j.steps)*8 + len(j.steps)*aStep + cap(j.totals)*aTotal + cap(j.matrix.Bytes)*8 + 4<<10
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

// record takes a superstep in. One that ran before, and runs again after a failure, takes the earlier's place.
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
	j.Seconds += step.Times.Total
	if step.Active > 0 {
		j.timeLeft.Add(step.Superstep, step.Times.Total, cmp.Or(s.Ended, time.Now()))
		j.Supersteps = step.Superstep + 1
	}
	j.Messages += step.Messages
	j.Sent += step.Sent
	j.Bytes += step.Bytes
	j.Summary.Add("", step)
	d := &Detail{Step: j.steps[len(j.steps)-1], Rows: make([]Row, 0, len(s.Partitions)), Pairs: []Pair{}}
	for i := range s.Partitions {
		p := &s.Partitions[i]
		d.Rows = append(d.Rows, newRow(p))
		j.partition(p, d)
	}
	return d
}

// partition adds what a partition did to what is kept of the whole run, and its pairs to the superstep's.
func (j *job) partition(p *record.Partition, d *Detail) {
	for i := len(j.totals); i <= p.Partition; i++ {
		j.totals = append(j.totals, Total{Partition: i})
	}
	j.totals[p.Partition].add(p)
	for _, q := range p.Peers {
		d.Pairs = append(d.Pairs, Pair{p.Partition, q})
		j.matrix.add(p.Partition, q.Partition, q.Bytes)
		j.encode(&record.Sum{Exchange: q.Exchange, Encoding: q.Encoding, Columns: 1, Messages: q.Messages, Bytes: q.Bytes})
	}
	for i := range p.Sums {
		j.matrix.Summed = true
		j.encode(&p.Sums[i])
	}
}

func (j *job) encode(s *record.Sum) {
	i := slices.IndexFunc(j.encoded, func(e Encoded) bool { return e.Exchange == s.Exchange && e.Encoding == s.Encoding })
	if i < 0 {
		if len(j.encoded) == 64 {
			return // of a trace from outside, with words of its own
		}
		i, j.encoded = len(j.encoded), append(j.encoded, Encoded{Exchange: s.Exchange, Encoding: s.Encoding})
	}
	e := &j.encoded[i]
	e.Columns, e.Messages, e.Bytes = e.Columns+s.Columns, e.Messages+s.Messages, e.Bytes+s.Bytes
}

// worded has the summary in words.
func (j Job) worded() Job {
	j.Said = j.Summary.Lines()
	return j
}
