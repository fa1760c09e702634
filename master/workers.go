package master

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// worker is the master's record of a worker.
type worker struct {
	name, instance string
	by             string // owner of its certificate, or ""
	incarnation    uint64
	state          control.WorkerState
	reason         string        // why it is leaving, left or lost
	attached       bool          // has a session
	met            bool          // has had a session with this run of the master
	since          time.Duration // when it registered
	suspected      bool          // by gossip
	excluded       string        // why it gets no work (see cuts), or ""
	told           bool          // goodbye was sent
	heard          time.Duration
	gone           time.Duration // when it left or was lost
	stalled        time.Duration // extension of its lease because its process was stalled
	// The worker is lost after it. A lost worker may not come back after it.
	deadline time.Duration
	leaveBy  time.Duration
	used     uint64          // bytes of memory
	budget   *control.Budget // last reported budget of memory, or nil
	counted  time.Duration   // when the budget was reported
	freed    time.Duration   // value of counted when memory was last freed there
	ways     []*control.Way  // measured links
	usage    []*control.Usage
	about    *control.RegisterRequest
}

func (w *worker) live() bool {
	return w.state == control.WorkerState_WORKER_STATE_REGISTERED ||
		w.state == control.WorkerState_WORKER_STATE_LEAVING
}

// registerBy registers a worker, or restores its registration, and returns its incarnation.
//
// A name belongs to its process until its lease expires. Then the next process that asks gets the
// name. If that is the same process within the hold time, it keeps its incarnation. Another process
// gets a larger incarnation, and the earlier process is fenced. An incarnation that this master did
// not assign is from before the master's restart, and stays valid.
//
// by is the owner of the worker's certificate, or "".
func (c *cluster) registerBy(
	now time.Duration, by string, r *control.RegisterRequest,
) (uint64, error) {
	if err := c.acceptable(r); err != nil {
		c.refused++
		return 0, err
	}
	w, incarnation := c.workers[r.Name], r.Incarnation
	switch {
	case w != nil && w.live() && w.instance == r.Instance &&
		(incarnation == 0 || incarnation == w.incarnation):
		c.heardOf(now, w)
		return w.incarnation, nil
	case w != nil && w.state == control.WorkerState_WORKER_STATE_LOST && w.instance == r.Instance &&
		incarnation == w.incarnation && now <= w.deadline:
		w.state, w.reason, w.about = control.WorkerState_WORKER_STATE_REGISTERED, "", r
		c.heardOf(now, w)
		return incarnation, nil
	case w != nil && incarnation != 0 && incarnation < w.incarnation:
		c.refused++
		return 0, fenced(r.Name, incarnation, w.incarnation)
	case w != nil && w.live() && w.attached:
		c.refused++
		return 0, control.Refuse(control.Refusal_KIND_DUPLICATE,
			"there is a worker %s already%s: give this one another --name", r.Name, w.place())
	case w != nil && w.live():
		return 0, heldFor(r.Name, max(w.deadline-now, 0)+c.lease/ticks)
	case incarnation != 0 && (incarnation <= c.floor || w != nil && incarnation == w.incarnation):
		return 0, lostRefusal(control.Refusal_KIND_LAPSED, r.Name, incarnation)
	case incarnation == 0:
		c.last++
		incarnation = c.last
	}
	if w == nil && (by != "" && !c.makeRoom(by, mostNames) || !c.makeRoom("", maxWorkers)) {
		c.refused++
		full := control.Refuse(control.Refusal_KIND_HELD,
			"there are %d workers already, or %d with one certificate", maxWorkers, mostNames)
		full.Wait = c.lease
		return 0, full
	}
	about := proto.CloneOf(r)
	about.Programs = nil // already compared
	c.last = max(c.last, incarnation)
	c.workers[r.Name] = &worker{
		name: r.Name, by: by, instance: r.Instance, incarnation: incarnation,
		state: control.WorkerState_WORKER_STATE_REGISTERED, heard: now, deadline: now + c.lease,
		about: about, since: now, budget: r.Budget, counted: now,
	}
	for _, g := range c.loaded() {
		if uses(g.placements, r.Name) && !placedOn(g.placements, r.Name, incarnation) {
			c.loseGraph(g, r.Name, "restarted")
		}
	}
	return incarnation, nil
}

func (w *worker) place() string {
	if w.about.DataAddress == "" {
		return ""
	}
	return " at " + w.about.DataAddress
}

// heldFor refuses a name until its holder's lease has expired.
func heldFor(name string, wait time.Duration) error {
	r := control.Refuse(control.Refusal_KIND_HELD,
		"the name %s is held for %.1f s more by a worker that lost its session", name,
		wait.Seconds())
	r.Wait = wait
	return r
}

