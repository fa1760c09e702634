package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	supersteps "github.com/superstep-go/superstep/record"
)

// A run that keeps checkpoints can be moved at the border between two supersteps: it is told to
// take a checkpoint, ends when that is stored, and begins another attempt from there, on the
// workers that there are then. That is no loss. It is done when a worker leaves, when more workers
// are there than the job has, and when a worker is slow.

// movedError ends an attempt that goes on elsewhere.
type movedError struct{ reason string }

func (e *movedError) Error() string { return e.reason }

// movable reports whether a job's attempt can be moved.
func (j *job) movable() bool {
	return j.active() && j.driving && !j.stopping && !j.moving && !j.ending &&
		j.state == control.JobState_JOB_STATE_RUNNING && j.spec.Checkpoints != ""
}

// moveFrom moves the jobs that a worker leaves.
func (c *cluster) moveFrom(w *worker) {
	for _, id := range c.order {
		if j := c.jobs[id]; j.movable() && uses(j.placements, w.name) {
			c.move(j, fmt.Sprintf("worker %s leaves: the job goes on without it", w.name))
		}
	}
}

func (c *cluster) move(j *job, reason string) {
	j.moving = true
	c.emit(moveJob{j, reason})
}

// stays has a job move later which could not be told to.
func (c *cluster) stays(id string, epoch uint32) {
	if j := c.jobs[id]; j != nil && j.epoch == epoch {
		j.moving = false
	}
}

// A job moves to more workers when these have been there for settledAfter, and the attempt has run
// for spreadAfter at least and several times as long as it took to begin: a run of unknown length
// is expected to last as long again as it did.
const (
	settledAfter = 3 * time.Second
	spreadAfter  = 10 * time.Second
	spreadTimes  = 4
)

// spread moves jobs to workers that have joined since they began. A job whose grid was asked for,
// or that is on a graph of the catalog, stays where that is.
func (c *cluster) spread(now time.Duration) {
	for _, id := range c.order {
		j := c.jobs[id]
		if !j.movable() || j.spec.Graph != "" || j.spec.Rows != 0 ||
			now-j.driven < max(spreadAfter, spreadTimes*(j.driven-j.began)) {
			continue
		}
		joined := ""
		for _, name := range slices.Sorted(maps.Keys(c.workers)) {
			if w := c.workers[name]; w.free() && now-w.since > settledAfter &&
				!uses(j.placements, name) && !placedOn(j.stragglers, name, w.incarnation) {
				joined = name
			}
		}
		if joined == "" {
			continue
		}
		if to, _, _, err := c.place(0, 0, kindOf(j.spec).shape, j.stragglers); err == nil &&
			len(workersOf(to)) > len(j.workers()) {
			c.move(j, fmt.Sprintf("worker %s has joined: the job goes on with it", joined))
		}
	}
}

// plan is what is known of a run that may move: how many supersteps it has run, how many it runs at
// most if that is known, and what loading the graph and taking a checkpoint cost, in seconds.
type plan struct {
	ran, limit       int
	load, checkpoint float64
}

// left is how many supersteps are expected to come: as many as were run, for nobody knows how many
// there will be, and no more than the limit allows.
func (p plan) left() int {
	if p.limit > 0 {
		return min(p.ran, p.limit-p.ran)
	}
	return p.ran
}

// stillSlow is how much of the time of before a job's supersteps may take, for the same work, after
// it has moved away from a slow worker, to be moved away from another one: if they take more, the
// program is slow on whichever worker has some vertex, and not the worker.
const stillSlow = 0.9

