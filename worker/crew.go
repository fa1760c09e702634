package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/faults"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// In the first worker, a job represents the partitions of all workers to the driver. It runs its
// own partitions, and commands the other workers by messages on the data plane. Besides the
// columns, a superstep takes a broadcast of the step and a gather of the reports. The model of the
// network chooses whether they go straight or by a tree, which enters each site once.
//
//	driver -> job.Superstep --step--> job.follow -> partitions
//	   ^          |  own partitions                     |
//	   +--reports-+<----------superstepReport-----------+

// step is a command of the first worker to all others, in msgpack: one of a superstep, a question
// to one of them about vertices, a phase, or the end of a run. The answer to a superstep is a
// superstepReport, and to a question a control.Located. The others have no answer.
type step struct {
	Superstep *bsp.Command
	Totals    []byte // of the aggregators, before Superstep
	Locate    *control.Locate
	Rank      int // of the worker that answers Locate
	Phase     *phase
	End       bool
	Took      float64 // with End: the seconds of the last superstep
}

// superstepReport has the reports of a worker's partitions, each with its aggregators.
type superstepReport struct {
	Superstep  int
	Reports    []*bsp.Report
	Aggregates [][]byte
}

// Tags of the messages of a run between the workers of a job.
const (
	tagStep = 1<<16 + iota // from the driver to the other workers
	tagReport
	tagAnswer // to Locate
	tagFacts  // other collective steps, such as the exchange of facts before a run
	tagFill   // pieces of a column's initial values
	tagFilling
	tagValues // the delivery of values
	tagLabels
)

// straight reports whether steps and reports go without a tree. Workers of one machine share its
// processors, so there a tree would only add to the work.
func (a *attempt) straight() bool { return a.group.Link().Size() < 3 || a.places.oneMachine() }

// orderCall and reportCall are the collectives of a superstep. By Bytes, which is about the size of
// a message, all workers choose the same algorithm.
func (a *attempt) orderCall() collective.Call {
	call := collective.Call{Tag: tagStep, Bytes: 256}
	if a.straight() {
		call.Algorithm = collective.Flat
	}
	return call
}

func (a *attempt) reportCall() collective.Call {
	call := a.orderCall()
	call.Tag, call.Bytes = tagReport, 1<<10
	return call
}

// Superstep runs a superstep on all workers.
func (j *job) Superstep(ctx context.Context, command *bsp.Command) ([]*bsp.Report, error) {
	reports, err := j.all(ctx, command)
	if err != nil {
		return nil, failedIn(command.Superstep, err)
	}
	return reports, nil
}

func (j *job) all(ctx context.Context, command *bsp.Command) ([]*bsp.Report, error) {
	if j.link.Size() > 1 {
		totals, err := j.driver.Aggregates().Encode(nil, command.Totals)
		if err == nil {
			err = j.attempt.order(ctx, &step{Superstep: command, Totals: totals})
		}
		if err != nil {
			return nil, err
		}
	}
	clear(j.reports)
	own, err := j.own(ctx, command)
	if err != nil {
		return nil, err
	}
	for _, r := range own {
		r.Worker = j.layout.Workers[0].Name
		j.reports[r.Partition.Partition] = r
	}
	if j.link.Size() == 1 {
		return j.reports, nil
	}
	answers, err := j.attempt.group.Gather(ctx, j.attempt.reportCall(), 0, nil)
	for rank := 1; rank < len(answers); rank++ {
		sent := &superstepReport{}
		if err := decode(j.link, rank, answers[rank], sent); err != nil {
			return nil, err
		}
		if sent.Superstep != command.Superstep {
			return nil, fmt.Errorf("worker %s reports superstep %d", j.layout.Workers[rank].Name,
				sent.Superstep)
		}
		if err := j.take(rank, sent); err != nil {
			return nil, fmt.Errorf("worker %s: %w", j.layout.Workers[rank].Name, err)
		}
	}
	return j.reports, ofLink(err)
}

// order sends a step to all other workers.
func (a *attempt) order(ctx context.Context, s *step) error {
	data, err := pack.Value(s)
	if err == nil {
		_, err = a.group.Broadcast(ctx, a.orderCall(), 0, data)
	}
	return ofLink(err)
}

// ofLink returns the broken connection of an error, which names the workers, not ranks and rounds.
func ofLink(err error) error {
	if b := (*mesh.BrokenError)(nil); errors.As(err, &b) {
		return b
	}
	return err
}

// ordered returns the next step of the first worker.
func (a *attempt) ordered(ctx context.Context) (*step, error) {
	s := &step{}
	data, err := a.group.Broadcast(ctx, a.orderCall(), 0, nil)
	if err == nil {
		err = decode(a.group.Link(), 0, data, s)
	}
	return s, ofLink(err)
}

// decode decodes a message of another worker, and releases it.
func decode(link collective.Link, rank int, data []byte, to any) error {
	defer collective.Release(link, data)
	if err := pack.IntoValue(data, to); err != nil {
		return fmt.Errorf("a message of the job's worker %d: %w", rank, err)
	}
	return nil
}

// Failed returns the error of a superstep in which the program called runtime.Goexit, or nil.
func (j *job) Failed() error {
	if err := j.program.Failed(); err != nil {
		return failedIn(int(j.attempt.task.superstep.Load())-1, err)
	}
	return nil
}

