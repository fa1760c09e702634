package master

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// rules are the timeouts and limits of the state machine.
type rules struct {
	lease time.Duration // a silent worker is lost after this time
	grace time.Duration // time that a leaving worker has to finish its work
	// A lost worker may come back within hold, and its graphs wait for it.
	hold    time.Duration
	keep    time.Duration // how long lost workers are shown
	left    time.Duration // how long workers that left are shown
	running int           // jobs that run at the same time
	// After a restart workers have this long to come back before jobs begin.
	settle    time.Duration
	slowFor   time.Duration // time after which a slow worker is a straggler; 0 disables this
	retries   int           // how often a job restarts after losing a worker
	queue     int           // jobs that may wait
	ended     int           // ended jobs to remember, besides those with a stored result
	quotas    quotas
	jobPrefix string
	master    string             // id of this run of the master
	programs  []*control.Program // the master's programs, which every worker must have
}

// cluster is the state machine of the cluster. It does no I/O and reads no clock: now is the time
// since the master started and never decreases. Its methods are the events; the resulting actions
// are in effects.
//
// A worker:
//
//	register -> registered --leave--> leaving --detach--> left
//	              |   ^                  |
//	              |   +-- within hold -- | --+
//	              +------- lease --------+-> lost
//
// A job, which may become failed or cancelled in any state but the last three:
//
//	queued -> loading -> running -> writing -> done
//	  ^----------+----------+----------+  a worker was lost, and the job restarts
//
// A graph:
//
//	loading -> ready <-----> waiting for lost workers -> failed
//	   ^                      |  ^
//	   +-- partition lost ----+  offered by workers after the master restarted
//
// Invariant: every placement of a running job or ready graph names a registered or leaving worker
// with its current incarnation.
type cluster struct {
	rules
	workers map[string]*worker
	graphs  map[string]*graph
	jobs    map[string]*job
	order   []*job                // the jobs by age
	keys    map[submission]string // jobs by owner and submission key
	cuts    map[pair]bool         // pairs of workers that cannot connect
	probed  time.Duration         // when cuts were last probed

	changed  []change        // changes not yet written to the state
	known    bool            // the catalog was restored: ignore other offered graphs
	expected map[string]bool // workers known before the restart that are not back

	last    uint64 // last incarnation assigned
	floor   uint64 // incarnations up to here may be forgotten
	jobsEnd int    // jobs ended since the start, or found ended
	number  int    // number of the last job of this run
	numbers uint64 // number of the last job of all runs
	loads   uint64 // number of the last load of a graph
	refused int    // refused registrations
	lost    int    // lost workers

	straggled int // times a job was moved off a straggler
	effects   []effect
}

func newCluster(r rules) *cluster {
	return &cluster{
		rules: r, workers: map[string]*worker{}, graphs: map[string]*graph{},
		jobs: map[string]*job{}, keys: map[submission]string{}, cuts: map[pair]bool{},
		expected: map[string]bool{},
	}
}

// effect is an action that the state machine requests: one of the types below.
type effect any

type (
	startJob struct{ job *job }
	stopJob  struct {
		id, reason string
		leaves     bool // store a checkpoint first
	}
	jobTurned struct { // the job changed its state
		job    *job
		state  control.JobState
		reason string
	}
	placeForgotten struct{ place string } // checkpoints of a job that is no longer remembered
	graphTurned    struct {               // the graph changed its state
		graph  *graph
		state  control.GraphState
		reason string
		gone   bool // removed from the catalog
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
	dismiss struct { // ends the session of a lost worker
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

// byName returns the values of a map, sorted by their keys.
func byName[T any](m map[string]T) []T {
	var all []T
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[name])
	}
	return all
}

// shown returns how long a worker that is gone stays listed.
func (c *cluster) shown(w *worker) time.Duration {
	if w.state == control.WorkerState_WORKER_STATE_LEFT {
		return c.left
	}
	return c.keep
}

// tick handles the passage of time: leases expire, deadlines pass, old entries are removed.
func (c *cluster) tick(now time.Duration) {
	for _, w := range byName(c.workers) {
		switch {
		case w.live() && now > w.deadline:
			c.lose(now, w, fmt.Sprintf("silent for %.1f s", (now-w.heard).Seconds()))
		case w.state == control.WorkerState_WORKER_STATE_LEAVING && now > w.leaveBy:
			c.release(w, "worker "+w.name+" had to leave")
			c.farewell(w)
		case !w.live() && now > w.gone+c.shown(w):
			c.floor = max(c.floor, w.incarnation)
			delete(c.workers, w.name)
		}
	}
	c.expireGraphs(now)
	c.probeCuts(now)
	c.expireJobs(now)
	c.expireRuns(now)
	c.spread(now)
	c.schedule(now)
}

// mostNames bounds the workers registered with one certificate.
const mostNames = maxWorkers / 2

// makeRoom makes room for one more worker if there are already most, counting workers of
// certificate by, or all if by is empty. It removes the worker that has been gone longest, and
// reports false if all are live.
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

// mostOfWord bounds the length of a worker's version, instance and addresses, in bytes.
const mostOfWord = 256

// acceptable checks that a worker may join this cluster: its protocol version, name, addresses,
// site and programs.
func (c *cluster) acceptable(r *control.RegisterRequest) error {
	if r.Protocol != control.Protocol {
		return control.Refuse(control.Refusal_KIND_VERSION,
			"worker %s (superstep %s): found version %d of the control protocol, expected %d",
			r.Name, r.Version, r.Protocol, control.Protocol)
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
				"the binary of worker %s has another version of program %s (%.12s, the master's "+
					"%.12s): start the same binary as the master's",
				r.Name, p.Name, r.Programs[i].Fingerprint, p.Fingerprint)
		}
	}
	return nil
}
