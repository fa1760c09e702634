package master

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// rules are the figures that the state machine goes by.
type rules struct {
	lease time.Duration // a worker not heard of for longer is lost
	grace time.Duration // a leaving worker gets so long for what it runs
	// A worker that is lost may come back for so long, and its graphs wait for it.
	hold    time.Duration
	keep    time.Duration // workers that are lost are shown for so long
	left    time.Duration // workers that left
	running int           // jobs at a time
	// After a restart workers may take so long to come back, before anything begins.
	settle    time.Duration
	slowFor   time.Duration // a worker that is slow for so long is a straggler; 0: none is
	retries   int           // how often a job that lost a worker begins again
	queue     int           // jobs that may wait
	ended     int           // jobs that are remembered
	quotas    quotas
	jobPrefix string
	master    string             // names this run of the master
	programs  []*control.Program // the master's, which every worker must have
}

// cluster is the state of a cluster. It does no I/O, starts nothing and asks no clock: now is the
// time since the master started, and never runs backwards. Its methods are the events; what they
// want done is in effects.
//
// A worker:
//
//	register -> registered --leave--> leaving --detach--> left
//	              |   ^                  |
//	              |   +-- within hold -- | --+
//	              +------- lease --------+-> lost
//
// A job, which from any state but the last three may also become failed or cancelled:
//
//	queued -> loading -> running -> writing -> done
//	  ^----------+----------+----------+  a worker was lost, and the job begins again
//
// A graph:
//
//	loading -> ready <-----> waiting, for workers that were lost -> failed
//	   ^                      |  ^
//	   +-- a share is lost ---+  offered by workers, when the master was restarted
//
// Invariant: every placement of a job that runs and of a graph that is ready names a worker that is
// registered or leaving, under its incarnation.
type cluster struct {
	rules
	workers map[string]*worker
	graphs  map[string]*graph
	jobs    map[string]*job
	order   []string              // the jobs by age
	queued  []string              // of them, those that wait, in no order
	keys    map[submission]string // of submissions: the jobs they made
	cuts    map[pair]bool         // of workers that do not reach each other
	probed  time.Duration         // when that was looked into last

	changed  []change        // what the next run of the master would find otherwise
	known    bool            // all graphs of earlier runs are: what others offer was dropped
	expected map[string]bool // workers of before the restart that are not back

	last    uint64 // incarnation given
	floor   uint64 // incarnations up to here have been forgotten
	jobsEnd int    // that have ended since the start, or were found to have
	number  int    // of the last job of this run
	numbers uint64 // of the last job of all runs
	loads   uint64 // number of the last load of a graph
	refused int    // workers
	lost    int    // workers

	straggled int // moves of jobs away from slow workers
	effects   []effect
}

func newCluster(r rules) *cluster {
	return &cluster{rules: r, workers: map[string]*worker{}, graphs: map[string]*graph{}, jobs: map[string]*job{}, keys: map[submission]string{}, cuts: map[pair]bool{}, expected: map[string]bool{}}
}

// effect is something that the state machine wants done: one of these.
type effect any

type (
	startJob struct{ job *job }
	stopJob  struct {
		id, reason string
		leaves     bool // a checkpoint, first
	}
	jobTurned struct { // to another state
		job    *job
		state  control.JobState
		reason string
	}
	placeForgotten struct{ place string } // of a job's checkpoints: the job is no longer remembered
	graphTurned    struct {               // to another state
		graph  *graph
		state  control.GraphState
		reason string
		gone   bool // out of the catalog
	}
	startLoad struct{ graph *graph }
	stopLoad  struct{ name, reason string }
	dropShare struct {
		name    string
		workers []string
	}
	goodbye struct{ name string }
	probe   struct{ pair }
	moveJob struct { // by a checkpoint
		job    *job
		reason string
	}
	dismiss struct { // end the session of a worker that is lost
		name, reason string
		incarnation  uint64
	}
)

func (c *cluster) graphTurned(g *graph) {
	c.changed = append(c.changed, change{graph: g.name})
	c.emit(graphTurned{graph: g, state: g.state, reason: g.reason})
}

