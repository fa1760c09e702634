package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/trace"
)

// vitals measures what a superstep did to the process.
type vitals struct {
	gc     debug.GCStats
	paused time.Duration // by the garbage collector, until it was last asked
	asked  time.Time
	memory int64
	at     time.Time // when memory was measured
}

// How old figures of the process may be: to ask for resident memory takes as long as a short superstep, and to ask
// for pauses a fifth of that.
const (
	memoryEvery = 500 * time.Millisecond
	pausesEvery = time.Millisecond
)

// begin forgets the pauses so far.
func (v *vitals) begin() {
	debug.ReadGCStats(&v.gc)
	v.paused, v.asked = v.gc.PauseTotal, time.Now()
}

// note puts the process's figures into the reports of its partitions. A pause of a superstep that ended when it was too
// early to ask is told with the next.
func (v *vitals) note(reports []*Report) {
	now, pause := time.Now(), 0.0
	if now.Sub(v.asked) >= pausesEvery {
		debug.ReadGCStats(&v.gc)
		pause = (v.gc.PauseTotal - v.paused).Seconds()
		v.paused, v.asked = v.gc.PauseTotal, now
	}
	if now.Sub(v.at) >= memoryEvery {
		v.memory, v.at = mem.RSS(), now
	}
	for _, p := range reports {
		p.Memory, p.GCPause = v.memory, pause
	}
}

// recorded runs a job between what begins and what ends it in a journal, where the sink of its records is one.
func (j *Job[V, M]) recorded(run func() error) error {
	if j.keeper == nil {
		return run()
	}
	began := time.Now()
	journal, _ := j.options.Trace.(trace.Journal)
	if journal != nil {
		if err := journal.Begin(j.beginning(began)); err != nil {
			return err
		}
	}
	start := time.Now()
	err := run()
	ended := time.Now()
	if err = errors.Join(err, j.keeper.end()); journal != nil {
		err = errors.Join(err, journal.End(j.ending(err, ended.Sub(start))))
	}
	j.telling = start.Sub(began) + time.Since(ended)
	return err
}

func (j *Job[V, M]) beginning(at time.Time) *trace.Job {
	g, threads := j.graph, 1
	if t := j.options.Team; t != nil {
		threads = t.Size()
	}
	return &trace.Job{
		Job: j.options.Job, Program: j.name, Graph: g.Name, Vertices: uint64(g.N), Arcs: g.Arcs, Partitions: len(g.Parts),
		Threads: threads, Delivery: j.options.Delivery.String(), Began: at,
	}
}

func (j *Job[V, M]) ending(err error, took time.Duration) *trace.End {
	e := &trace.End{Job: j.options.Job, Supersteps: len(j.times), Seconds: took.Seconds(), Outcome: trace.Converged}
	switch {
	case errors.Is(err, context.Canceled):
		e.Outcome = trace.Cancelled
	case err != nil:
		e.Outcome, e.Error = trace.Failed, err.Error()
	case !j.coordinator.outcome.Converged:
		e.Outcome = trace.Limit
	}
	return e
}
