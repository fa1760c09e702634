// Package history collects the supersteps of runs for display: a row per superstep, totals by
// partition and by pair, a summary as text. The terminal, the API and the page show the same. Read
// store.go first, then job.go.
package history

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Bounds of a Store.
const (
	maxJobs        = 2000 // without searches: the ended jobs of a master and its queue
	maxLog         = 1000
	maxText        = 4 << 10  // bytes of a line of the log
	maxRows        = 3 << 18  // of all jobs' details: 180 MB
	maxBytes       = 96 << 20 // of all jobs without details
	maxCheckpoints = 100      // shown of a job
	// maxSearches bounds the searches of all jobs.
	maxSearches = 2 * maxJobs
	// progressEvery is the interval of progress events of a stage.
	progressEvery = 100 * time.Millisecond
)

// Store is a Journal that stores the runs of a process, within bounds, and sends updates to
// readers. Its methods may be called concurrently.
type Store struct {
	named     bool // ids of jobs are their names
	past      bool // the recorded runs ended long ago
	mu        sync.Mutex
	epoch     string
	jobs      []*job
	searches  int             // number of jobs that are searches
	last      map[string]*job // newest job by name
	number    int
	stages    []trace.Stage
	announced time.Time // time of the last progress event of a stage
	log       []trace.Log
	ring      ring

	mostRows int        // maxRows
	most     int        // maxBytes
	bytes    int        // of the runs that have ended
	details  []detailed // oldest first
	rows     int        // in details
}

// detailed is a superstep with details. An entry whose run was discarded, or whose superstep ran
// again, stays until all older entries are dropped.
type detailed struct {
	of              map[int]*Detail // the run's details
	superstep, rows int
	detail          weak.Pointer[Detail] // of has a newer one if the superstep ran again
}

// NewStore makes an empty Store.
func NewStore() *Store {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return &Store{mostRows: maxRows, most: maxBytes, epoch: hex.EncodeToString(b[:]), last: map[string]*job{}, ring: ring{changed: make(chan struct{})}}
}

// NewNamedStore makes an empty Store that uses the names of jobs as ids, with - for blanks. A new
// job replaces one of the same name.
func NewNamedStore() *Store {
	s := NewStore()
	s.named = true
	return s
}

// Past notes that the events come from a file: a run without an end is truncated, and has no time
// left.
func (s *Store) Past() { s.past = true }

// SetResult sets whether this process can serve the result of the newest run with a name, and
// returns the run's id.
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

// Queue lists a waiting run with the reason. It may be called again.
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

// Record handles an event.
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
			of.sum(search, j.Steps[len(j.Steps)-1])
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

// running returns the newest run with a name. It begins a run if none is running.
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
		j.Matrix.grow(b.Partitions)
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

// describe updates the description of a running job.
func (s *Store) describe(b *trace.Job) {
	if j := s.last[b.Job]; j != nil && j.State == trace.Running {
		j.Job.Job, j.More = *b, false
		j.goesOn()
		s.ring.put("job", j.ID, j.Job)
	}
}

// add lists a new run.
func (s *Store) add(b *trace.Job, state string) *job {
	s.number++
	j := &job{details: map[int]*Detail{}}
	j.Job = Job{ID: strconv.Itoa(s.number), Job: *b, State: state}
	if s.named {
		j.ID = strings.ReplaceAll(b.Job, " ", "-")
		// Replace an earlier attempt, and its searches without a result. Its other searches are
		// kept.
		for i := len(s.jobs) - 1; i >= 0; i-- {
			old := s.jobs[i]
			name := old.Job.Job.Job
			if name == b.Job {
				j.Kernels, j.Submitted = old.Kernels, old.Submitted
				j.Lost = append(old.Lost,
					Attempt{old.Began, old.Supersteps, old.Error, old.Finished})
			}
			of, _, _ := strings.Cut(name, " ")
			switch {
			case name == b.Job || of == b.Job && old.Search == nil:
				s.remove(i)
			case of == b.Job:
				old.of = j
			}
		}
	}
	if j.of, _ = s.searched(b.Job); j.of != nil {
		j.Of = j.of.ID
		s.searches++
	}
	j.Matrix.grow(b.Partitions)
	s.jobs, s.last[b.Job] = append(s.jobs, j), j
	if len(s.jobs)-s.searches > maxJobs {
		s.forget((*job).endedJob)
	}
	if s.searches > maxSearches {
		s.forget((*job).endedSearch)
	}
	return j
}

