package master

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
)

// job is a job and its state.
type job struct {
	id      string
	number  uint64 // increases from job to job
	key     string // of the submission
	owner   string
	spec    *jobspec.Spec
	text    string // JSON of spec, made on first use
	state   control.JobState
	reason  string // why it waits, failed or was cancelled
	epoch   uint32 // the attempt, from 1
	threads uint32 // of its workers
	site

	submitted, started, ended time.Duration

	began time.Duration // start of the attempt, as seen by this run of the master
	used  time.Duration // time of earlier attempts

	confirm time.Duration // time for the client to confirm it; 0 if no confirmation is needed
	// Deadline for the client to confirm; 0: confirmed, or not needed.
	confirmBy time.Duration

	stopping  bool           // the run was told to stop, for reason
	lost      bool           // because a worker was lost
	cancelled bool           // on request
	ending    bool           // workers are being told to free its memory
	over      bool           // it has ended, and that is on disk
	losses    []string       // why earlier attempts ended; each lost a worker
	stored    []*control.Sum // parts of its result; nil if no result is stored
	// Figures of the attempt, or of the last one. Its run changes them, with the server's lock. Only
	// those of a benchmark outlive the attempt.
	figures control.Job
	// The workers run the attempt without the master. A restarted master can take it up.
	driving bool
	takenUp bool          // an earlier master began the attempt
	driven  time.Duration // when driving was set

	stragglers []*control.Placement // slow workers that the job has moved away from
	unit       float64              // streak.unit before the last of these moves

	moving bool // will restart elsewhere from the checkpoint being stored

	// while queued after losing a worker: placements of the last attempt
	team    []*control.Placement
	starved *worker // worker that ran out of memory in the attempt
}

// active reports whether the job is being run.
func (j *job) active() bool {
	return j.state == control.JobState_JOB_STATE_LOADING ||
		j.state == control.JobState_JOB_STATE_RUNNING ||
		j.state == control.JobState_JOB_STATE_WRITING
}

// graph returns the name of the job's graph on the workers.
func (j *job) graph() string {
	return cmp.Or(j.spec.Graph, resolve.OwnGraph(j.id)) // loaded for this job only
}

// specText returns the job's description as JSON. The caller holds the lock.
func (j *job) specText() string {
	if j.text == "" {
		j.text = jobspec.Text(j.spec)
	}
	return j.text
}

func (j *job) workers() []string { return workersOf(j.placements) }

// submission identifies the call that made a job. Keys are chosen by owners.
type submission struct{ owner, key string }

// maxKey bounds the keys of submissions.
const maxKey = 64

// submit queues a job. If the key has already made the same job, submit returns that one: the
// client missed the answer, and gets the full time to confirm again.
func (c *cluster) submit(
	now time.Duration, owner string, spec *jobspec.Spec, key string, confirm time.Duration,
) (j *job, found bool, err error) {
	if len(key) > maxKey {
		return nil, false, invalid("found a key of %d bytes, expected at most %d", len(key), maxKey)
	}
	if j := c.jobs[c.keys[submission{owner, key}]]; j != nil && key != "" {
		same := *j.spec
		same.Checkpoints = spec.Checkpoints
		if jobspec.Text(&same) != jobspec.Text(spec) {
			return nil, false, failed(connect.CodeAlreadyExists,
				"key %q is that of job %s, which is another: a new job needs a new key", key, j.id)
		}
		if j.confirmBy != 0 {
			j.confirmBy = max(j.confirmBy, now+confirm)
		}
		return j, true, nil
	}
	j, err = c.enqueue(now, owner, spec, key, confirm)
	return j, false, err
}

