package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// NoJob is the error of a run that is not kept.
type NoJob struct{ ID string }

func (e *NoJob) Error() string { return fmt.Sprintf("there is no job %.80q", e.ID) }

// Jobs lists the runs, oldest first.
func (s *Store) Jobs() []Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Job, 0, len(s.jobs))
	for _, j := range s.jobs {
		all = append(all, s.shown(j))
	}
	return all
}

// shown returns the job as lists show it.
func (s *Store) shown(j *job) Job {
	d := j.Job.worded()
	if j.State == trace.Running && !s.past {
		d.Left = j.timeLeft.Seconds(j.MaxSupersteps, time.Now())
	}
	return d
}

// see calls f for a run.
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

// Steps returns the supersteps of a run from one on, at most so many. The Steps must not be
// changed.
func (s *Store) Steps(id string, from, most int) (steps []*trace.Step, err error) {
	err = s.see(id, func(j *job) {
		i, _ := slices.BinarySearchFunc(j.Steps, from, func(step *trace.Step, n int) int { return step.Superstep - n })
		steps = slices.Clone(j.Steps[i:min(i+most, len(j.Steps))])
	})
	return steps, err
}

// Detail returns a superstep partition by partition, nil if it is not kept. It must not be changed.
func (s *Store) Detail(id string, superstep int) (d *Detail, err error) {
	err = s.see(id, func(j *job) { d = j.details[superstep] })
	return d, err
}

// Whole is what the partitions did in a whole run.
type Whole struct {
	Totals  []record.Partition `json:"totals"`
	Matrix  Matrix             `json:"matrix"`
	Encoded []record.Sum       `json:"encoded"`
}

// Whole returns what the partitions did in a whole run.
func (s *Store) Whole(id string) (w Whole, err error) {
	err = s.see(id, func(j *job) {
		w = j.Whole
		w.Totals, w.Encoded = append([]record.Partition{}, w.Totals...), append([]record.Sum{}, w.Encoded...)
		w.Matrix.Bytes = append([]int{}, w.Matrix.Bytes...)
	})
	return w, err
}

// Report returns what a benchmark prints at its end; it is empty until then, and of other runs.
func (s *Store) Report(id string) (text string, err error) {
	err = s.see(id, func(j *job) { text = j.Report })
	return text, err
}

// Lanes returns how busy partitions were over time, in at most so many columns.
func (s *Store) Lanes(id string, columns int) (l Lanes, err error) {
	err = s.see(id, func(j *job) { l = j.lanes(columns) })
	return l, err
}

// Stages returns the work around the runs, oldest first, and Lines the log.
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
