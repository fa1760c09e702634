// Package trace has the journal, which receives the records of supersteps, and the other events of
// a run: its beginning and end, other work, the log. It writes and reads traces, one JSON object
// per line (docs/reference/formats.md). Read trace.go first, then step.go.
package trace

import (
	"encoding/json"
	"time"

	"github.com/superstep-go/superstep/record"
)

// Version is the version of the format of lines. Keys may be added without a new version; readers
// ignore unknown keys.
const Version = 2

// Graph500 is the program of a job that runs the benchmark. The records of its searches have their
// own names, such as bfs root 7.
const Graph500 = "graph500"

// Job is the beginning of a run: a program on a graph. Unknown fields are zero.
type Job struct {
	Job        string            `json:"job"`               // the name in the run's records
	Program    string            `json:"program,omitempty"` // the name of the program
	Parameters map[string]string `json:"parameters,omitempty"`
	// the user who submitted it to a cluster, if users have certificates
	Owner string `json:"owner,omitempty"`
	// its priority, if that is not normal
	Priority   string `json:"priority,omitempty"`
	Graph      string `json:"graph,omitempty"`
	Vertices   uint64 `json:"vertices,omitempty"`
	Arcs       uint64 `json:"arcs,omitempty"` // stored arcs: an undirected edge is two
	Partitions int    `json:"partitions,omitempty"`
	Threads    int    `json:"threads,omitempty"`
	Grid       string `json:"grid,omitempty"`
	Delivery   string `json:"delivery,omitempty"` // the user's choice
	// MaxSupersteps is the limit of supersteps: the user's limit or, if less, the program's own.
	MaxSupersteps int `json:"max_supersteps,omitempty"`
	// Before has the totals of the run before the checkpoint that it continues from, in the format
	// of package history.
	Before json.RawMessage `json:"before,omitempty"`
	Began  time.Time       `json:"began"` // of the first attempt
	// More means that the run has begun before, and more is known of it now; it is not written.
	More bool `json:"-"`
}

// States of a job. Loading its graph and writing its result are part of running.
const (
	Queued    = "queued"
	Running   = "running"
	Done      = "done"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Ended is the reason for the end of a run that is done. It is empty for a job without a single
// run, such as a benchmark.
type Ended string

// Reasons for the end of a run.
const (
	Converged  Ended = "converged"  // the program's own criterion holds
	Iterations Ended = "iterations" // the program made all requested iterations
	Limit      Ended = "limit"      // the limit of supersteps
	// All vertices slept and no message was left, in a program without a criterion.
	Halted  Ended = "halted"
	Stopped Ended = "stopped" // the program gave up before its criterion held
)

// Complete reports whether the program came to an end of its own: what follows a phase that ended
// so may run.
func (e Ended) Complete() bool { return e == Converged || e == Iterations || e == Halted }

// End ends a run.
type End struct {
	Job   string `json:"job"`
	State string `json:"state"` // done, failed or cancelled
	// of one that is done: converged, iterations, limit, halted or stopped
	Ended      Ended   `json:"ended,omitempty"`
	Error      string  `json:"error,omitempty"`
	Supersteps int     `json:"supersteps"`
	Seconds    float64 `json:"seconds"` // of the run, without loading and writing
	// Aggregators are what the program's aggregators ended with; those of a run that failed are not
	// told.
	Aggregators Aggregates `json:"aggregators,omitempty"`
	// GraphLeft is the size of the graph as a program that changes it has left it, of a run that
	// ended well.
	GraphLeft *record.GraphSize `json:"graph_left,omitempty"`
	// Report is what Graph500 prints at its end: the official block.
	Report string `json:"report,omitempty"`
	// Forked says from which other run's checkpoint it went on, and in what the two differ.
	Forked string `json:"forked,omitempty"`
	// Again says that the job goes on by another attempt, of which another Job tells; it is not
	// written.
	Again bool `json:"-"`
	// Known of a job of a master; they are not written.
	Submitted, Finished   time.Time `json:"-"`
	Messages, Sent, Bytes int       `json:"-"`
}

// Stage is work around the supersteps that has ended, or is under way if Seconds is 0: loading,
// building, validating, writing.
type Stage struct {
	Job     string  `json:"job,omitempty"` // whose it is, on a cluster
	Stage   string  `json:"stage"`
	Part    string  `json:"part,omitempty"` // of the stage: what is done at the moment
	Done    int64   `json:"done,omitempty"` // of Total, or of nobody knows how much
	Total   int64   `json:"total,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	// Ended is when it ended, in the API of the page alone.
	Ended time.Time `json:"ended,omitzero"`
}

// Log is a line for people: a program's, or a warning.
type Log struct {
	Time   time.Time `json:"time"`
	Level  string    `json:"level"` // info, warn or error
	Job    string    `json:"job,omitempty"`
	Worker string    `json:"worker,omitempty"` // the worker that said it
	Text   string    `json:"text"`
}

// Event is something that happens in runs: a *Job, a *record.Superstep, an *End, a *Stage, a
// *Search, a *Log or a Pause.
type Event any

// Pause follows supersteps after which there may be none for a while: who gathers them may pass
// them on.
type Pause struct{}

// Journal takes what happens in runs, supersteps in order, and ignores what it has no use for.
// Record may be called by one goroutine at a time, but for a *Log. What an event points to is only
// valid during the call, but for Superstep.Predicted.
type Journal interface{ Record(e Event) error }

// JobOf returns where an event names its run, nil of a Pause.
func JobOf(e Event) *string {
	_, job := headOf(e)
	return job
}

// headOf returns the kind of an event's line, and where it names its run; neither of a Pause.
func headOf(e Event) (kind string, job *string) {
	switch e := e.(type) {
	case *Job:
		return kindJob, &e.Job
	case *record.Superstep:
		return kindRecord, &e.Job
	case *End:
		return kindEnd, &e.Job
	case *Stage:
		return kindStage, &e.Job
	case *Search:
		return kindSearch, &e.Job
	case *Log:
		return kindLog, &e.Job
	}
	return "", nil
}
