package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// NoJob is the error of an unknown or discarded run.
type NoJob struct{ ID string }

func (e *NoJob) Error() string { return fmt.Sprintf("there is no job %.80q", e.ID) }

// Jobs lists the runs, oldest first.
func (s *Store) Jobs() []Job {
	all, _ := s.List(new(Query))
	return all
}

// shown returns the job as shown in lists.
func (s *Store) shown(j *job) Job {
	d := j.Job.worded()
	if j.State == trace.Running && !s.past {
		d.Left = j.timeLeft.Seconds(j.MaxSupersteps, time.Now())
	}
	return d
}

// see calls f with a run.
func (s *Store) see(id string, f func(j *job)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.ID == id {
			f(j)
			return nil
		}
	}
	return &NoJob{id}
}

// Job returns a run.
func (s *Store) Job(id string) (d Job, err error) {
	err = s.see(id, func(j *job) { d = s.shown(j) })
	return d, err
}

// Steps returns at most most supersteps of a run, starting at from. The Steps must not be changed.
func (s *Store) Steps(id string, from, most int) (steps []*trace.Step, err error) {
	err = s.see(id, func(j *job) {
		i, _ := slices.BinarySearchFunc(j.Steps, from,
			func(step *trace.Step, n int) int { return step.Superstep - n })
		steps = slices.Clone(j.Steps[i:min(i+most, len(j.Steps))])
	})
	return steps, err
}

// Detail returns a superstep by partition, or nil if it was discarded. It must not be changed.
func (s *Store) Detail(id string, superstep int) (d *Detail, err error) {
	err = s.see(id, func(j *job) { d = j.details[superstep] })
	return d, err
}

// Whole has the totals of partitions over a whole run.
type Whole struct {
	Totals  []record.Partition `json:"totals"`
	Matrix  Matrix             `json:"matrix"`
	Encoded []record.Sum       `json:"encoded"`
}

// Whole returns the totals of partitions over a whole run.
func (s *Store) Whole(id string) (w Whole, err error) {
	err = s.see(id, func(j *job) {
		w = j.Whole
		w.Totals, w.Encoded = append([]record.Partition{}, w.Totals...),
			append([]record.Sum{}, w.Encoded...)
		w.Matrix.Bytes = append([]int{}, w.Matrix.Bytes...)
	})
	return w, err
}

// Report returns the output of a benchmark; "" before its end, and for other runs.
func (s *Store) Report(id string) (text string, err error) {
	err = s.see(id, func(j *job) { text = j.Report })
	return text, err
}

// Lanes returns the utilization of partitions over time, in at most columns columns.
func (s *Store) Lanes(id string, columns int) (l Lanes, err error) {
	err = s.see(id, func(j *job) { l = j.lanes(columns) })
	return l, err
}

// Stages returns the work outside the runs, oldest first.
func (s *Store) Stages() []trace.Stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]trace.Stage{}, s.stages...)
}

// Lines returns the log.
func (s *Store) Lines() []trace.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]trace.Log{}, s.log...)
}
