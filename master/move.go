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

// A run that stores checkpoints can be moved between two supersteps: it stores a checkpoint, ends,
// and starts another attempt from it on the workers available then. This does not count as a loss.
// A job is moved when a worker leaves, when there are more workers than it uses, and when a worker
// is slow.

// movedError ends an attempt that will continue on other workers.
type movedError struct{ reason string }

func (e *movedError) Error() string { return e.reason }

// movable reports whether a job's attempt can be moved.
func (j *job) movable() bool {
	return j.active() && j.driving && !j.stopping && !j.moving && !j.ending &&
		j.state == control.JobState_JOB_STATE_RUNNING && j.spec.Checkpoints != ""
}

func (c *cluster) move(j *job, reason string) {
	j.moving = true
	c.emit(moveJob{j, reason})
}

// stays allows another move of a job whose move failed.
func (c *cluster) stays(id string, epoch uint32) {
	if j := c.jobs[id]; j != nil && j.epoch == epoch {
		j.moving = false
	}
}

// A job moves to more workers when they have been present for settledAfter, and the attempt has run
// for at least spreadAfter and spreadTimes the time that it took to start. The expectation is that
// a run of unknown length will last as long again as it has.
const (
	settledAfter = 3 * time.Second
	spreadAfter  = 10 * time.Second
	spreadTimes  = 4
)

// spread moves jobs to workers that joined later. It does not move jobs with a requested grid or on
// a graph of the catalog.
func (c *cluster) spread(now time.Duration) {
	for _, j := range c.order {
		if !j.movable() || j.spec.Graph != "" || j.spec.Rows != 0 ||
			now-j.driven < max(spreadAfter, spreadTimes*(j.driven-j.began)) {
			continue
		}
		joined := ""
		for _, w := range byName(c.workers) {
			if w.free() && now-w.since > settledAfter && !uses(j.placements, w.name) &&
				!placedOn(j.stragglers, w.name, w.incarnation) {
				joined = w.name
			}
		}
		if joined == "" {
			continue
		}
		if to, err := c.place(0, 0, kindOf(j.spec).shape, j.stragglers); err == nil &&
			len(workersOf(to.placements)) > len(j.workers()) {
			c.move(j, fmt.Sprintf("worker %s has joined: the job goes on with it", joined))
		}
	}
}

// plan has the figures of a run that may move: the supersteps run, their maximum (0 if not known),
// and the seconds to load the graph and to store a checkpoint.
type plan struct {
	ran, limit       int
	load, checkpoint float64
}

// left estimates how many supersteps remain: as many as have run, within the limit.
func (p plan) left() int {
	if p.limit > 0 {
		return min(p.ran, p.limit-p.ran)
	}
	return p.ran
}

// stillSlow is a ratio of times per unit of work. After a job has moved away from a slow worker, it
// moves away from another one only if its supersteps take less than this ratio of the earlier time.
// Otherwise the cause is the program, which is slow on any worker that has certain vertices.
const stillSlow = 0.9

// straggles moves a job away from a slow worker if this is expected to save more time than it
// takes. It does so once per job and worker, and not for jobs on a graph of the catalog.
func (c *cluster) straggles(id string, epoch uint32, s *streak, p plan) {
	j := c.jobs[id]
	if j == nil || j.epoch != epoch || !j.movable() || j.spec.Graph != "" || j.unit > 0 &&
		s.unit() > stillSlow*j.unit {
		return
	}
	i := slices.IndexFunc(j.placements,
		func(p *control.Placement) bool { return p.Worker == s.worker })
	if i < 0 || placedOn(j.stragglers, s.worker, j.placements[i].Incarnation) {
		return
	}
	avoid := append(slices.Clone(j.stragglers), j.placements[i])
	to, err := c.place(j.spec.Rows, j.spec.Columns, kindOf(j.spec).shape, avoid)
	if err != nil || placedOn(to.placements, s.worker, j.placements[i].Incarnation) {
		return // there is no other worker
	}
	left := p.left()
	saved, cost := s.saved(len(workersOf(to.placements)), left), p.load+p.checkpoint
	if saved <= cost {
		return
	}
	j.stragglers, j.unit = avoid, s.unit()
	c.straggled++
	c.changed = append(c.changed, change{job: id})
	c.move(j, fmt.Sprintf("worker %s is slow: for the same work it took %.1f times as long as the "+
		"others in %d supersteps (%.3g s); moving takes about %.2g s and saves about %.2g s, "+
		"if %d more supersteps come: the job goes on without it", s.worker, s.factor(), s.steps,
		s.seconds, cost, saved, left))
}

// free reports whether a worker may get new work.
func (w *worker) free() bool {
	return w.state == control.WorkerState_WORKER_STATE_REGISTERED && w.attached && w.excluded == ""
}

