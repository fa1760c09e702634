// Package trace has the journal, which receives the records of supersteps, and the other events of
// a run: its beginning and end, other work, the log. It writes and reads traces, one JSON object
// per line (docs/reference/formats.md). Read trace.go first, then step.go.
package trace

import (
	"encoding/json"
	"regexp"
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
	// Defaults are the values of parameters that are not given.
	Defaults map[string]string `json:"defaults,omitempty"`
	// the user that submitted the job to a cluster, if users have certificates
	Owner string `json:"owner,omitempty"`
	// the priority, unless it is normal
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
	// Generation and Construction are the official seconds of Graph500, without the start of workers.
	Generation   float64 `json:"generation,omitempty"`
	Construction float64 `json:"construction,omitempty"`
	// Before has the totals of the run before the checkpoint that it continues from, in the format
	// of package history.
	Before json.RawMessage `json:"before,omitempty"`
	Began  time.Time       `json:"began"` // start of the first attempt
	// More means that this Job adds information to a run that has begun. It is not written.
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

// Complete reports whether the program ended by itself. Only then may the next phase of a plan run.
func (e Ended) Complete() bool { return e == Converged || e == Iterations || e == Halted }

// End ends a run.
type End struct {
	Job   string `json:"job"`
	State string `json:"state"` // done, failed or cancelled
	// the reason, if the state is done: converged, iterations, limit, halted or stopped
	Ended      Ended   `json:"ended,omitempty"`
	Error      string  `json:"error,omitempty"`
	Supersteps int     `json:"supersteps"`
	Seconds    float64 `json:"seconds"` // duration of the run, without loading and writing
	// the final values of the program's aggregators, if the state is done
	Aggregators Aggregates `json:"aggregators,omitempty"`
	// GraphLeft is the final size of a graph that the program changed. It is nil unless the state
	// is done.
	GraphLeft *record.GraphSize `json:"graph_left,omitempty"`
	// Report is the official output of Graph500.
	Report string `json:"report,omitempty"`
	// the run whose checkpoint this run continued from, and the differences of the two
	Forked string `json:"forked,omitempty"`
	// Again means that the job continues with another attempt, which begins with another Job. It is
	// not written to traces.
	Again bool `json:"-"`
	// Set only for jobs of a master. They are not written to traces.
	Submitted, Finished   time.Time `json:"-"`
	Messages, Sent, Bytes int       `json:"-"`
}

// Checkpoint is the Stage of a checkpoint that is complete. Its Part is the superstep before which
// it was taken.
const Checkpoint = "checkpoint"

// Stage is work before or after the supersteps: loading, building, validating or writing. Seconds
// is 0 until the work has ended.
type Stage struct {
	Job     string  `json:"job,omitempty"` // the job, on a cluster
	Stage   string  `json:"stage"`
	Part    string  `json:"part,omitempty"` // the current part of the stage
	Done    int64   `json:"done,omitempty"` // of Total; Total is 0 if it is unknown
	Total   int64   `json:"total,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	// Ended is the time at which it ended. Only the API of the web page has it.
	Ended time.Time `json:"ended,omitzero"`
}

// Log is a line of the log: of a program, or a warning.
type Log struct {
	Time   time.Time `json:"time"`
	Level  string    `json:"level"` // info, warn or error
	Job    string    `json:"job,omitempty"`
	Worker string    `json:"worker,omitempty"` // the worker that logged it
	Text   string    `json:"text"`
}

// Event is something that happens in runs: a *Job, a *record.Superstep, an *End, a *Stage, a
// *Search, a *Log or a Pause.
type Event any

// Pause means that there may be no superstep for a while. A journal that collects supersteps into
// batches may forward them now.
type Pause struct{}

// Journal receives the events of runs, with supersteps in order, and ignores the events that it
// does not need. Only one goroutine at a time may call Record, except with a *Log. The data of an
// event is valid only during the call, except Superstep.Predicted.
type Journal interface{ Record(e Event) error }

// JobOf returns a pointer to the name of an event's run, or nil for a Pause.
func JobOf(e Event) *string {
	_, job := headOf(e)
	return job
}

// headOf returns the kind of an event's line and a pointer to the name of its run. A Pause has
// neither.
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

var quoted = regexp.MustCompile(`(?s)found .*, expected `)

// Unquoted returns an error's text without what it quotes of an input.
func Unquoted(text string) string {
	return quoted.ReplaceAllString(text, "found something that its owner is told, expected ")
}
