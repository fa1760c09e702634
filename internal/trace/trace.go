// Package trace has the record of a superstep: what each partition did, why, and how long it took; and what is recorded
// around it: which run it belongs to, how that ended, other work, the log. It is what --trace writes, one JSON object a line
// (docs/reference/formats.md), and what the page, the API, the metrics and the summary of a run are made of.
package trace

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Version is that of the lines' form. Keys may be added under the same version; readers skip those they do not know.
const Version = 1

// Superstep is what happened in a superstep of a run: how messages were delivered and why, and what each partition did. The
// last one of a run may be one in which no vertex ran: it is recorded, and not counted.
type Superstep struct {
	Job       string
	Superstep int
	// Phase is which phase of a plan it is of, from 1 in the order in which they ran, the planned program being the last, and Program whose
	// phase that is; both are zero where there is no plan.
	Phase   int
	Program string
	// Scheme is how messages to all neighbours were delivered: none, naive, mirrored, pull and so on; Delivery is push or pull,
	// or none; Reason says why the scheme was chosen.
	Scheme, Delivery, Reason string
	// Predicted is the model's guess of what delivery takes, in seconds by scheme, and Actual what the chosen scheme took. A
	// Journal may keep Predicted: it does not change any more.
	Predicted map[string]float64
	Actual    float64
	Seconds   float64 // wall time
	// Graph is the size of the graph at the end of a superstep that the program has changed it in; nil in others.
	Graph *GraphSize
	// Ended is when the superstep ended; it may be recorded some time later. It is not known of one read from a file.
	Ended time.Time
	// Partitions are in rising order. In a file that was cut short some may be missing.
	Partitions []Partition
}

// GraphSize is how large a graph is that a program changes.
type GraphSize struct {
	Vertices uint64 `json:"vertices"` // without those that were removed
	Arcs     uint64 `json:"arcs"`     // stored: an undirected edge is two
}

// Partition is what one partition did in a superstep. The runner of the partition makes it; the coordinator decides by it, and
// everything that shows or counts a run is made of it.
type Partition struct {
	Partition int
	// Worker names the process that has the partition; it is empty in a run of one process.
	Worker string

	Computed  int // vertices that ran
	Delivered int // senders whose messages to all neighbours were delivered
	Receivers int // vertices that got a message
	Walked    int // edges
	Sent      int // values that went to other partitions
	Bytes     int // of these, with their presence

	// The messages that wait for the next superstep: senders to all neighbours, the edges theirs cross, and the
	// messages to single vertices.
	Senders, SenderEdges, Sends int
	Requests                    int // for changes of the graph, which the next superstep makes
	// Of these senders and edges, those against the edges' direction, in a program of direction Either.
	BackSenders, BackEdges int
	// PullEdges is about how many edges a pull of these messages would look at, where that is fewer than UnfinishedEdges and was found out; else 0.
	PullEdges int
	// PushEdges is about how many edges a push of them would walk, where the lists have been thinned; else 0.
	PushEdges int
	// What holds after the superstep: the vertices awake, and those not finished with their in-edges.
	Active, Unfinished, UnfinishedEdges int

	Times Seconds
	// Peers tell what was sent to each other partition. Sums stand for them where there are too many partitions.
	Peers []Peer
	Sums  []Sum

	// Of the process that has the partition: its resident memory in bytes after the superstep, measured twice a second at
	// most, and the seconds that the garbage collector stopped it for since it was last asked, once a millisecond at most.
	Memory  int64
	GCPause float64
}

// Messages counts what the partition's vertices sent in the superstep, before combining: sender x out-edge, and Send calls.
func (p *Partition) Messages() int { return p.SenderEdges + p.Sends }

// End notes that the superstep took so many seconds: a partition that was done earlier has waited for the others.
func (s *Superstep) End(seconds float64) {
	s.Seconds = seconds
	for i := range s.Partitions {
		t := &s.Partitions[i].Times
		t.Wait += max(0, seconds-t.Total)
		t.Total = seconds
	}
}

// Clone returns a copy that shares nothing with s.
func (s *Superstep) Clone() *Superstep {
	c := *s
	c.Predicted, c.Partitions = maps.Clone(s.Predicted), slices.Clone(s.Partitions)
	if s.Graph != nil {
		size := *s.Graph
		c.Graph = &size
	}
	for i := range c.Partitions {
		p := &c.Partitions[i]
		p.Peers, p.Sums = slices.Clone(p.Peers), slices.Clone(p.Sums)
	}
	return &c
}