// keepAndEnd requests a checkpoint and lets the attempt end when it is stored. It reports whether
// the worker agreed.
func (r *run) keepAndEnd(why error) bool {
	s := r.server
	r.set(func(*control.Job) { r.moved = why })
	ctx, cancel := context.WithTimeout(s.ctx, cleanUp)
	defer cancel()
	_, err := s.gather(ctx, r.team[:1], order{what: "checkpoint", command: &control.Command{
		Job: r.id, Epoch: r.epoch, Body: &control.Command_KeepNow{KeepNow: &control.KeepNow{}},
	}})
	if err != nil { // the job is not moved
		s.log.Info("a job takes no checkpoint", "job", r.id, "error", err)
		r.set(func(*control.Job) { r.moved = nil })
		// Allow another try, unless the worker stores no checkpoints.
		if errors.Is(err, errSessionBroke) {
			s.event(func() { s.cluster.stays(r.id, r.epoch) })
		}
	}
	return err == nil
}

// leave stops a cancelled run. If the workers can store a checkpoint, it gives them LeaveWithin for
// it.
func (r *run) leave(why error, stop context.CancelCauseFunc) {
	within := checkpoint.LeaveWithin
	if !r.keepAndEnd(why) {
		within = 0
	}
	time.AfterFunc(within, func() { stop(why) })
}

// straggles passes the run's slow worker to the state machine, if there is one.
func (r *run) straggles() {
	s := r.pace.straggler(r.server.cluster.slowFor.Seconds())
	if s == nil {
		return
	}
	p, vertices := plan{checkpoint: r.checkpoint}, uint64(0)
	r.set(func(a *control.Job) {
		p.ran, p.limit, p.load = int(a.Supersteps), int(a.MaxSupersteps),
			max(a.LoadSeconds, r.begins.Seconds())
		vertices = a.Vertices
	})
	if p.checkpoint == 0 { // none stored yet
		p.checkpoint = checkpoint.Estimate(
			int64(vertices) * checkpoint.BytesOfVertex / int64(len(r.team))).Seconds()
	}
	r.server.event(func() { r.server.cluster.straggles(r.id, r.epoch, s, p) })
}

// kept is called when a checkpoint is stored. It ends the attempt if the job is to move.
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

// DrainWorker makes a worker leave.
func (s *server) DrainWorker(
	ctx context.Context, r *control.DrainWorkerRequest,
) (_ *control.DrainWorkerResponse, err error) {
	defer s.audit.add(ctx, entry{What: "drain", Worker: r.Name}, &err)
	answer := &control.DrainWorkerResponse{}
	s.event(func() {
		w := s.cluster.workers[r.Name]
		if w == nil || !w.live() {
			err = absent(
				"there is no worker %.150q: superstep status lists those there are", r.Name)
			return
		}
		s.cluster.leave(s.now(), w.name, w.incarnation, "drained")
		for _, j := range s.cluster.order {
			switch {
			case !j.active() || !uses(j.placements, w.name):
			case j.moving:
				answer.Moves = append(answer.Moves, j.id)
			default:
				answer.Waits = append(answer.Waits, j.id)
			}
		}
	})
	return answer, err
}

// A worker is slow if its time per unit of work (an edge walked or a vertex run) is slowFactor
// times the median of the other workers, in at least slowSteps consecutive supersteps that last at
// least rules.slowFor. Time per unit does not penalize a worker with a larger part of the graph.
// Supersteps in which no worker works for leastWork do not count.
const (
	slowFactor = 2
	slowSteps  = 8
	leastWork  = 1e-3 // seconds
)

// pace finds the slow worker of an attempt from the records of its supersteps.
type pace struct {
	threads map[string]int // by worker
	// Workers that were slow in the last superstep that counted.
	slow map[string]*streak
	work map[string]*worked // by worker, in the current superstep
}

// worked is the work of a worker in a superstep.
type worked struct{ longest, sum, units float64 }

// seconds returns the working time of a worker with n threads. Its partitions run in parallel, n at
// a time.
func (w *worked) seconds(n int) float64 { return max(w.longest, w.sum/max(float64(n), 1)) }

// streak sums up consecutive supersteps in which a worker was slow.
type streak struct {
	worker   string
	steps    int
	seconds  float64 // duration of the supersteps
	busy     float64 // working time of the worker
	expected float64 // estimated time of the worker's work on another worker
	all      float64 // estimated time of all workers' work on one other worker
	units    float64 // units of work of all workers
}

// factor returns how many times longer than the others the worker takes for the same work.
func (s *streak) factor() float64 { return s.busy / s.expected }

// unit returns the duration of supersteps per unit of work of all workers, in seconds.
func (s *streak) unit() float64 { return s.seconds / s.units }

// saved estimates the seconds saved by running the given number of such supersteps on the given
// number of other workers.
func (s *streak) saved(workers, supersteps int) float64 {
	return (s.busy - s.all/float64(workers)) * float64(supersteps) / float64(s.steps)
}

func newPace(threads map[string]int) *pace {
	return &pace{threads: threads, slow: map[string]*streak{}, work: map[string]*worked{}}
}

// observe adds the record of the next superstep.
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

// othersRate returns the (upper) median of the seconds per unit of work of all workers but one; 0
// if they did nothing.
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

// straggler returns the slowest of the workers that have been slow for at least the given time, or
// nil.
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