// straggles moves a job away from a worker that is slow, if that takes less time than it is
// expected to save. It is done once for each job and worker. A job on a graph of the catalog stays
// where that is.
func (c *cluster) straggles(id string, epoch uint32, s *streak, p plan) {
	j := c.jobs[id]
	if j == nil || j.epoch != epoch || !j.movable() || j.spec.Graph != "" || j.unit > 0 &&
		s.unit() > stillSlow*j.unit {
		return
	}
	i := slices.IndexFunc(j.placements, func(p *control.Placement) bool { return p.Worker == s.worker })
	if i < 0 || placedOn(j.stragglers, s.worker, j.placements[i].Incarnation) {
		return
	}
	avoid := append(slices.Clone(j.stragglers), j.placements[i])
	to, _, _, err := c.place(j.spec.Rows, j.spec.Columns, kindOf(j.spec).shape, avoid)
	if err != nil || placedOn(to, s.worker, j.placements[i].Incarnation) {
		return // it is the only one
	}
	left := p.left()
	saved, cost := s.saved(len(workersOf(to)), left), p.load+p.checkpoint
	if saved <= cost {
		return
	}
	j.stragglers, j.unit = avoid, s.unit()
	c.straggled++
	c.changed = append(c.changed, change{job: id})
	c.move(j,
		fmt.Sprintf("worker %s is slow: for the same work it took %.1f times as long as the others in %d supersteps (%.3g s); moving takes about %.2g s and saves about %.2g s, "+
			"if %d more supersteps come: the job goes on without it", s.worker, s.factor(), s.steps,
			s.seconds, cost, saved, left))
}

// free reports whether a worker gets new work.
func (w *worker) free() bool {
	return w.state == control.WorkerState_WORKER_STATE_REGISTERED && w.attached && w.excluded == ""
}

// keepAndEnd has the run's next checkpoint be taken soon, and the attempt end when it is stored. It
// reports whether the workers will take one.
func (r *run) keepAndEnd(why error) bool {
	s := r.server
	r.set(func(*control.Job) { r.moved = why })
	ctx, cancel := context.WithTimeout(s.ctx, cleanUp)
	defer cancel()
	_, err := s.gather(ctx, r.team[:1], order{what: "checkpoint", command: &control.Command{
		Job: r.id, Epoch: r.epoch, Body: &control.Command_KeepNow{KeepNow: &control.KeepNow{}},
	}})
	if err != nil { // it stays where it is
		s.log.Info("a job takes no checkpoint", "job", r.id, "error", err)
		r.set(func(*control.Job) { r.moved = nil })
		// A worker that keeps no checkpoints would say so again.
		if errors.Is(err, errSessionBroke) {
			s.event(func() { s.cluster.stays(r.id, r.epoch) })
		}
	}
	return err == nil
}

// leave has a run that was cancelled leave a checkpoint of where it is, if that takes no longer
// than the workers have for it.
func (r *run) leave(why error, stop context.CancelCauseFunc) {
	within := checkpoint.LeaveWithin
	if !r.keepAndEnd(why) {
		within = 0
	}
	time.AfterFunc(within, func() { stop(why) })
}

// straggles has the state machine look at the worker of the run that is slow, if one is.
func (r *run) straggles() {
	s := r.pace.straggler(r.server.cluster.slowFor.Seconds())
	if s == nil {
		return
	}
	a := r.figures()
	p := plan{ran: int(a.Supersteps), limit: int(a.MaxSupersteps), load: max(a.LoadSeconds,
		r.begins.Seconds()), checkpoint: r.checkpoint}
	if p.checkpoint == 0 { // none was taken
		p.checkpoint = checkpoint.Estimate(int64(a.Vertices) * checkpoint.BytesOfVertex / int64(len(r.team))).Seconds()
	}
	r.server.event(func() { r.server.cluster.straggles(r.id, r.epoch, s, p) })
}

// kept ends the attempt if it was to move when a checkpoint is stored.
func (r *run) kept() {
	var moved error
	r.set(func(*control.Job) { moved = r.moved })
	if moved == nil {
		return
	}
	s := r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.stops[r.id]; stop != nil && s.runs[r.id] == r {
		stop(moved)
	}
}

// DrainWorker has a worker leave.
func (s *server) DrainWorker(ctx context.Context, r *control.DrainWorkerRequest) (_ *control.DrainWorkerResponse, err error) {
	defer s.audit.add(ctx, entry{What: "drain", Worker: r.Name}, &err)
	answer := &control.DrainWorkerResponse{}
	s.event(func() {
		w := s.cluster.workers[r.Name]
		if w == nil || !w.live() {
			err = absent("there is no worker %.150q: superstep status lists those there are", r.Name)
			return
		}
		s.cluster.leave(s.now(), w.name, w.incarnation, "drained")
		for _, id := range s.cluster.order {
			switch j := s.cluster.jobs[id]; {
			case !j.active() || !uses(j.placements, w.name):
			case j.moving:
				answer.Moves = append(answer.Moves, id)
			default:
				answer.Waits = append(answer.Waits, id)
			}
		}
	})
	return answer, err
}