// forget removes the oldest run that may accepts, with its searches. It reports whether there was
// one.
func (s *Store) forget(may func(*job) bool) bool {
	oldest := slices.IndexFunc(s.jobs, may)
	if oldest < 0 {
		return false
	}
	of := s.jobs[oldest]
	// searches of an earlier attempt are listed before their job
	for i := len(s.jobs) - 1; i >= 0; i-- {
		if j := s.jobs[i]; j == of || j.of == of {
			s.remove(i)
		}
	}
	return true
}

// remove discards a run.
func (s *Store) remove(i int) {
	j := s.jobs[i]
	if j.of != nil {
		s.searches--
	}
	s.jobs = slices.Delete(s.jobs, i, i+1)
	if s.last[j.Job.Job.Job] == j {
		delete(s.last, j.Job.Job.Job)
	}
	clear(j.details)
	s.ring.put("gone", j.ID, nil)
	s.bytes -= j.counted
}

// addDetail stores a superstep's details, and discards the oldest ones above the bound.
func (s *Store) addDetail(j *job, d *Detail) {
	j.details[d.Step.Superstep] = d
	s.details = append(s.details, detailed{j.details, d.Step.Superstep, d.rows(), weak.Make(d)})
	s.rows += d.rows()
	drop := 0
	for ; s.rows > s.mostRows; drop++ {
		old := s.details[drop]
		if old.of[old.superstep] == old.detail.Value() {
			delete(old.of, old.superstep)
		}
		s.rows -= old.rows
	}
	s.details = slices.Delete(s.details, 0, drop)
	s.ring.put("step", j.ID, d.Step)
}

// end ends a run.
func (s *Store) end(j *job, e *trace.End) {
	j.State, j.Ended, j.Error = e.State, e.Ended, e.Error
	j.Submitted = cmp.Or(e.Submitted, j.Submitted)
	if j.Finished = e.Finished; !s.past {
		j.Finished = cmp.Or(e.Finished, time.Now())
	}
	if e.Seconds > 0 {
		j.Seconds = e.Seconds
	}
	if len(e.Aggregators) > 0 {
		j.Aggregators = e.Aggregators.Texts()
	}
	// The supersteps of the job may not have been recorded.
	j.Supersteps, j.Messages = cmp.Or(j.Supersteps, e.Supersteps), cmp.Or(j.Messages, e.Messages)
	j.Sent, j.Bytes = cmp.Or(j.Sent, e.Sent), cmp.Or(j.Bytes, e.Bytes)
	j.GraphLeft, j.Forked, j.Report = e.GraphLeft, e.Forked, e.Report
	s.ring.put("job", j.ID, j.Job)
	s.measure(j)
	// Discard the oldest runs while all are too large.
	for s.bytes > s.most && (s.forget((*job).endedJob) || s.forget((*job).ended)) {
	}
}

// measure updates the memory use of an ended run.
func (s *Store) measure(j *job) {
	s.bytes -= j.counted
	j.counted = j.bytes()
	s.bytes += j.counted
}

// searched returns the job to which a search belongs: its name is the part of the search's name
// before a blank.
func (s *Store) searched(name string) (of *job, search string) {
	for i := strings.LastIndexByte(name, ' '); i > 0; i = strings.LastIndexByte(name[:i], ' ') {
		if j := s.last[name[:i]]; j != nil && j.Program == trace.Graph500 {
			return j, name[i+1:]
		}
	}
	return nil, ""
}

// search stores the result of a search, in the search and in its job.
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

// stage updates the progress of work outside the runs.
func (s *Store) stage(stage trace.Stage) {
	i := slices.IndexFunc(s.stages, func(o trace.Stage) bool { return o.Stage == stage.Stage && o.Job == stage.Job && o.Seconds == 0 })
	if stage.Seconds > 0 && !s.past {
		stage.Ended = time.Now()
	}
	if i >= 0 {
		s.stages[i] = stage
	} else {
		s.thin(stage)
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

// thin removes the oldest checkpoint of a job that has many, because checkpoints should not push
// out the stages of other jobs.
func (s *Store) thin(stage trace.Stage) {
	oldest, same := -1, 0
	for i, o := range s.stages {
		if o.Stage == stage.Stage && o.Job == stage.Job {
			if same++; same == 1 {
				oldest = i
			}
		}
	}
	if same >= maxCheckpoints && stage.Stage == trace.Checkpoint {
		s.stages = slices.Delete(s.stages, oldest, oldest+1)
	}
}

// note stores a line of the log.
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

// id returns the id of the newest run with a name, or "".
func (s *Store) id(name string) string {
	if j := s.last[name]; j != nil {
		return j.ID
	}
	return ""
}