func fenced(name string, old, newer uint64) error {
	return control.Refuse(control.Refusal_KIND_FENCED,
		"worker %s, incarnation %d, is fenced: incarnation %d has taken its place", name, old,
		newer)
}

// lostRefusal refuses a lost worker. With kind unknown it should register again; with kind lapsed
// it is too late for that.
func lostRefusal(kind control.Refusal_Kind, name string, incarnation uint64) error {
	return control.Refuse(kind,
		"the lease of worker %s, incarnation %d, has lapsed: it was declared lost", name,
		incarnation)
}

// attach begins a session of a registered worker, which offers its partitions of graphs. A previous
// session has ended.
func (c *cluster) attach(
	now time.Duration, name string, incarnation uint64, offers []*control.Offer,
) error {
	w := c.workers[name]
	switch {
	case w != nil && incarnation < w.incarnation:
		c.refused++
		return fenced(name, incarnation, w.incarnation)
	case w == nil || incarnation > w.incarnation || !w.live():
		return control.Refuse(control.Refusal_KIND_UNKNOWN,
			"worker %s, incarnation %d, is not registered", name, incarnation)
	}
	w.attached = true
	c.heardOf(now, w)
	c.exclude()
	c.offered(now, w, offers)
	w.met = true
	c.schedule(now)
	return nil
}

// held returns the jobs and graphs whose memory an attached worker must keep.
func (c *cluster) held(name string, incarnation uint64) (jobs, graphs []string) {
	for _, j := range c.order {
		if j.active() && !j.ending && placedOn(j.placements, name, incarnation) {
			jobs = append(jobs, j.id)
			graphs = append(graphs, j.graph())
		}
	}
	for _, g := range byName(c.graphs) {
		if g.state != control.GraphState_GRAPH_STATE_FAILED && !g.again &&
			placedOn(g.placements, name, incarnation) && !slices.Contains(graphs, g.name) {
			graphs = append(graphs, g.name)
		}
	}
	return jobs, graphs
}

// current returns a live worker of this incarnation, or nil.
func (c *cluster) current(name string, incarnation uint64) *worker {
	w := c.workers[name]
	if w == nil || w.incarnation != incarnation || !w.live() {
		return nil
	}
	return w
}

// heard renews a worker's lease. It returns false if the worker is no longer part of the cluster.
func (c *cluster) heard(now time.Duration, name string, incarnation uint64) bool {
	w := c.current(name, incarnation)
	if w == nil {
		return false
	}
	c.heardOf(now, w)
	return true
}

func (c *cluster) heardOf(now time.Duration, w *worker) {
	w.heard, w.deadline, w.suspected = now, now+c.lease+w.stalled, false
}

// mostStalled bounds how many leases are added to a worker's lease because its process stalled, for
// example on page faults. The extension is twice the longest stall of the last minute.
const mostStalled = 3

// unheard extends all leases, and the deadlines of confirmations, by a time in which the master was
// paused and received nothing.
func (c *cluster) unheard(d time.Duration) {
	for _, w := range c.workers {
		w.deadline += d
		w.leaveBy += d
	}
	c.unconfirmed(func(j *job) { j.confirmBy += d })
}

// suspect handles gossip's hint that a worker is dead. Its lease ends early unless it is heard
// from.
func (c *cluster) suspect(now time.Duration, name string) {
	w := c.workers[name]
	if w == nil || !w.live() {
		return
	}
	w.suspected = true
	w.deadline = min(w.deadline, now+2*c.lease/control.HeartbeatsPerLease+w.stalled)
}

// detach handles the end of a session. A worker that was sent goodbye has left. Another worker has
// until the end of its lease to attach again.
func (c *cluster) detach(now time.Duration, name string, incarnation uint64) {
	w := c.current(name, incarnation)
	if w == nil {
		return
	}
	w.attached = false
	if w.told {
		w.state = control.WorkerState_WORKER_STATE_LEFT
		w.gone = now
		c.mendAll(w.name)
	}
	c.exclude()
}

// leave handles a worker's request to leave. The worker gets no more work, and leaves when its work
// has ended or its grace is over.
func (c *cluster) leave(now time.Duration, name string, incarnation uint64, reason string) {
	w := c.current(name, incarnation)
	if w == nil || w.state == control.WorkerState_WORKER_STATE_LEAVING {
		return
	}
	w.state, w.reason, w.leaveBy = control.WorkerState_WORKER_STATE_LEAVING, reason, now+c.grace
	for _, j := range c.order {
		if j.movable() && uses(j.placements, w.name) {
			c.move(j, fmt.Sprintf("worker %s leaves: the job goes on without it", w.name))
		}
	}
	c.farewells()
}