// label returns the input id of a vertex. It may be called between supersteps, while the other
// workers wait for steps.
func (j *job) label(id pregel.VertexID) (label uint64, ok bool) {
	if id == pregel.None || uint64(id) >= uint64(j.graph.N) {
		return 0, false
	}
	partition, _ := j.graph.Deal.Of(uint32(id))
	found := j.locate(j.layout.Owner[partition], &control.Locate{First: uint64(id), Count: 1})
	if len(found.GetLabels()) != 1 {
		return 0, false
	}
	return found.Labels[0], true
}

// name returns the name of the vertex with an input id, if the input has names. It may be called
// between supersteps.
func (j *job) name(label uint64) (string, bool) {
	names := j.graph.directory.Names
	if label >= names.Len() {
		return "", false
	}
	found := j.locate(names.Owner(label), &control.Locate{NamesOf: []uint64{label}})
	if len(found.GetNames()) != 1 {
		return "", false
	}
	return found.Names[0].Name, true
}

// locate looks up vertices on a worker, while the other workers wait for steps. It returns nil if
// that fails.
func (j *job) locate(rank int, l *control.Locate) *control.Located {
	if rank == 0 {
		return j.graph.locate(l)
	}
	ctx, found := j.attempt.ctx, &control.Located{}
	err := j.attempt.order(ctx, &step{Locate: l, Rank: rank})
	if err == nil {
		var data []byte
		if data, err = j.link.Receive(ctx, rank, tagAnswer); err == nil {
			err = decode(j.link, rank, data, found)
		}
	}
	if err != nil {
		return nil
	}
	return found
}

// Record adds the record of a superstep to the report for the master.
func (j *job) Record(e trace.Event) error {
	switch e := e.(type) {
	case *record.Superstep:
		if j.attempt.keep != nil {
			_ = j.attempt.meter.Record(e)
		}
		e.Job = j.attempt.search
		data, err := control.EncodeRecord(e)
		if err != nil {
			return err
		}
		j.attempt.record(data)
	case trace.Pause:
		j.attempt.Flush()
	}
	return nil
}

// follow executes the steps of the first worker until the run ends.
func (j *job) follow(ctx context.Context) error {
	for next := 0; ; {
		s, err := j.attempt.ordered(ctx)
		if err != nil {
			return failedIn(next, err)
		}
		switch {
		case s.Superstep != nil:
			next = s.Superstep.Superstep + 1
			err = j.answer(ctx, s)
		case s.Locate != nil:
			var out []byte
			if s.Rank != j.link.Rank() {
				continue
			}
			if out, err = pack.Value(j.graph.locate(s.Locate)); err == nil {
				err = j.link.Send(ctx, 0, tagAnswer, out)
			}
		case s.End:
			j.observe(s.Took)
			return nil
		default:
			err = errors.New("found neither a superstep nor the end of the run")
		}
		if err != nil {
			return failedIn(max(next-1, 0), err)
		}
	}
}

// answer runs a superstep and sends the report.
func (j *job) answer(ctx context.Context, s *step) error {
	report, err := j.superstep(ctx, s)
	if err != nil {
		return err
	}
	out, err := pack.Value(report)
	if err == nil {
		_, err = j.attempt.group.Gather(ctx, j.attempt.reportCall(), 0, out)
	}
	return ofLink(err)
}

// superstep runs a superstep of this worker's partitions for the first worker.
func (j *job) superstep(ctx context.Context, s *step) (*superstepReport, error) {
	c, aggregates := s.Superstep, j.program.Aggregates()
	if c.Superstep < 0 || c.Scheme > delivery.RingPull || c.Hubs>>26 != 0 ||
		c.Scheme == delivery.Lalp && c.Hubs == 0 {
		return nil, fmt.Errorf("found superstep %d with scheme %d, expected others", c.Superstep,
			c.Scheme)
	}
	c.Totals = j.totals
	if err := aggregates.Decode(s.Totals, c.Totals); err != nil {
		return nil, err
	}
	reports, err := j.own(ctx, c)
	if err != nil {
		return nil, err
	}
	return reportOf(c.Superstep, reports, aggregates)
}

// own runs a superstep of this worker's partitions.
func (j *job) own(ctx context.Context, c *bsp.Command) ([]*bsp.Report, error) {
	j.observe(c.Took)
	j.attempt.task.superstep.Store(int64(c.Superstep) + 1)
	worker := j.attempt.options.Name
	if err := faults.At(faults.Computing, worker); err != nil {
		return nil, err
	}
	reports, err := j.program.Superstep(ctx, c)
	if err != nil {
		return nil, err
	}
	j.past++
	if !c.Ended {
		j.reported = reports
	}
	for _, r := range reports {
		if r.Account != nil && len(r.Peers) == 0 { // without a trace the record lacks them
			for _, x := range r.Account.Peers {
				r.Peers = append(r.Peers, record.Peer{
					Partition: x.Partition, Messages: int(x.Sent.Values), Bytes: int(x.Sent.Bytes),
				})
			}
		}
		if len(j.graph.Parts) > control.MaxPaired {
			control.SumPeers(&r.Partition)
		}
	}
	return reports, faults.At(faults.ReachedTheBarrier, worker)
}

// observe passes the reports of the last superstep to the observer, once its duration on all
// workers is known.
func (j *job) observe(took float64) {
	if j.reported != nil {
		j.attempt.task.observe(took, j.reported)
		j.reported = nil
	}
}
