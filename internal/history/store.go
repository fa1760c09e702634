// Package history gathers the supersteps of runs into what people look at: a row for each
// superstep, totals by partition and by pair, a summary in words. The terminal, the API and the
// page show the same.
package history

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Bounds on what a Store keeps.
const (
	maxJobs  = 1000
	maxLog   = 1000
	maxText  = 4 << 10  // bytes of a line of the log
	maxRows  = 1 << 19  // partitions of all jobs' details: 120 MB
	maxPeers = 1 << 20  // of these: 64 MB
	maxBytes = 96 << 20 // of jobs without their details
	// progressEvery is how often readers are told how far a stage is.
	progressEvery = 100 * time.Millisecond
)

// Store is a Journal that keeps the runs of a process, within bounds, and tells readers what is
// new. Its methods may be called by several goroutines at once.
type Store struct {
	named     bool // jobs have their names as ids
	past      bool // what is recorded ended long ago
	mu        sync.Mutex
	epoch     string
	jobs      []*job
	last      map[string]*job // by name
	number    int
	stages    []trace.Stage
	announced time.Time // when the progress of a stage last was
	log       []trace.Log
	ring      ring

	mostRows  int        // maxRows
	mostPeers int        // maxPeers
	most      int        // maxBytes
	bytes     int        // of the runs that have ended
	details   []detailed // oldest first
	rows      int        // partitions in details
	peers     int
	bare      int // so many of details, the oldest, have no peers left
}

// detailed is a superstep whose details are there.
type detailed struct {
	job       *job
	superstep int
	detail    *Detail
}

// NewStore makes an empty Store.
func NewStore() *Store {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return &Store{mostRows: maxRows, mostPeers: maxPeers, most: maxBytes, epoch: hex.EncodeToString(b[:]), last: map[string]*job{}, ring: ring{changed: make(chan struct{})}}
}

// NewNamedStore makes an empty Store whose jobs keep their names as ids, blanks as -. No two have
// the same.
func NewNamedStore() *Store {
	s := NewStore()
	s.named = true
	return s
}

// Past says that what is recorded comes from a file: a run without an end has no time left, but is
// cut short.
func (s *Store) Past() { s.past = true }

// SetResult says whether what the newest run of a name has computed can be asked for in this
// process, and returns the run's id.
func (s *Store) SetResult(name string, there bool) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.last[name]
	if j == nil {
		return ""
	}
	j.Result = there
	s.ring.put("job", j.ID, j.Job)
	return j.ID
}

// Queue lists a run that waits for Begin, and why. It may be told again.
func (s *Store) Queue(b *trace.Job, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.last[b.Job]
	if j == nil || j.State != trace.Queued {
		j = s.add(b, trace.Queued)
		if j.Submitted.IsZero() {
			j.Submitted = b.Began
		}
		j.Began = time.Time{}
	}
	j.Error = reason
	s.ring.put("job", j.ID, j.Job)
}

// Record takes an event in.
func (s *Store) Record(e trace.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case *trace.Job:
		if e.More {
			s.describe(e)
		} else {
			s.begin(e)
		}
	case *record.Superstep:
		j := s.running(e.Job)
		s.addDetail(j, j.record(e))
		if of, search := s.searched(e.Job); of != nil {
			of.sum(search, j.steps[len(j.steps)-1])
		}
	case *trace.End:
		s.end(s.running(e.Job), e)
	case *trace.Search:
		s.search(*e)
	case *trace.Stage:
		s.stage(*e)
	case *trace.Log:
		s.note(*e)
	}
	return nil
}

// running is the newest run of a name. A run that nobody began begins now.
func (s *Store) running(name string) *job {
	if j := s.last[name]; j != nil && j.State == trace.Running {
		return j
	}
	return s.begin(&trace.Job{Job: name})
}

func (s *Store) begin(b *trace.Job) *job {
	j := s.last[b.Job]
	switch {
	case j != nil && j.State == trace.Queued:
		j.Job.Job, j.State, j.Error = *b, trace.Running, ""
		j.matrix.grow(b.Partitions)
		j.goesOn()
		s.ring.put("job", j.ID, j.Job)
		return j
	case j != nil && j.State == trace.Running:
		s.end(j, &trace.End{State: trace.Failed, Error: "the trace does not say how the run ended"})
	}
	j = s.add(b, trace.Running)
	j.goesOn()
	s.ring.put("job", j.ID, j.Job)
	return j
}

// describe says more of a run that is under way.
func (s *Store) describe(b *trace.Job) {
	if j := s.last[b.Job]; j != nil && j.State == trace.Running {
		j.Job.Job, j.More = *b, false
		j.goesOn()
		s.ring.put("job", j.ID, j.Job)
	}
}

// add lists a run.
func (s *Store) add(b *trace.Job, state string) *job {
	s.number++
	j := &job{details: map[int]*Detail{}}
	j.Job = Job{ID: strconv.Itoa(s.number), Job: *b, State: state}
	if s.named {
		j.ID = strings.ReplaceAll(b.Job, " ", "-")
		// an attempt that lost a worker, and searches that have not ended: this is the next
		for i := len(s.jobs) - 1; i >= 0; i-- {
			old := &s.jobs[i].Job
			name := old.Job.Job
			if name == b.Job {
				j.Kernels, j.Submitted = old.Kernels, old.Submitted
				j.Lost = append(old.Lost, Attempt{old.Began, old.Supersteps, old.Error})
			}
			of, _, _ := strings.Cut(name, " ")
			if name == b.Job || of == b.Job && old.Search == nil {
				s.remove(i)
			}
		}
	}
	j.matrix.grow(b.Partitions)
	s.jobs, s.last[b.Job] = append(s.jobs, j), j
	if len(s.jobs) > maxJobs {
		s.forget()
	}
	return j
}