// farewells lets leaving workers go when no job needs them.
func (c *cluster) farewells() {
	for _, w := range byName(c.workers) {
		if w.state == control.WorkerState_WORKER_STATE_LEAVING && !c.busy(w.name) {
			c.farewell(w)
		}
	}
}

func (c *cluster) farewell(w *worker) {
	if w.told {
		return
	}
	w.told = true
	c.loseGraphs(w, "left")
	c.emit(goodbye{w.name})
}

// lose declares a worker lost. Its jobs and loads fail, and its graphs wait for it to come back.
func (c *cluster) lose(now time.Duration, w *worker, reason string) {
	leaving := w.state == control.WorkerState_WORKER_STATE_LEAVING
	w.state, w.reason, w.attached, w.suspected = control.WorkerState_WORKER_STATE_LOST, reason,
		false, false
	w.gone, w.deadline = now, now+c.hold
	c.mendAll(w.name)
	c.lost++
	c.emit(dismiss{w.name, reason, w.incarnation})
	c.release(w, "worker "+w.name+" was lost: "+reason)
	if leaving {
		c.loseGraphs(w, "was lost")
		return
	}
	for _, g := range c.loaded() {
		if uses(g.placements, w.name) {
			g.missing[w.name] = true
			g.settle()
			c.graphTurned(g)
		}
	}
}

// exited handles the reason why a worker's process ended. Its graphs do not wait for it. starvedSo
// means that the process ran out of memory.
func (c *cluster) exited(
	now time.Duration, name string, incarnation uint64, reason string, starvedSo bool,
) {
	w := c.workers[name]
	if w == nil || w.incarnation != incarnation {
		return
	}
	lost := w.state == control.WorkerState_WORKER_STATE_LOST
	if lost || w.live() {
		if w.reason = reason; starvedSo {
			c.starve(now, w)
		}
	}
	switch {
	case w.live():
		c.lose(now, w, reason)
		c.loseGraphs(w, "was lost")
		c.schedule(now)
	case lost: // its end was not known, only its silence
		c.loseGraphs(w, "was lost")
		c.schedule(now)
	}
}

// release fails the jobs and loads on a worker.
func (c *cluster) release(w *worker, reason string) {
	for _, j := range c.order {
		if j.active() && uses(j.placements, w.name) {
			j.lost = j.lost || !j.stopping
			c.stop(j, reason, false)
		}
	}
	for _, g := range byName(c.graphs) {
		if g.state == control.GraphState_GRAPH_STATE_LOADING && uses(g.placements, w.name) &&
			!g.stopping {
			g.stopping, g.lost, g.reason = true, true, reason
			c.emit(stopLoad{g.name, reason})
		}
	}
}

// busy reports whether a job or load needs a worker.
func (c *cluster) busy(name string) bool {
	for _, j := range c.jobs {
		if j.active() && uses(j.placements, name) {
			return true
		}
	}
	for _, g := range c.graphs {
		if g.state == control.GraphState_GRAPH_STATE_LOADING && uses(g.placements, name) {
			return true
		}
	}
	return false
}

// placedOn reports whether one of placements is on this incarnation of a worker.
func placedOn(placements []*control.Placement, worker string, incarnation uint64) bool {
	return slices.ContainsFunc(placements, func(p *control.Placement) bool {
		return p.Worker == worker && p.Incarnation == incarnation
	})
}

// silent returns a live worker of placements without a session, or "". It will attach again or be
// lost before its lease ends.
func (c *cluster) silent(placements []*control.Placement) string {
	for _, p := range placements {
		if w := c.workers[p.Worker]; w != nil && w.live() && !w.attached {
			return p.Worker
		}
	}
	return ""
}

func uses(placements []*control.Placement, worker string) bool {
	return count(placements, worker) > 0
}

// workersOf returns the distinct workers of placements.
func workersOf(placements []*control.Placement) (names []string) {
	for _, p := range onePerWorker(placements) {
		names = append(names, p.Worker)
	}
	return names
}

// worksBy reports whether one of a job's workers registered with the certificate named by. It is
// true if by is not the name of a certificate.
func (c *cluster) worksBy(j *job, by string) bool {
	return !control.Named(by) || slices.ContainsFunc(j.placements, func(p *control.Placement) bool {
		w := c.workers[p.Worker]
		return w != nil && w.incarnation == p.Incarnation && w.by == by
	})
}