// enqueue queues a new job.
func (c *cluster) enqueue(
	now time.Duration, owner string, spec *jobspec.Spec, key string, confirm time.Duration,
) (*job, error) {
	if spec.Graph != "" && spec.Rows|spec.Columns != 0 {
		return nil,
			invalid("graph %.150q is loaded as it is: a grid belongs to a graph that the job loads",
				spec.Graph)
	}
	if err := checkGrid(spec.Rows, spec.Columns); err != nil {
		return nil, err
	}
	if spec.Graph != "" && c.graphs[spec.Graph] == nil && !c.unmet(now) {
		return nil, absent(
			"there is no graph %.150q: superstep graphs list shows those there are", spec.Graph)
	}
	waiting := c.waiting()
	if len(waiting) >= c.queue {
		return nil, failed(connect.CodeResourceExhausted,
			"%d jobs wait already: try again later", len(waiting))
	}
	if err := c.mayQueue(owner); err != nil {
		return nil, err
	}
	size := len(jobspec.Text(spec))
	for _, j := range waiting {
		if j.owner == owner {
			size += len(j.specText())
		}
	}
	if size > maxWaiting {
		return nil, failed(connect.CodeResourceExhausted,
			"the descriptions of the owner's waiting jobs have %d bytes, expected at most %d: "+
				"try again later", size, maxWaiting)
	}
	id := ""
	for id == "" || c.jobs[id] != nil { // an earlier run may have had the same prefix
		c.number++
		id = fmt.Sprint(c.jobPrefix, c.number)
	}
	c.numbers++
	j := &job{
		id: id, number: c.numbers, key: key, owner: owner, spec: spec, submitted: now,
		state: control.JobState_JOB_STATE_QUEUED, confirm: confirm,
	}
	if confirm > 0 {
		j.confirmBy = now + confirm
	}
	c.changed = append(c.changed, change{job: id})
	c.jobs[j.id] = j
	if key != "" {
		c.keys[submission{owner, key}] = j.id
	}
	c.order = append(c.order, j)
	c.turned(j)
	c.schedule(now)
	return j, nil
}

// site is where a job runs or a graph is.
type site struct {
	placements    []*control.Placement
	rows, columns uint32 // of the grid
	load          loadID // of the graph of the catalog
}

// site returns where a job can run now, or what is lacking.
func (c *cluster) site(now time.Duration, j *job) (site, *shortage) {
	if j.spec.Graph == "" {
		at, err := c.place(j.spec.Rows, j.spec.Columns, kindOf(j.spec).shape, j.stragglers)
		if err != nil {
			return site{}, &shortage{"waits for a worker", true}
		}
		return at, c.shortOf(at.placements, j.spec.Origin(), j.demand(at))
	}
	g := c.graphs[j.spec.Graph]
	switch {
	case g == nil && c.unmet(now):
		return site{}, &shortage{"waits for a worker that has graph " + j.spec.Graph, true}
	case g == nil:
		return site{}, &shortage{reason: fmt.Sprintf(
			"graph %s: it was dropped, or no worker offered it", j.spec.Graph)}
	case g.state == control.GraphState_GRAPH_STATE_FAILED:
		return site{}, &shortage{reason: fmt.Sprintf("graph %s: %s", g.name, g.reason)}
	case g.state == control.GraphState_GRAPH_STATE_LOADING:
		return site{}, &shortage{"waits for graph " + g.name, true}
	case g.state == control.GraphState_GRAPH_STATE_WAITING:
		return site{}, &shortage{"graph " + g.name + " " + g.reason, true}
	}
	if a, b, cut := c.cutIn(g.placements); cut {
		if c.retries == 0 {
			return site{}, &shortage{reason: fmt.Sprintf("graph %s: there is no connection "+
				"between workers %s and %s, which hold shares of it", g.name, a, b)}
		}
		if c.workers[a].excluded == "" {
			a, b = b, a
		}
		c.loseGraph(g, a, "has no connection to worker "+b)
		return c.site(now, j)
	}
	if load := j.spec.Load; load != "" && load != g.load.String() {
		return site{}, &shortage{reason: fmt.Sprintf("graph %s was loaded since the client listed "+
			"its vertices, which may have other numbers now: call Connection.Graph again", g.name)}
	}
	// otherwise an attempt would fail at once
	if name := c.silent(g.placements); name != "" && c.retries > 0 {
		return site{}, &shortage{"graph " + g.name + " waits for worker " + name +
			", which lost its session", true}
	}
	return g.site, nil
}

// start begins an attempt of a queued job.
func (c *cluster) start(now time.Duration, j *job, at site) {
	j.site, j.epoch, j.lost = at, j.epoch+1, false
	if j.epoch == 1 {
		j.started = now
	}
	j.began, j.reason, j.ending, j.driving, j.takenUp, j.moving = now, "", false, false, false,
		false
	j.threads, j.team, j.starved = 0, nil, nil
	for _, name := range j.workers() {
		if w := c.workers[name]; w != nil {
			j.threads += w.about.Cores
		}
	}
	j.state = control.JobState_JOB_STATE_LOADING
	c.changed = append(c.changed, change{job: j.id})
	c.turned(j)
	c.emit(startJob{j})
}

