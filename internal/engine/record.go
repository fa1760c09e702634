package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/trace"
)

// trace writes a record for every partition.
func (c *coordinator) trace(reports []*Report, seconds float64, to trace.Sink, job string) error {
	if to == nil {
		return nil
	}
	r := &c.record
	predicted := r.Predicted
	clear(predicted)
	*r = trace.Record{
		Job: job, Superstep: c.command.Superstep, Scheme: c.command.Scheme.String(), Delivery: c.command.Scheme.Direction(),
		Reason: c.policy.Reason(&c.load),
	}
	if c.policy.Chosen != delivery.None {
		if predicted == nil {
			predicted = map[string]float64{}
		}
		c.policy.Predicted.Into(predicted)
		r.Predicted, r.Actual = predicted, c.delivery(reports, seconds)
	}
	for _, p := range reports {
		t := &p.Times
		r.Partition, r.Worker, r.Memory, r.GCPause = p.Partition, p.Worker, p.Memory, p.GCPause
		r.Active, r.Senders, r.Receivers, r.Edges = p.Computed, p.Delivered, p.Receivers, p.Walked
		r.Messages, r.Sent, r.Peers = p.SenderEdges+p.Sends, p.Sent, p.Peers
		r.Times = trace.Seconds{
			Expand: t.Expand, Traverse: t.Traverse, Fold: t.Fold, Compute: t.Compute,
			Wait: t.Wait + max(0, seconds-t.Total), Total: seconds,
		}
		if err := to.Record(r); err != nil {
			return err
		}
	}
	r.Predicted = predicted
	return nil
}

// vitals measures what a superstep did to the process.
type vitals struct {
	gc     debug.GCStats
	paused time.Duration // by the garbage collector, until the last superstep's end
	memory int64
	at     time.Time // when memory was measured
}

// memoryEvery is how old a figure of resident memory may be: to ask the system for it takes as long as a short superstep.
const memoryEvery = 500 * time.Millisecond

// begin forgets the pauses so far.
func (v *vitals) begin() {
	debug.ReadGCStats(&v.gc)
	v.paused = v.gc.PauseTotal
}

// note puts the process's figures into the reports of its partitions.
func (v *vitals) note(reports []*Report) {
	debug.ReadGCStats(&v.gc)
	pause := (v.gc.PauseTotal - v.paused).Seconds()
	v.paused = v.gc.PauseTotal
	if now := time.Now(); now.Sub(v.at) >= memoryEvery {
		v.memory, v.at = mem.RSS(), now
	}
	for _, p := range reports {
		p.Memory, p.GCPause = v.memory, pause
	}
}

// recorded runs a job between what begins and what ends it in a journal, where the sink of its records is one.
func (j *Job[V, M]) recorded(run func() error) error {
	journal, ok := j.options.Trace.(trace.Journal)
	if !ok {
		return run()
	}
	g, threads := j.graph, 1
	if t := j.options.Team; t != nil {
		threads = t.Size()
	}
	start := time.Now()
	if err := journal.Begin(&trace.Job{
		Job: j.options.Job, Program: j.name, Graph: g.Name, Vertices: uint64(g.N), Arcs: g.Arcs, Partitions: len(g.Parts),
		Threads: threads, Delivery: j.options.Delivery.String(), Began: start,
	}); err != nil {
		return err
	}
	err := run()
	e := &trace.End{Job: j.options.Job, Supersteps: len(j.times), Seconds: time.Since(start).Seconds(), Outcome: trace.Converged}
	switch {
	case errors.Is(err, context.Canceled):
		e.Outcome = trace.Cancelled
	case err != nil:
		e.Outcome, e.Error = trace.Failed, err.Error()
	case !j.coordinator.outcome.Converged:
		e.Outcome = trace.Limit
	}
	return errors.Join(err, journal.End(e))
}
