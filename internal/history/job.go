package history

import (
	"slices"

	"github.com/superstep-go/superstep/internal/trace"
)

// States of a job that has not ended; one that has is in the state of its outcome.
const (
	Queued  = "queued"
	Running = "running"
)

// Job is a run as lists show it.
type Job struct {
	ID string `json:"id"`
	trace.Job
	State      string  `json:"state"` // queued, running, converged, limit, failed, cancelled
	Error      string  `json:"error,omitempty"`
	Supersteps int     `json:"supersteps"`
	Seconds    float64 `json:"seconds"`
	Messages   int     `json:"messages"`
	Sent       int     `json:"messages_sent"`
	Bytes      int     `json:"bytes"`
	Summary    Summary `json:"summary"`
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
}

func newRow(r *trace.Record) Row {
	t := &r.Times
	return Row{
		Partition: r.Partition, Expand: float32(t.Expand), Traverse: float32(t.Traverse), Fold: float32(t.Fold),
		Compute: float32(t.Compute), Wait: float32(t.Wait), Active: r.Active, Senders: r.Senders, Edges: r.Edges, Messages: r.Messages,
		Sent: r.Sent, Bytes: r.Bytes(),
	}
}

// Pair is a column that one partition sent another.
type Pair struct {
	From int `json:"from"`
	trace.Peer
}

// Detail is a superstep, partition by partition. Rows are missing of supersteps so old that they were let go.
type Detail struct {
	Step  *Step  `json:"step"`
	Rows  []Row  `json:"rows"`
	Pairs []Pair `json:"pairs"`
	// PairsGone says that there were pairs, which are not kept any more.
	PairsGone bool `json:"pairs_gone,omitempty"`
}

// Total is what a partition did in the whole run.
type Total struct {
	Partition int           `json:"partition"`
	Worker    string        `json:"worker,omitempty"`
	Times     trace.Seconds `json:"seconds"`
	Active    int           `json:"active"`
	Edges     int           `json:"edges"`
	Messages  int           `json:"messages"`
	Sent      int           `json:"messages_sent"`
	Bytes     int           `json:"bytes"`
	Memory    int64         `json:"memory,omitempty"` // of its process, at last
}

func (t *Total) add(r *trace.Record) {
	t.Worker = r.Worker
	a, b := &t.Times, &r.Times
	a.Expand += b.Expand
	a.Traverse += b.Traverse
	a.Fold += b.Fold
	a.Compute += b.Compute
	a.Wait += b.Wait
	a.Total += b.Total
	t.Active += r.Active
	t.Edges += r.Edges
	t.Messages += r.Messages
	t.Sent += r.Sent
	t.Bytes += r.Bytes()
	t.Memory = r.Memory
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
	gather  gather
	steps   []*Step         // in order, the newest maxSteps
	details map[int]*Detail // by superstep, of some
	rows    []Row           // of the superstep that is open
	pairs   []Pair
	totals  []Total // by partition
	matrix  matrix
	encoded []Encoded
	counted int // bytes, when it ended
	kept    int // supersteps in the Store's details
}

// maxSteps is how many supersteps are kept of a run; the oldest go first. The summary and the totals have all.
const maxSteps = 50_000

// bytes estimates what is kept of the run but for details: of a superstep the Step, its reason and its predictions.
func (j *job) bytes() int {
	const aStep, aTotal = 1 << 10, 120
	return cap(j.steps)*8 + len(j.steps)*aStep + cap(j.totals)*aTotal + cap(j.matrix.Bytes)*8 + 4<<10
}

// record takes a record in. It returns the superstep that this ended, or nil.
func (j *job) record(r *trace.Record) (ended *Detail) {
	g := &j.gather
	if g.open && g.step.Superstep != r.Superstep {
		ended = j.close()
	}
	if !g.open {
		g.begin(r)
	}
	g.add(r)
	j.rows = append(j.rows, newRow(r))
	for i := len(j.totals); i <= r.Partition; i++ {
		j.totals = append(j.totals, Total{Partition: i})
	}
	j.totals[r.Partition].add(r)
	for _, p := range r.Peers {
		j.pairs = append(j.pairs, Pair{r.Partition, p})
		j.matrix.add(r.Partition, p.Partition, p.Bytes)
		j.encode(&trace.Sum{Exchange: p.Exchange, Encoding: p.Encoding, Columns: 1, Messages: p.Messages, Bytes: p.Bytes})
	}
	for i := range r.Sums {
		j.matrix.Summed = true
		j.encode(&r.Sums[i])
	}
	return ended
}

func (j *job) encode(s *trace.Sum) {
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

// whole reports whether all partitions of the open superstep have told, as far as one knows how many there are.
func (j *job) whole() bool {
	return j.gather.open && j.Partitions > 0 && j.gather.step.Partitions >= j.Partitions
}

// close ends the open superstep. One that ran before, and runs again after a failure, takes the earlier's place.
func (j *job) close() *Detail {
	step := new(Step)
	*step = *j.gather.close()
	for n := len(j.steps); n > 0 && j.steps[n-1].Superstep >= step.Superstep; n-- {
		delete(j.details, j.steps[n-1].Superstep)
		j.steps = j.steps[:n-1]
	}
	if len(j.steps) >= maxSteps {
		for _, old := range j.steps[:maxSteps/10] {
			delete(j.details, old.Superstep)
		}
		j.steps = slices.Delete(j.steps, 0, maxSteps/10)
	}
	j.steps = append(j.steps, step)
	d := &Detail{Step: step, Rows: j.rows, Pairs: j.pairs}
	j.rows, j.pairs = make([]Row, 0, len(d.Rows)), make([]Pair, 0, len(d.Pairs))
	j.Seconds += step.Times.Total
	if step.Active > 0 {
		j.Supersteps = step.Superstep + 1
		j.Messages += step.Messages
		j.Sent += step.Sent
		j.Bytes += step.Bytes
		j.Summary.Add("", step)
	}
	return d
}

// describe returns the job as lists show it.
func (j *job) describe() Job { return j.Job.worded() }

// worded has the summary in words.
func (j Job) worded() Job {
	j.Said = j.Summary.Lines()
	return j
}