// Seconds is the time of each phase. What they lack of Total went into hooks, aggregators and the coordinator.
type Seconds struct {
	Expand   float64 `json:"expand"`   // senders' values to the partitions that walk their edges
	Traverse float64 `json:"traverse"` // with compute, where the two are one loop, but for list programs
	Fold     float64 `json:"fold"`     // combined messages to the partitions of their receivers
	Compute  float64 `json:"compute"`  // the program
	// Wait is for others: for their frames, for a processor while other partitions have it, and for the slowest.
	Wait float64 `json:"wait"`
	// Total is the superstep's time, the same for all partitions once the superstep has ended; before, the partition's own.
	Total float64 `json:"total"`
}

// Busy returns the time the partition worked.
func (s *Seconds) Busy() float64 { return s.Expand + s.Traverse + s.Fold + s.Compute }

// Peer is what was sent to one other partition.
type Peer struct {
	Partition int    `json:"partition"` // that got it
	Exchange  string `json:"exchange"`  // expand, fold, sends and others
	Encoding  string `json:"encoding"`  // all, bitmap, sparse, pairs; bytes of changes
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

// Job begins a run: a program on a graph. What is not known is zero.
type Job struct {
	Job        string            `json:"job"`               // the name that its records have
	Program    string            `json:"program,omitempty"` // and what it runs with, on which graph
	Parameters map[string]string `json:"parameters,omitempty"`
	Owner      string            `json:"owner,omitempty"`    // who submitted it to a cluster, where users have certificates
	Priority   string            `json:"priority,omitempty"` // that it was submitted with, if that is not normal
	Graph      string            `json:"graph,omitempty"`
	Vertices   uint64            `json:"vertices,omitempty"`
	Arcs       uint64            `json:"arcs,omitempty"` // stored: an undirected edge is two
	Partitions int               `json:"partitions,omitempty"`
	Threads    int               `json:"threads,omitempty"`
	Grid       string            `json:"grid,omitempty"`
	Delivery   string            `json:"delivery,omitempty"` // the choice of the user
	// MaxSupersteps is how many it runs at most: the limit of the user or, if less, what the program says of itself.
	MaxSupersteps int `json:"max_supersteps,omitempty"`
	// Before is what the run had come to before the checkpoint that it goes on from, as package history reads it.
	Before json.RawMessage `json:"before,omitempty"`
	Began  time.Time       `json:"began"` // of the first attempt
}

// States of a job. Loading its graph and writing its result are part of running.
const (
	Queued    = "queued"
	Running   = "running"
	Done      = "done"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Ended is how a run that is done came to its end; empty of a job that has no single run, such as a benchmark.
type Ended string

// How a run came to its end.
const (
	Converged  Ended = "converged"  // the program's own criterion held
	Iterations Ended = "iterations" // the program made all iterations that it was asked for
	Limit      Ended = "limit"      // the limit of supersteps
	Halted     Ended = "halted"     // all vertices slept and no message was left, in a program without a criterion
	Stopped    Ended = "stopped"    // the program gave up before its criterion held
)

// Complete reports whether the program came to an end of its own: what follows a phase that ended so may run.
func (e Ended) Complete() bool { return e == Converged || e == Iterations || e == Halted }

// valid reports whether e is one of these, or empty.
func (e Ended) valid() bool { return e == "" || e.Complete() || e == Limit || e == Stopped }

// End ends a run.
type End struct {
	Job        string  `json:"job"`
	State      string  `json:"state"`           // done, failed or cancelled
	Ended      Ended   `json:"ended,omitempty"` // of one that is done: converged, iterations, limit, halted or stopped
	Error      string  `json:"error,omitempty"`
	Outcome    string  `json:"outcome,omitempty"` // both, in traces of before: converged, limit, failed or cancelled
	Supersteps int     `json:"supersteps"`
	Seconds    float64 `json:"seconds"` // of the run, without loading and writing
	// Aggregators are what the program's aggregators ended with; those of a run that failed are not told.
	Aggregators Aggregates `json:"aggregators,omitempty"`
	// GraphLeft is the size of the graph as a program that changes it has left it, of a run that ended well.
	GraphLeft *GraphSize `json:"graph_left,omitempty"`
	Forked    string     `json:"forked,omitempty"` // from which other run's checkpoint it went on, and in what the two differ
	// Again says that the job goes on by another attempt, of which another Begin tells; it is not written.
	Again bool `json:"-"`
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

// Sink takes the supersteps of runs, in order. Record may be called by one goroutine at a time; s is only valid during the
// call, but for s.Predicted.
type Sink interface{ Record(s *Superstep) error }

// Flusher is a Sink that gathers records, and is told when some have come after which there may be none for a while.
type Flusher interface{ Flush() error }

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