// A worker is slow if a unit of work, an edge walked or a vertex run, takes it slowFactor times as
// long as the median of the others, in slowSteps supersteps in a row and for so long as
// rules.slowFor: seconds a unit, so that a worker with the larger part of the graph is not taken
// for a slow one. Supersteps in which nobody works for leastWork tell nothing.
const (
	slowFactor = 2
	slowSteps  = 8
	leastWork  = 1e-3 // seconds
)

// pace finds the slow worker of an attempt by the records of its supersteps.
type pace struct {
	threads map[string]int // of each worker
	// Of workers that were slow in the last superstep that told something.
	slow map[string]*streak
	work map[string]*worked // in the superstep that is looked at
}

// worked is what a worker did in a superstep.
type worked struct{ longest, sum, units float64 }

// seconds is how long the worker worked: its partitions run at the same time, as far as it has
// n threads for them.
func (w *worked) seconds(n int) float64 { return max(w.longest, w.sum/max(float64(n), 1)) }

// streak sums up supersteps in a row in which a worker was slow.
type streak struct {
	worker   string
	steps    int
	seconds  float64 // that they took
	busy     float64 // of these, the worker's own work
	expected float64 // that its work would have taken one of the others
	all      float64 // that the work of all workers would have taken one of the others
	units    float64 // of work, of all workers
}

// factor is how many times as long as the others the worker takes for the same work.
func (s *streak) factor() float64 { return s.busy / s.expected }

// unit is how many seconds a superstep takes for a unit of work of all workers.
func (s *streak) unit() float64 { return s.seconds / s.units }

// saved is how many seconds a run takes less on so many of the other workers, over so many
// supersteps like those.
func (s *streak) saved(workers, supersteps int) float64 {
	return (s.busy - s.all/float64(workers)) * float64(supersteps) / float64(s.steps)
}

func newPace(threads map[string]int) *pace {
	return &pace{threads: threads, slow: map[string]*streak{}, work: map[string]*worked{}}
}

// observe takes the record of the next superstep.
func (p *pace) observe(r *supersteps.Superstep) {
	clear(p.work)
	for i := range r.Partitions {
		x := &r.Partitions[i]
		w := p.work[x.Worker]
		if w == nil {
			w = &worked{}
			p.work[x.Worker] = w
		}
		busy := x.Times.Traverse + x.Times.Compute
		w.longest, w.sum, w.units = max(w.longest, busy), w.sum+busy,
			w.units+float64(x.Walked+x.Computed)
	}
	units, longest := 0.0, 0.0
	for name, w := range p.work {
		units, longest = units+w.units, max(longest, w.seconds(p.threads[name]))
	}
	if len(p.work) < 2 || longest < leastWork {
		return
	}
	for name, w := range p.work {
		rate := p.othersRate(name)
		expected, busy := w.units*rate, w.seconds(p.threads[name])
		if expected == 0 || busy < slowFactor*expected {
			delete(p.slow, name)
			continue
		}
		s := p.slow[name]
		if s == nil {
			s = &streak{worker: name}
			p.slow[name] = s
		}
		s.steps, s.seconds, s.busy, s.expected = s.steps+1, s.seconds+r.Seconds, s.busy+busy,
			s.expected+expected
		s.all, s.units = s.all+units*rate, s.units+units
	}
}

// othersRate is the median of the seconds that a unit of work took the workers but one, the slower
// of the two in the middle; 0 if they did nothing.
func (p *pace) othersRate(but string) float64 {
	var rates []float64
	for name, w := range p.work {
		if name != but && w.units > 0 {
			rates = append(rates, w.seconds(p.threads[name])/w.units)
		}
	}
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// straggler returns the slowest of the workers that have been slow for so many seconds, or nil.
func (p *pace) straggler(seconds float64) *streak {
	var found *streak
	for _, name := range slices.Sorted(maps.Keys(p.slow)) {
		s := p.slow[name]
		if s.steps >= slowSteps && s.seconds >= seconds &&
			(found == nil || cmp.Less(found.factor(), s.factor())) {
			found = s
		}
	}
	return found
}
