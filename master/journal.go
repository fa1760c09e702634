package master

import (
	"sort"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// Bounds of the events in memory of a job, and of all ended jobs together.
// Log lines and other events are counted separately, so that a program that logs much does not
// displace records. The oldest events are removed first; a job's last event stays. Bytes are sizes
// of encoded messages; in memory they take about five times as much.
const (
	keepEvents     = 2000
	keepBytes      = 8 << 20
	keepEndedBytes = 4 << 20
)

// journal holds the events of a job for its watchers. It never waits for a slow watcher.
type journal struct {
	mu      sync.Mutex
	events  []*control.JobEvent
	bytes   int           // in all events
	logs    int           // number of events that are log lines
	next    uint64        // next sequence number
	ended   bool          // no events follow
	changed chan struct{} // closed at the next event
	over    chan struct{} // closed at the last event
	far     progress
}

// newJournal makes a journal whose first event has number first+1.
func newJournal(first uint64) *journal {
	return &journal{next: first + 1, changed: make(chan struct{}), over: make(chan struct{})}
}

// append adds an event. last is true for the final event.
func (j *journal) append(e *control.JobEvent, last bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return
	}
	e.Sequence = j.next
	j.next++
	if e.GetJob() != nil {
		j.far.clear()
	}
	j.events, j.bytes = append(j.events, e), j.bytes+proto.Size(e)
	if e.GetLog() != nil {
		j.logs++
	}
	if last {
		j.ended = true
		close(j.over)
	}
	if max(j.logs, len(j.events)-j.logs) > keepEvents+keepEvents/4 || j.bytes > keepBytes {
		j.trim(keepEvents, keepBytes-keepBytes/4) // to a lower bound, so that not every event trims
	}
	j.wake()
}

// trim removes the oldest log lines and the oldest other events until at most events of each
// remain, and then the oldest events until they have at most bytes. It keeps the last event and, if
// possible, the job's changes of state: thousands of supersteps may pass before a slow client hears
// that a worker was lost. The caller holds the lock.
func (j *journal) trim(events, bytes int) {
	j.drop(events, bytes, func(e *control.JobEvent) bool { return e.GetJob() == nil })
	j.drop(events, bytes, func(*control.JobEvent) bool { return true })
}

// drop is trim restricted to the events that may accepts.
func (j *journal) drop(events, bytes int, may func(*control.JobEvent) bool) {
	logs, others := j.logs-events, len(j.events)-j.logs-events // excess of each
	var left []*control.JobEvent                               // a new slice, because watchers may use the old one
	for i, e := range j.events {
		many := &others
		if e.GetLog() != nil {
			many = &logs
		}
		if i < len(j.events)-1 && (*many > 0 || j.bytes > bytes) && may(e) {
			*many--
			j.bytes -= proto.Size(e)
			continue
		}
		left = append(left, e)
	}
	j.events, j.logs = left, events+logs
}

// trimEnded removes events of ended jobs, whose journals are given oldest first, until all together
// have at most bytes. The last event of each job stays.
func trimEnded(journals []*journal, bytes int) {
	all := 0
	for _, j := range journals {
		j.mu.Lock()
		all += j.bytes
		j.mu.Unlock()
	}
	for _, j := range journals {
		if all <= bytes {
			return
		}
		j.mu.Lock()
		all -= j.bytes
		j.trim(1, 0)
		all += j.bytes
		j.mu.Unlock()
	}
}

// wake wakes waiting watchers. The caller holds the lock.
func (j *journal) wake() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// after returns the events after a sequence number, a channel that is closed when there are more,
// and whether there may be more.
func (j *journal) after(sequence uint64) ([]*control.JobEvent, <-chan struct{}, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	from := sort.Search(len(j.events), func(i int) bool { return j.events[i].Sequence > sequence })
	return j.events[from:len(j.events):len(j.events)], j.changed, !j.ended
}

// note adds a job's new state to its journal, and deletes journals of forgotten jobs. The caller
// holds the lock.
func (s *server) note(e jobTurned) {
	j := s.journals[e.job.id]
	if j == nil {
		j = newJournal(s.firstEvent)
		s.journals[e.job.id] = j
	}
	about := s.describe(e.job)
	about.State, about.Reason = e.state, e.reason
	event := &control.JobEvent{Time: s.stamp(s.now()), Body: &control.JobEvent_Job{Job: about}}
	s.watched(e.job, event)
	j.append(event, e.state.Ended())
	s.logs.add(e.job.id, event)
	if !e.state.Ended() {
		return
	}
	s.keepRun(e.job)
	switch {
	case !e.job.spec.KeepResult:
	case e.state == control.JobState_JOB_STATE_DONE:
		s.expireResults()
	case e.job.epoch > 0:
		s.results.remove(e.job.id) // may be complete if the job was cancelled late
	}
	for id := range s.journals {
		if s.cluster.jobs[id] == nil {
			delete(s.journals, id)
			s.logs.remove(id)
		}
	}
	var ended []*journal // oldest first
	for _, known := range s.cluster.order {
		if j := s.journals[known.id]; j != nil && known.state.Ended() {
			ended = append(ended, j)
		}
	}
	trimEnded(ended, keepEndedBytes)
}