// forget lets the oldest run go that has ended, if there is one.
func (s *Store) forget() bool {
	for i, j := range s.jobs {
		if j.State == trace.Running || j.State == trace.Queued {
			continue
		}
		s.remove(i)
		return true
	}
	return false
}

// remove lets a run go.
func (s *Store) remove(i int) {
	j := s.jobs[i]
	s.jobs = slices.Delete(s.jobs, i, i+1)
	if s.last[j.Job.Job.Job] == j {
		delete(s.last, j.Job.Job.Job)
	}
	s.drop(j)
	s.ring.put("gone", j.ID, nil)
	s.bytes -= j.counted
}

// drop lets a run's details go. The oldest run's are the first, mostly: no others are looked at
// then.
func (s *Store) drop(j *job) {
	first := 0
	for ; first < len(s.details) && s.details[first].job == j; first++ {
		s.count(s.details[first], -1)
	}
	clear(s.details[:first])
	if s.details = s.details[first:]; j.detailed == 0 {
		return
	}
	s.details = slices.DeleteFunc(s.details, func(k detailed) bool {
		if k.job == j {
			s.count(k, -1)
		}
		return k.job == j
	})
}

// addDetail takes a superstep's details, and lets old ones go where they are too many.
func (s *Store) addDetail(j *job, d *Detail) {
	j.details[d.Step.Superstep] = d
	k := detailed{j, d.Step.Superstep, d}
	s.details = append(s.details, k)
	s.count(k, 1)
	drop := 0
	for s.rows > s.mostRows {
		old := s.details[drop]
		if drop++; old.job.details[old.superstep] == old.detail {
			delete(old.job.details, old.superstep)
		}
		s.count(old, -1)
	}
	s.details = slices.Delete(s.details, 0, drop)
	s.bare = max(0, s.bare-drop)
	for ; s.peers > s.mostPeers; s.bare++ {
		s.strip(&s.details[s.bare])
	}
	s.ring.put("step", j.ID, d.Step)
}

// strip lets the peers of a superstep go, of which there are far more than partitions. Readers may
// have the Detail, so it is replaced.
func (s *Store) strip(k *detailed) {
	n := k.detail.peers()
	if n == 0 {
		return
	}
	bare := &Detail{Step: k.detail.Step, Partitions: slices.Clone(k.detail.Partitions), PeersGone: true}
	for i := range bare.Partitions {
		bare.Partitions[i].Peers, bare.Partitions[i].Sums = nil, nil
	}
	if k.job.details[k.superstep] == k.detail {
		k.job.details[k.superstep] = bare
	}
	k.detail = bare
	s.peers -= n
}

func (s *Store) count(k detailed, sign int) {
	k.job.detailed += sign
	s.rows += sign * len(k.detail.Partitions)
	s.peers += sign * k.detail.peers()
}

// end ends a run.
func (s *Store) end(j *job, e *trace.End) {
	j.State, j.Ended, j.Error = e.State, e.Ended, e.Error
	if !s.past {
		j.Finished = time.Now()
	}
	if e.Seconds > 0 {
		j.Seconds = e.Seconds
	}
	if len(e.Aggregators) > 0 {
		j.Aggregators = e.Aggregators.Texts()
	}
	j.GraphLeft, j.Forked, j.report = e.GraphLeft, e.Forked, e.Report
	s.ring.put("job", j.ID, j.Job)
	s.bytes += j.bytes() - j.counted
	j.counted = j.bytes()
	for s.bytes > s.most && s.forget() { // the oldest, while all are too large
	}
}

// searched is the job that a name is of a search of: that which it begins with, before a blank.
func (s *Store) searched(name string) (of *job, search string) {
	for i := strings.LastIndexByte(name, ' '); i > 0; i = strings.LastIndexByte(name[:i], ' ') {
		if j := s.last[name[:i]]; j != nil && j.Program == trace.Graph500 {
			return j, name[i+1:]
		}
	}
	return nil, ""
}

// search notes what a search came to, of itself and of its job.
func (s *Store) search(e trace.Search) {
	if j := s.last[e.Job]; j != nil {
		j.Search = &e
		s.ring.put("job", j.ID, j.Job)
	}
	if of, _ := s.searched(e.Job); of != nil {
		of.Kernels = AddSearch(of.Kernels, &e)
		s.ring.put("job", of.ID, of.Job)
	}
}

// stage notes how far work around the runs is.
func (s *Store) stage(stage trace.Stage) {
	i := slices.IndexFunc(s.stages, func(o trace.Stage) bool { return o.Stage == stage.Stage && o.Job == stage.Job && o.Seconds == 0 })
	if i >= 0 {
		s.stages[i] = stage
	} else {
		if len(s.stages) >= maxLog {
			s.stages = slices.Delete(s.stages, 0, maxLog/10)
		}
		s.stages = append(s.stages, stage)
	}
	if now := time.Now(); i < 0 || stage.Seconds > 0 || now.Sub(s.announced) >= progressEvery {
		s.announced = now
		s.ring.put("stage", s.id(stage.Job), stage)
	}
}

// note keeps a line for people.
func (s *Store) note(line trace.Log) {
	if len(line.Text) > maxText {
		line.Text = line.Text[:maxText] + "..."
	}
	if len(s.log) >= maxLog {
		s.log = slices.Delete(s.log, 0, maxLog/10)
	}
	s.log = append(s.log, line)
	s.ring.put("log", s.id(line.Job), line)
}

// id is the id of the newest run of a name, or none.
func (s *Store) id(name string) string {
	if j := s.last[name]; j != nil {
		return j.ID
	}
	return ""
}
