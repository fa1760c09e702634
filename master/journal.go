package master

import (
	"sort"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
)

// Bounds of what is kept of a job's events, while it runs and after, and of the events of all jobs
// that have ended: so many log lines and so many others, so that a program that logs much displaces
// no records. The oldest go first; a job's last event stays. Bytes are those of messages as they
// are sent, which take some five times as much in memory.
const (
	keepEvents = 2000
	keepAfter  = 200

	keepBytes      = 8 << 20
	keepAfterBytes = 512 << 10
	keepEndedBytes = 4 << 20
)

// journal is what happened to a job, for those who watch it. However slow they are, it does not
// wait for them.
type journal struct {
	mu      sync.Mutex
	events  []*control.JobEvent
	sizes   []int         // of the events, in bytes
	bytes   int           // of them all
	logs    int           // how many of them are log lines
	watched int           // how many watch
	next    uint64        // sequence
	ended   bool          // nothing follows
	changed chan struct{} // closed at the next event
	over    chan struct{} // closed at the last
	far     progress
}

// newJournal makes a journal whose events are numbered from the next after first.
func newJournal(first uint64) *journal {
	return &journal{next: first + 1, changed: make(chan struct{}), over: make(chan struct{})}
}

// append adds an event; last, if it is the last.
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
	n := proto.Size(e)
	j.events, j.sizes, j.bytes = append(j.events, e), append(j.sizes, n), j.bytes+n
	if e.GetLog() != nil {
		j.logs++
	}
	if last {
		j.ended = true
		close(j.over)
	}
	if max(j.logs, len(j.events)-j.logs) > keepEvents+keepEvents/4 || j.bytes > keepBytes {
		j.trim(keepEvents, keepBytes-keepBytes/4) // not with every event
	}
	j.wake()
}

// trim removes the oldest log lines and the oldest of the others until there are at most so many of
// each, and the oldest of all until they have at most so many bytes. The last stays, and so does,
// if there is room, what the job's states were: thousands of supersteps are over before a slow
// client hears that a worker was lost. The lock is held.
func (j *journal) trim(events, bytes int) {
	j.drop(events, bytes, func(e *control.JobEvent) bool { return e.GetJob() == nil })
	j.drop(events, bytes, func(*control.JobEvent) bool { return true })
}

// drop is trim of the events that may go.
func (j *journal) drop(events, bytes int, may func(*control.JobEvent) bool) {
	logs, others := j.logs-events, len(j.events)-j.logs-events // too many
	// New memory: who watches may have the old.
	left, sizes := []*control.JobEvent(nil), []int(nil)
	for i, e := range j.events {
		many := &others
		if e.GetLog() != nil {
			many = &logs
		}
		if i < len(j.events)-1 && (*many > 0 || j.bytes > bytes) && may(e) {
			*many--
			j.bytes -= j.sizes[i]
			continue
		}
		left, sizes = append(left, e), append(sizes, j.sizes[i])
	}
	j.events, j.sizes, j.logs = left, sizes, events+logs
}

// watch says that somebody watches, and returns what ends that: of a job that has ended nothing
// more is removed while they do.
func (j *journal) watch() (end func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watched++
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.watched--
	}
}

// trimEnded removes events of jobs that have ended: of all but the newest, whose client may be
// about to ask, and those that are watched, down to their bounds; then the oldest jobs' first,
// until all have at most so many bytes. journals are those of the jobs that have ended, oldest
// first.
func trimEnded(journals []*journal, bytes int) {
	all := 0
	for i, j := range journals {
		if j.mu.Lock(); i < len(journals)-1 && j.watched == 0 {
			j.trim(keepAfter, keepAfterBytes)
		}
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

// wake wakes who waits for something to happen. The lock is held.
func (j *journal) wake() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// after returns the events after a sequence number, what is closed when there are more, and whether
// there will be.
func (j *journal) after(sequence uint64) ([]*control.JobEvent, <-chan struct{}, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	from := sort.Search(len(j.events), func(i int) bool { return j.events[i].Sequence > sequence })
	return j.events[from:len(j.events):len(j.events)], j.changed, !j.ended
}

// note writes a job's new state down, and forgets the journals of jobs that are forgotten. The lock
// is held.
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
		s.results.store(about, s.options.Now())
	case e.job.epoch > 0:
		s.results.remove(e.job.id) // it may be whole: the job was cancelled late
	}
	for id := range s.journals {
		if s.cluster.jobs[id] == nil {
			delete(s.journals, id)
			delete(s.runs, id)
			s.logs.remove(id)
		}
	}
	var ended []*journal // oldest first
	for _, id := range s.cluster.order {
		if j := s.journals[id]; j != nil && s.cluster.jobs[id].state.Ended() {
			ended = append(ended, j)
		}
	}
	trimEnded(ended, keepEndedBytes)
}

// append writes an event of a job down.
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

// describe says how a job is. The lock is held.
func (s *server) describe(j *job) *control.Job {
	d := &control.Job{}
	if r := s.runs[j.id]; r != nil {
		d = r.figures()
	} else if j.about != nil {
		d = proto.CloneOf(j.about)
		d.Panic, d.Stack, d.Aggregators = nil, "", shown(j.about.Aggregators)
	} else if !j.state.Ended() {
		d.Graph500 = proto.CloneOf(j.searched)
	}
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
		d.Ended = s.stamp(j.ended)
	}
	return d
}

// progress is how far the workers of a job are with what they do now. They go through the same
// stages, not in step: a stage is shown until all have left it.
type progress struct {
	version uint64 // rises with every change
	stage   string
	in      map[string]*control.Progress // the workers in the stage
	left    uint64                       // what those had to do who have left it
	ahead   map[string]*control.Progress // these, where they are now
}

// take notes how far a worker is.
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

// enter begins a stage with those who are there.
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

// sum is how far the stage is, over all workers.
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

// advanced notes how far a worker is, with a job or with a graph of the catalog.
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

// tell notes how far a worker is, for those who watch, and returns how far all are; nil if the job
// has ended.
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

// progress returns how far the job is if that has changed since a version, and the version.
func (j *journal) progress(since uint64) (*control.Progress, uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.far.version == since {
		return nil, since
	}
	return j.far.sum(), j.far.version
}

// said is a line of the master's in the log of a job.
func said(text string) *control.JobEvent {
	return &control.JobEvent{Body: &control.JobEvent_Log{Log: &control.LogLine{Worker: "master", Text: text}}}
}
