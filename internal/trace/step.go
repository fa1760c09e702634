package trace

import "time"

// Phases are the names of a superstep's phases, in the order of Seconds.
var Phases = [...]string{"expand", "traverse", "fold", "compute", "wait"}

// ByPhase returns the seconds of each phase, in the order of Phases.
func (s *Seconds) ByPhase() [len(Phases)]float64 {
	return [...]float64{s.Expand, s.Traverse, s.Fold, s.Compute, s.Wait}
}

// Step is a superstep of all partitions together.
type Step struct {
	Job                      string
	Superstep                int
	Scheme, Delivery, Reason string
	Partitions               int
	Active, Senders          int
	Receivers, Edges         int
	Messages, Sent, Bytes    int
	Seconds                  float64 // the superstep took
	Phases                   [len(Phases)]Phase
	Busy                     float64 // seconds of work, summed over partitions
	Busiest                  float64 // the most that one of them had
	Predicted, Actual        float64 // seconds of the scheme that was chosen; 0 is not known
	Ended                    time.Time
}

// Phase is the time that partitions spent in a phase: all together, and the one that took longest.
type Phase struct {
	Sum, Longest float64
	Partition    int // which took longest
}

// Add takes a partition's record in.
func (s *Step) Add(r *Record) {
	if s.Partitions == 0 {
		*s = Step{
			Job: r.Job, Superstep: r.Superstep, Scheme: r.Scheme, Delivery: r.Delivery, Reason: r.Reason,
			Predicted: r.Predicted[r.Scheme], Actual: r.Actual, Ended: r.Ended,
		}
	}
	s.Active += r.Active
	s.Senders += r.Senders
	s.Receivers += r.Receivers
	s.Edges += r.Edges
	s.Messages += r.Messages
	s.Sent += r.Sent
	s.Bytes += r.Bytes()
	s.AddTimes(r.Partition, &r.Times)
}

// AddTimes takes the times of one more partition in; Add does it too.
func (s *Step) AddTimes(partition int, t *Seconds) {
	s.Partitions++
	s.Seconds = max(s.Seconds, t.Total)
	s.Busy += t.Busy()
	s.Busiest = max(s.Busiest, t.Busy())
	for i, seconds := range t.ByPhase() {
		p := &s.Phases[i]
		p.Sum += seconds
		if seconds > p.Longest {
			p.Longest, p.Partition = seconds, partition
		}
	}
}

// Skew is how much longer the busiest partition worked than the mean of all: 1 is even; 0 if there was no work.
func (s *Step) Skew() float64 {
	if s.Busy == 0 {
		return 0
	}
	return s.Busiest * float64(s.Partitions) / s.Busy
}

// Steps puts the records of partitions together to supersteps. It is a Sink; a Journal that has one tells it of Begin and
// End. Nothing is allocated.
type Steps struct {
	// To takes each superstep when its last record has come. It is only valid during the call.
	To         func(*Step)
	partitions int // of the run; 0 is not known
	step       Step
}

// Begin begins a run.
func (s *Steps) Begin(j *Job) {
	s.flush()
	s.partitions = j.Partitions
}

// Record takes a record in.
func (s *Steps) Record(r *Record) error {
	if s.step.Partitions > 0 && (s.step.Superstep != r.Superstep || s.step.Job != r.Job) {
		s.flush()
	}
	s.step.Add(r)
	if s.step.Partitions == s.partitions {
		s.flush()
	}
	return nil
}

// End ends a run.
func (s *Steps) End(*End) {
	s.flush()
	s.partitions = 0
}

func (s *Steps) flush() {
	if s.step.Partitions > 0 {
		s.To(&s.step)
		s.step.Partitions = 0
	}
}
