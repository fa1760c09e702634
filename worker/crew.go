package worker

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/faults"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// In the first worker, a job represents the partitions of all workers to the driver. It runs its
// own partitions, and commands the other workers by messages on the data plane. Besides the
// columns, a superstep takes one message to each other worker and one back.
//
//	driver -> job.Superstep --Step--> job.follow -> partitions
//	   ^          |  own partitions                     |
//	   +--reports-+<----------SuperstepReport-----------+

// Tags of the messages of a run between the workers of a job.
const (
	tagStep = 1<<16 + iota // from the driver to another worker
	tagAnswer
	tagFacts // other collective steps, such as the exchange of facts before a run
	tagFill  // pieces of a column's initial values
	tagFilling
)

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
		step, err := stepOf(command, j.driver.Aggregates())
		if err != nil {
			return nil, err
		}
		if err := j.order(ctx, step); err != nil {
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
	for rank := 1; rank < j.link.Size(); rank++ {
		sent := &control.SuperstepReport{}
		if err := j.answer(ctx, rank, sent); err != nil {
			return nil, err
		}
		if int(sent.Superstep) != command.Superstep {
			return nil, fmt.Errorf("worker %s reports superstep %d", j.layout.Workers[rank].Name,
				sent.Superstep)
		}
		if err := j.take(rank, sent); err != nil {
			return nil, fmt.Errorf("worker %s: %w", j.layout.Workers[rank].Name, err)
		}
	}
	return j.reports, nil
}

// order sends a step to all other workers.
func (j *job) order(ctx context.Context, step *control.Step) (err error) {
	if j.out, err = (proto.MarshalOptions{}).MarshalAppend(j.out[:0], step); err != nil {
		return err
	}
	for rank := 1; rank < j.link.Size(); rank++ {
		if err := j.link.Send(ctx, rank, tagStep, j.out); err != nil {
			return err
		}
	}
	return nil
}

// answer receives a worker's answer to a step.
func (j *job) answer(ctx context.Context, rank int, to proto.Message) error {
	data, err := j.link.Receive(ctx, rank, tagAnswer)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(data, to); err != nil {
		return fmt.Errorf("the answer of worker %s: %w", j.layout.Workers[rank].Name, err)
	}
	collective.Release(j.link, data)
	return nil
}

// dismiss tells the other workers that the run has ended.
func (j *job) dismiss(ctx context.Context) error {
	took := j.driver.Last()
	j.observe(took)
	return j.order(ctx,
		&control.Step{Body: &control.Step_End_{End: &control.Step_End{Took: took}}})
}

// Failed returns nil: Superstep returns all errors.
func (j *job) Failed() error { return nil }

// label returns the input id of a vertex. It may be called between supersteps, while the other
// workers wait for steps.
func (j *job) label(id pregel.VertexID) (label uint64, ok bool) {
	if id == pregel.None || uint64(id) >= uint64(j.graph.N) {
		return 0, false
	}
	rank := j.layout.Owner[uint64(id)%uint64(len(j.graph.Parts))]
	found := j.locate(rank, &control.Locate{First: uint64(id), Count: 1})
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
	data, err := proto.Marshal(&control.Step{Body: &control.Step_Locate{Locate: l}})
	if err == nil {
		err = j.link.Send(j.attempt.ctx, rank, tagStep, data)
	}
	found := &control.Located{}
	if err == nil {
		err = j.answer(j.attempt.ctx, rank, found)
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

// nextStep receives the next step from the first worker.
func nextStep(ctx context.Context, link collective.Link) (*control.Step, error) {
	data, err := link.Receive(ctx, 0, tagStep)
	if err != nil {
		return nil, err
	}
	step := &control.Step{}
	if err := proto.Unmarshal(data, step); err != nil {
		return nil, fmt.Errorf("the next step: %w", err)
	}
	collective.Release(link, data)
	return step, nil
}

// follow executes the steps of the first worker until the run ends.
func (j *job) follow(ctx context.Context) error {
	link, next := j.link, 0
	var out []byte
	for {
		step, err := nextStep(ctx, link)
		if err != nil {
			return failedIn(next, err)
		}
		var answer proto.Message
		switch body := step.Body.(type) {
		case *control.Step_Superstep:
			var command *bsp.Command
			command, err = commandOf(body.Superstep, j.program.Aggregates(), j.totals)
			if err == nil {
				next = command.Superstep + 1
				answer, err = j.superstep(ctx, command)
			}
		case *control.Step_Locate:
			answer = j.graph.locate(body.Locate)
		case *control.Step_End_:
			j.observe(body.End.Took)
			return nil
		default:
			err = errors.New("found a step that this version does not know")
		}
		if err == nil {
			if out, err = (proto.MarshalOptions{}).MarshalAppend(out[:0], answer); err == nil {
				err = link.Send(ctx, 0, tagAnswer, out)
			}
		}
		if err != nil {
			return failedIn(max(next-1, 0), err)
		}
	}
}

// superstep runs a superstep of this worker's partitions for the first worker.
func (j *job) superstep(
	ctx context.Context, command *bsp.Command,
) (*control.SuperstepReport, error) {
	reports, err := j.own(ctx, command)
	if err != nil {
		return nil, err
	}
	return reportOf(command.Superstep, reports, j.program.Aggregates())
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