// wait sets the reason why a queued job waits.
func (c *cluster) wait(j *job, reason string) {
	if j.reason != reason {
		j.reason = reason
		c.turned(j)
	}
}

// waiting returns the queued jobs, oldest first.
func (c *cluster) waiting() (all []*job) {
	for _, j := range c.order {
		if j.state == control.JobState_JOB_STATE_QUEUED {
			all = append(all, j)
		}
	}
	return all
}

// advance moves a running job to a later state. It ignores a run that was told to stop, or of an
// earlier attempt.
func (c *cluster) advance(id string, epoch uint32, state control.JobState) {
	j := c.jobs[id]
	if j == nil || !j.active() || j.epoch != epoch || j.stopping || state <= j.state {
		return
	}
	j.state = state
	c.turned(j)
}

// drives notes that the workers now run an attempt without the master.
func (c *cluster) drives(now time.Duration, id string, epoch uint32) {
	if j := c.jobs[id]; j != nil && j.active() && j.epoch == epoch && !j.driving {
		j.driving, j.driven = true, now
		c.changed = append(c.changed, change{job: id})
	}
}

// freeing notes that workers are being told to free the job's memory. A worker that attaches later
// frees it unasked. freeing also stores the error that ended the run, so that its consequences do
// not replace it. It does not store the loss of a session, whose cause may not be known yet.
func (c *cluster) freeing(id string, epoch uint32, err error) {
	j := c.jobs[id]
	if j == nil || j.epoch != epoch {
		return
	}
	j.ending = true
	if err != nil && !j.stopping && !lossOf(err) && !goesOn(err) {
		j.stopping, j.reason = true, reasonOf(err)
	}
}

// runEnded handles the end of a job's run. err is nil if the job is done. If the run had been told
// to stop, the reason for that counts.
func (c *cluster) runEnded(now time.Duration, id string, epoch uint32, err error) {
	j := c.jobs[id]
	if j == nil || !j.active() || j.epoch != epoch {
		return
	}
	c.freed(j.placements)
	switch {
	case j.cancelled:
		c.end(now, j, control.JobState_JOB_STATE_CANCELLED, j.reason)
	case c.again(now, j, err):
	case j.stopping:
		c.end(now, j, control.JobState_JOB_STATE_FAILED, j.reason)
	case err != nil:
		c.end(now, j, control.JobState_JOB_STATE_FAILED, reasonOf(err))
	default:
		j.stored = j.figures.ResultParts // before the end: a job with a result is not forgotten
		c.end(now, j, control.JobState_JOB_STATE_DONE, "")
	}
	for _, g := range byName(c.graphs) {
		if g.due { // to be freed after the run
			c.dropShares(g)
		}
	}
	c.farewells()
	c.schedule(now)
}

func (c *cluster) end(now time.Duration, j *job, state control.JobState, reason string) {
	j.state, j.reason, j.ended, j.stopping = state, reason, now, false
	c.changed = append(c.changed, change{job: j.id})
	c.jobsEnd++
	c.turned(j)
	remembered := 0
	for i := len(c.order) - 1; i >= 0; i-- {
		old := c.order[i]
		if !old.state.Ended() || old.stored != nil { // its result is stored
			continue
		}
		if remembered++; remembered > c.ended {
			delete(c.keys, submission{old.owner, old.key})
			c.changed = append(c.changed, change{job: old.id})
			delete(c.jobs, old.id)
			c.order = slices.Delete(c.order, i, i+1)
			for _, place := range []string{old.spec.Checkpoints, old.spec.GoOn} {
				if place != "" && !c.remembers(place) {
					c.emit(placeForgotten{place})
				}
			}
		}
	}
}

// remembers reports whether a remembered job stores checkpoints at a place or resumes from it.
func (c *cluster) remembers(place string) bool {
	for _, j := range c.jobs {
		if j.spec.Checkpoints == place || j.spec.GoOn == place {
			return true
		}
	}
	return false
}
