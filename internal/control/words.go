package control

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"runtime"
	"strings"

	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/trace"
)

// word returns the last part of an enum constant's name in lower case: JOB_STATE_DONE is done.
func word(name string) string { return strings.ToLower(name[strings.LastIndexByte(name, '_')+1:]) }

// Word returns the name of a job's state for users: queued, running, done, failed or cancelled.
func (s JobState) Word() string {
	if s == JobState_JOB_STATE_LOADING || s == JobState_JOB_STATE_WRITING {
		s = JobState_JOB_STATE_RUNNING
	}
	return word(s.String())
}

// Detail returns Word and, for a running job that is loading or writing, this step.
func (s JobState) Detail() string {
	if step := word(s.String()); step != s.Word() {
		return s.Word() + ", " + step
	}
	return s.Word()
}

// Complete reports whether the run of a finished job ended by the program's own criterion, or is a
// benchmark.
func (j *Job) Complete() bool { return j.EndedBy == "" || trace.Ended(j.EndedBy).Complete() }

// Word returns the name of a worker's state for users.
func (s WorkerState) Word() string { return word(s.String()) }

// StateText returns a worker's state with a remark, for users.
func (w *Worker) StateText() string {
	state := w.State.Word()
	switch {
	case w.Suspected:
		return state + ", suspected"
	case w.Excluded:
		return state + ", excluded"
	case !w.Attached && w.State == WorkerState_WORKER_STATE_REGISTERED:
		return state + ", no session"
	}
	return state
}

// Word returns the name of a graph's state for users.
func (s GraphState) Word() string { return word(s.String()) }

// Word returns the name of a priority for users.
func (p Priority) Word() string {
	if p == Priority_PRIORITY_UNSPECIFIED {
		p = Priority_PRIORITY_NORMAL
	}
	return word(p.String())
}

// PriorityOf parses a priority; "" means normal.
func PriorityOf(word string) (p Priority, ok bool) {
	for p := Priority_PRIORITY_LOW; p <= Priority_PRIORITY_HIGH; p++ {
		if p.Word() == word {
			return p, true
		}
	}
	return Priority_PRIORITY_NORMAL, word == ""
}

// Ended reports whether the state is final.
func (s JobState) Ended() bool {
	return s == JobState_JOB_STATE_DONE || s == JobState_JOB_STATE_FAILED ||
		s == JobState_JOB_STATE_CANCELLED
}

// Spec returns the job's description. That of another version is empty; package client rejects it.
func (j *Job) Spec() *job.Spec { return readOr[job.Spec](j.GetSpecJson()) }

// Spec returns the description of the submitted job.
func (r *SubmitJobRequest) Spec() *job.Spec { return readOr[job.Spec](r.GetSpecJson()) }

// Source returns what the graph was loaded from.
func (g *Graph) Source() *job.Source { return readOr[job.Source](g.GetSourceJson()) }

// Source returns what to load.
func (r *LoadGraphRequest) Source() *job.Source { return readOr[job.Source](r.GetSourceJson()) }

// Source returns what to load.
func (l *Load) Source() *job.Source { return readOr[job.Source](l.GetSourceJson()) }

func readOr[T any](text string) *T {
	v, err := job.Read[T](text)
	if err != nil {
		v = new(T)
	}
	return v
}

// ProcessName returns the default name of a worker: the host's name and the process id.
func ProcessName() string {
	host, err := os.Hostname()
	if err != nil {
		host = runtime.GOOS
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// LocalHost returns the local address for packets to another host. It sends nothing.
func LocalHost(address string) (string, error) {
	c, err := net.Dial("udp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	host, _, err := net.SplitHostPort(c.LocalAddr().String())
	return host, err
}

// maxName bounds the names of workers and graphs.
const maxName = 128

// NameRule describes what ValidName accepts.
var NameRule = fmt.Sprintf(
	"up to %d letters, digits, - _ . and :, of which the first is a letter, a digit or _", maxName)

// CatalogPrefix distinguishes the name of a graph in the catalog from the name of a file.
const CatalogPrefix = "catalog:"

var validName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,%d}$`, maxName-1))

// ValidName reports whether a name of a worker or graph is safe to display and cannot be mistaken
// for a flag (-x) or a directory (..).
func ValidName(name string) bool { return validName.MatchString(name) }
