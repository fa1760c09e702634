package control

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/trace"
)

// word is the last part of an enumeration's name, in lower case: JOB_STATE_DONE is done.
func word(name string) string { return strings.ToLower(name[strings.LastIndexByte(name, '_')+1:]) }

// Word names a job's state as people read it: queued, running, done, failed or cancelled.
func (s JobState) Word() string {
	if s == JobState_JOB_STATE_LOADING || s == JobState_JOB_STATE_WRITING {
		s = JobState_JOB_STATE_RUNNING
	}
	return word(s.String())
}

// Detail is Word, and the step of a running job that is before or after its supersteps.
func (s JobState) Detail() string {
	if step := word(s.String()); step != s.Word() {
		return s.Word() + ", " + step
	}
	return s.Word()
}

// Complete reports whether the run of a job that is done came to an end of its own, as that of a
// benchmark does.
func (j *Job) Complete() bool { return j.EndedBy == "" || trace.Ended(j.EndedBy).Complete() }

// Word names a worker's state as people read it.
func (s WorkerState) Word() string { return word(s.String()) }

// StateText is a worker's state and what else is to be known of it, as people read it.
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

// Word names a graph's state as people read it.
func (s GraphState) Word() string { return word(s.String()) }

// Word names a priority as people read it.
func (p Priority) Word() string {
	if p == Priority_PRIORITY_UNSPECIFIED {
		p = Priority_PRIORITY_NORMAL
	}
	return word(p.String())
}

// PriorityOf is the priority of a word; an empty one is normal.
func PriorityOf(word string) (p Priority, ok bool) {
	for p := Priority_PRIORITY_LOW; p <= Priority_PRIORITY_HIGH; p++ {
		if p.Word() == word {
			return p, true
		}
	}
	return Priority_PRIORITY_NORMAL, word == ""
}

// Ended reports whether a job in this state stays in it.
func (s JobState) Ended() bool {
	return s == JobState_JOB_STATE_DONE || s == JobState_JOB_STATE_FAILED || s == JobState_JOB_STATE_CANCELLED
}

// Spec is what a job was asked to do. One of another version is empty; package client refuses it.
func (j *Job) Spec() *job.Spec { return readOr[job.Spec](j.GetSpecJson()) }

// Spec is what is asked for.
func (r *SubmitJobRequest) Spec() *job.Spec { return readOr[job.Spec](r.GetSpecJson()) }

// Source is what a graph was loaded from.
func (g *Graph) Source() *job.Source { return readOr[job.Source](g.GetSourceJson()) }

// Source is what is to be loaded.
func (r *LoadGraphRequest) Source() *job.Source { return readOr[job.Source](r.GetSourceJson()) }

// Source is what is to be loaded.
func (l *Load) Source() *job.Source { return readOr[job.Source](l.GetSourceJson()) }

func readOr[T any](text string) *T {
	v, err := job.Read[T](text)
	if err != nil {
		v = new(T)
	}
	return v
}

// ProcessName is how a worker is called that has no other name: the host's name and the process's
// number.
func ProcessName() string {
	host, err := os.Hostname()
	if err != nil {
		host = runtime.GOOS
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// LocalHost returns the address of this host from which packets to another one leave. Nothing is
// sent.
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

// NameRule words what ValidName asks for.
var NameRule = fmt.Sprintf("up to %d letters, digits, - _ . and :, of which the first is a letter, a digit or _", maxName)

// CatalogPrefix is what tells the name of a graph of the cluster from a file's.
const CatalogPrefix = "catalog:"

// ValidName reports whether a name of a worker or a graph can be shown anywhere as it is, and be
// taken for nothing else: not for a flag (-x) nor for a directory (..).
func ValidName(name string) bool {
	if name != "" && strings.IndexByte("-.:", name[0]) >= 0 {
		return false
	}
	for _, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' && c != ':' {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}