// append adds an event to a job's journal and log.
func (s *server) append(id string, e *control.JobEvent) {
	s.mu.Lock()
	j, of := s.journals[id], s.cluster.jobs[id]
	s.mu.Unlock()
	if j != nil {
		e.Time = s.stamp(s.now())
		s.watched(of, e)
		j.append(e, false)
		s.logs.add(id, e)
	}
}

// describe returns a job's description. The caller holds the lock.
func (s *server) describe(j *job) *control.Job {
	all := j.figures.Aggregators // may be large
	j.figures.Aggregators = nil
	d := proto.CloneOf(&j.figures)
	j.figures.Aggregators = all
	d.Panic, d.Stack, d.Aggregators = nil, "", shown(all)
	d.Id, d.SpecJson, d.State, d.Reason, d.Epoch, d.Workers = j.id, j.specText(), j.state, j.reason,
		j.epoch, j.workers()
	d.Rows, d.Columns, d.Threads, d.Owner = j.rows, j.columns, j.threads, j.owner
	d.Submitted = s.stamp(j.submitted)
	d.Priority = control.Priority_PRIORITY_UNSPECIFIED
	if j.state == control.JobState_JOB_STATE_QUEUED {
		d.Priority = j.priority(s.now())
	}
	if j.epoch > 0 {
		d.Started = s.stamp(j.started)
	}
	if j.state.Ended() {
		d.Ended, d.ResultParts = s.stamp(j.ended), j.stored
	}
	return d
}

// describeWhole is describe with the parts that are too large for lists and events. The caller
// holds the lock.
func (s *server) describeWhole(j *job) *control.Job {
	d := s.describe(j)
	d.Panic, d.Stack, d.Aggregators = j.figures.Panic, j.figures.Panic.GetStack(),
		j.figures.Aggregators
	return d
}

// progress is the progress of the workers of a job or graph. They pass through the same stages, but
// not in step: a stage is shown until all have left it.
type progress struct {
	version uint64 // increases with every change
	stage   string
	in      map[string]*control.Progress // the workers in the stage
	left    uint64                       // total work of workers that have left the stage
	ahead   map[string]*control.Progress // progress of these workers
}

// take updates the progress of a worker.
func (p *progress) take(worker string, far *control.Progress) {
	p.version++
	if len(p.in) == 0 {
		p.enter(far.Stage)
	}
	if far.Stage == p.stage {
		p.in[worker] = far
		delete(p.ahead, worker)
		return
	}
	if was := p.in[worker]; was != nil {
		p.left += was.Total
		delete(p.in, worker)
	}
	p.ahead[worker] = far
	if len(p.in) == 0 {
		p.enter(far.Stage)
	}
}

// enter begins a stage with the workers that are already in it.
func (p *progress) enter(stage string) {
	ahead := p.ahead
	p.stage, p.left = stage, 0
	p.in, p.ahead = map[string]*control.Progress{}, map[string]*control.Progress{}
	for worker, far := range ahead {
		if far.Stage == stage {
			p.in[worker] = far
		} else {
			p.ahead[worker] = far
		}
	}
}

func (p *progress) clear() { *p = progress{version: p.version} }

// sum returns the progress of the stage, added over all workers.
func (p *progress) sum() *control.Progress {
	if p.stage == "" {
		return nil
	}
	all := &control.Progress{Stage: p.stage, Done: p.left, Total: p.left}
	for _, w := range p.in {
		all.Job = w.Job
		all.Done += w.Done
		all.Total += w.Total
	}
	return all
}

// advanced handles a worker's progress with a job or a graph of the catalog.
func (s *server) advanced(worker string, far *control.Progress) {
	far.Stage = control.Text(far.Stage, control.MaxName)
	s.mu.Lock()
	j, of := s.journals[far.Job], s.cluster.jobs[far.Job]
	if g := s.cluster.graphs[far.Graph]; g != nil &&
		g.state == control.GraphState_GRAPH_STATE_LOADING {
		g.far.take(worker, far)
	}
	s.mu.Unlock()
	if j == nil {
		return
	}
	if sum := j.tell(worker, far); sum != nil {
		s.watched(of, &control.JobEvent{Body: &control.JobEvent_Progress{Progress: sum}})
	}
}

// tell updates a worker's progress for watchers and returns the sum over all workers. It returns
// nil if the job has ended.
func (j *journal) tell(worker string, far *control.Progress) *control.Progress {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return nil
	}
	j.far.take(worker, far)
	j.wake()
	return j.far.sum()
}

// progress returns the job's progress if it changed since a version, and the current version.
func (j *journal) progress(since uint64) (*control.Progress, uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.far.version == since {
		return nil, since
	}
	return j.far.sum(), j.far.version
}

// said makes a log line of the master in the log of a job.
func said(text string) *control.JobEvent {
	line := &control.LogLine{Worker: "master", Text: text}
	return &control.JobEvent{Body: &control.JobEvent_Log{Log: line}}
}
