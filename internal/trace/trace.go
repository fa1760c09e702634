// Package trace has the superstep record: what one partition did in one superstep, why, and how long it took; and the
// lines around it that say which run it belongs to. It is what --trace writes, one JSON object a line (docs/formats.md),
// and what the page, the API and the summary of a run are made of.
package trace

import (
	"maps"
	"slices"
	"time"
)

// Version is that of the lines' form. Keys may be added under the same version; readers skip those they do not know.
const Version = 1

// Record is one partition's superstep. Seconds are wall time; Predicted and Actual are of the superstep as a whole. The
// last superstep of a run may be one in which no vertex ran: it has records, and is not counted.
type Record struct {
	Job       string `json:"job"`
	Superstep int    `json:"superstep"`
	Partition int    `json:"partition"`
	// Worker names the process that has the partition; it is empty in a run of one process.
	Worker string `json:"worker,omitempty"`
	// Scheme is the grid's way to deliver: none, naive, mirrored or pull; Delivery is push or pull, or none.
	Scheme   string `json:"scheme"`
	Delivery string `json:"delivery"`

	Active    int `json:"active"`        // vertices computed
	Senders   int `json:"senders"`       // whose messages to all neighbours were delivered
	Receivers int `json:"receivers"`     // vertices that got a message
	Edges     int `json:"edges"`         // walked
	Messages  int `json:"messages"`      // sent in this superstep, before combining: sender x out-edge, and Send calls
	Sent      int `json:"messages_sent"` // values that left for other partitions in this superstep

	Peers []Peer `json:"peers,omitempty"`
	// Sums stand for Peers where there are so many partitions that pairs are not told of.
	Sums  []Sum   `json:"sums,omitempty"`
	Times Seconds `json:"seconds"`
	// Predicted is the model's guess of delivery in seconds, by scheme, and Actual what the one chosen took: the slowest
	// partition's expand, traverse and fold. Both are the same in the records of all partitions. Who gets a record may
	// keep Predicted: it does not change any more.
	Predicted map[string]float64 `json:"predicted,omitempty"`
	Actual    float64            `json:"actual,omitempty"`
	Reason    string             `json:"reason"`

	// Of the process that has the partition: its resident memory in bytes after the superstep, measured twice a second at
	// most, and the seconds that the garbage collector stopped it for since it was last asked, once a millisecond at most.
	Memory  int64   `json:"memory,omitempty"`
	GCPause float64 `json:"gc_pause"`

	// Ended is when the superstep did, for who is told of it at once; records are told of some time later. Lines lack it.
	Ended time.Time `json:"-"`
}

// Seconds is the time of each phase. What they lack of Total went into hooks, aggregators and the coordinator.
type Seconds struct {
	Expand   float64 `json:"expand"`
	Traverse float64 `json:"traverse"` // with compute, where the two are one loop
	Fold     float64 `json:"fold"`
	Compute  float64 `json:"compute"`
	// Wait is for others: for their frames, for a processor while other partitions have it, and for the slowest.
	Wait float64 `json:"wait"`
	// Total is the superstep's time, the same for all partitions.
	Total float64 `json:"total"`
}

// Busy returns the time the partition worked.
func (s *Seconds) Busy() float64 { return s.Expand + s.Traverse + s.Fold + s.Compute }

// Peer is what was sent to one other partition.
type Peer struct {
	Partition int    `json:"partition"`
	Exchange  string `json:"exchange"`
	Encoding  string `json:"encoding"`
	Messages  int    `json:"messages"`
	Bytes     int    `json:"bytes"`
}

// Sum is what was sent to all other partitions in an exchange and an encoding.
type Sum struct {
	Exchange string `json:"exchange"`
	Encoding string `json:"encoding"`
	Columns  int    `json:"columns"` // as many peers
	Messages int    `json:"messages"`
	Bytes    int    `json:"bytes"`
}

// Bytes returns what the partition sent to others.
func (r *Record) Bytes() int {
	n := 0
	for _, s := range r.Sums {
		n += s.Bytes
	}
	for _, p := range r.Peers {
		n += p.Bytes
	}
	return n
}

// Clone returns a copy that shares nothing with r.
func (r *Record) Clone() *Record {
	c := *r
	c.Peers, c.Sums, c.Predicted = slices.Clone(r.Peers), slices.Clone(r.Sums), maps.Clone(r.Predicted)
	return &c
}

// Job begins a run: a program on a graph. What is not known is zero.
type Job struct {
	Job        string            `json:"job"` // the name that its records have
	Program    string            `json:"program,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Graph      string            `json:"graph,omitempty"`
	Vertices   uint64            `json:"vertices,omitempty"`
	Arcs       uint64            `json:"arcs,omitempty"` // stored: an undirected edge is two
	Partitions int               `json:"partitions,omitempty"`
	Threads    int               `json:"threads,omitempty"`
	Grid       string            `json:"grid,omitempty"`
	Delivery   string            `json:"delivery,omitempty"` // the choice of the user
	Began      time.Time         `json:"began"`
}

// Outcomes of a run.
const (
	Converged = "converged" // nobody was awake and nothing under way, or the program halted
	Limit     = "limit"     // of supersteps
	Failed    = "failed"
	Cancelled = "cancelled"
)

// End ends a run.
type End struct {
	Job        string  `json:"job"`
	Outcome    string  `json:"outcome"`
	Error      string  `json:"error,omitempty"`
	Supersteps int     `json:"supersteps"`
	Seconds    float64 `json:"seconds"`
}

// Stage is work around the supersteps that has ended, or is under way if Seconds is 0: loading, building, validating,
// writing.
type Stage struct {
	Job     string  `json:"job,omitempty"` // whose it is, on a cluster
	Stage   string  `json:"stage"`
	Part    string  `json:"part,omitempty"` // of the stage: what is done at the moment
	Done    int64   `json:"done,omitempty"` // of Total, or of nobody knows how much
	Total   int64   `json:"total,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// Log is a line for people: a program's, or a warning.
type Log struct {
	Time   time.Time `json:"time"`
	Level  string    `json:"level"` // info, warn or error
	Job    string    `json:"job,omitempty"`
	Worker string    `json:"worker,omitempty"` // the worker that said it
	Text   string    `json:"text"`
}

// Sink takes records. Record may be called by one goroutine at a time; r is only valid during the call, r.Predicted ever.
type Sink interface{ Record(r *Record) error }

// Journal takes all there is to know of runs. Its methods may be called by one goroutine at a time, but for Log.
type Journal interface {
	Sink
	Begin(j *Job) error
	End(e *End) error
	Stage(s *Stage) error
	Log(l *Log) error
}

// Describer is a Journal that can be told more of a run that has begun.
type Describer interface{ Describe(j *Job) error }