func (c *cluster) turned(j *job) { c.emit(jobTurned{j, j.state, j.reason}) }

func (c *cluster) emit(e effect) { c.effects = append(c.effects, e) }

// take returns the effects since the last call.
func (c *cluster) take() []effect {
	e := c.effects
	c.effects = nil
	return e
}

// shown is how long a worker that is gone is.
func (c *cluster) shown(w *worker) time.Duration {
	if w.state == control.WorkerState_WORKER_STATE_LEFT {
		return c.left
	}
	return c.keep
}

// tick lets time pass: leases lapse, patience ends, the old is forgotten.
func (c *cluster) tick(now time.Duration) {
	for _, name := range slices.Sorted(maps.Keys(c.workers)) {
		w := c.workers[name]
		switch {
		case w.live() && now > w.deadline:
			c.lose(now, w, fmt.Sprintf("not heard of for %.1f s", (now-w.heard).Seconds()))
		case w.state == control.WorkerState_WORKER_STATE_LEAVING && now > w.leaveBy:
			c.release(now, w, "worker "+w.name+" had to leave")
			c.farewell(w)
		case !w.live() && now > w.gone+c.shown(w):
			c.floor = max(c.floor, w.incarnation)
			delete(c.workers, name)
		}
	}
	c.expireGraphs(now)
	c.probeCuts(now)
	c.expireJobs(now)
	c.expireRuns(now)
	c.spread(now)
	c.schedule(now)
}

// mostNames is how many of the workers one certificate has at most.
const mostNames = maxWorkers / 2

// makeRoom makes room for a worker's name among so many, of one certificate or of all: that of the
// one goes which has been gone for longest.
func (c *cluster) makeRoom(by string, most int) bool {
	var oldest *worker
	found := 0
	for _, w := range c.workers {
		if by != "" && w.by != by {
			continue
		}
		if found++; !w.live() && (oldest == nil || w.gone < oldest.gone) {
			oldest = w
		}
	}
	if found < most {
		return true
	}
	if oldest != nil {
		c.floor = max(c.floor, oldest.incarnation)
		delete(c.workers, oldest.name)
	}
	return oldest != nil
}

// mostOfWord bounds what a worker says of itself, in bytes.
const mostOfWord = 256

// acceptable refuses what can be no worker of this cluster, whoever has its name.
func (c *cluster) acceptable(r *control.RegisterRequest) error {
	if r.Protocol != control.Protocol {
		return control.Refuse(control.Refusal_KIND_VERSION,
			"worker %s speaks version %d of the control protocol (superstep %s), this master version %d",
			r.Name, r.Protocol, r.Version, control.Protocol)
	}
	if !control.ValidName(r.Name) {
		return control.Refuse(control.Refusal_KIND_INVALID,
			"found the worker's name %.150q, expected %s", r.Name, control.NameRule)
	}
	if n := max(len(r.Version), len(r.Instance), len(r.DataAddress),
		len(r.HttpAddress)); n > mostOfWord {
		return control.Refuse(control.Refusal_KIND_INVALID,
			"worker %s: found a version or an address of %d bytes, expected at most %d", r.Name, n,
			mostOfWord)
	}
	if r.Site != "" && !control.ValidName(r.Site) {
		return control.Refuse(control.Refusal_KIND_INVALID,
			"worker %s: found the site %.150q, expected %s", r.Name, r.Site, control.NameRule)
	}
	for _, p := range c.programs {
		i := slices.IndexFunc(r.Programs, func(q *control.Program) bool { return q.Name == p.Name })
		switch {
		case i < 0:
			return control.Refuse(control.Refusal_KIND_PROGRAMS,
				"the binary of worker %s has no program %s: start the same binary as the master's",
				r.Name, p.Name)
		case r.Programs[i].Fingerprint != p.Fingerprint:
			return control.Refuse(control.Refusal_KIND_PROGRAMS,
				"the binary of worker %s has another version of program %s (%.12s, the master's %.12s): start the same binary as the master's",
				r.Name, p.Name, r.Programs[i].Fingerprint, p.Fingerprint)
		}
	}
	return nil
}
