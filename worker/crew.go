package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/faults"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// In the first of its workers a job is, to the driver of its runs, the partitions of all of them. It runs its own partitions, and has
// the others run theirs by messages on the data plane: a superstep takes one message to each other worker and one back, besides the
// columns.
//
//	driver -> job.Superstep --Step--> job.follow -> partitions
//	   ^          |  own partitions                     |
//	   +--reports-+<----------SuperstepReport-----------+

// The tags of a run's messages between the workers of a job.
const (
	tagStep   = 1 // of the driver to another
	tagAnswer = 2
)

// Superstep has every worker run a superstep.
func (j *job) Superstep(ctx context.Context, command *bsp.Command) ([]*bsp.Report, error) {
	reports, err := j.all(ctx, command)
	if err != nil {
		return nil, failedIn(command.Superstep, err)
	}
	return reports, nil
}

func (j *job) all(ctx context.Context, command *bsp.Command) ([]*bsp.Report, error) {
	if j.session.Link().Size() > 1 {
		step, err := stepOf(command, j.driver.Aggregates())
		if err != nil {
			return nil, err
		}
		if err := j.order(ctx, step); err != nil {
			return nil, err
		}
	}
	clear(j.reports)
	own, err := j.own(ctx, j.run.task, command)
	if err != nil {
		return nil, err
	}
	for _, r := range own {
		r.Worker = j.layout.Workers[0].Name
		if len(r.Peers) == 0 && r.Account != nil { // as control.PartitionReport has it
			for _, x := range r.Account.Peers {
				r.Peers = append(r.Peers, record.Peer{Partition: x.Partition, Messages: int(x.Sent.Values), Bytes: int(x.Sent.Bytes)})
			}
		}
		j.reports[r.Partition.Partition] = r
	}
	for rank := 1; rank < j.session.Link().Size(); rank++ {
		r := &control.SuperstepReport{}
		if err := j.answer(ctx, rank, r); err != nil {
			return nil, err
		}
		if int(r.Superstep) != command.Superstep {
			return nil, fmt.Errorf("worker %s reports superstep %d", j.layout.Workers[rank].Name, r.Superstep)
		}
		for _, p := range r.Partitions {
			if err := j.take(rank, p, command.Superstep); err != nil {
				return nil, fmt.Errorf("partition %d: %w", p.Partition, err)
			}
		}
	}
	return j.reports, nil
}

// order sends a step to all other workers.
func (j *job) order(ctx context.Context, step *control.Step) (err error) {
	if j.out, err = (proto.MarshalOptions{}).MarshalAppend(j.out[:0], step); err != nil {
		return err
	}
	for rank := 1; rank < j.session.Link().Size(); rank++ {
		if err := j.session.Link().Send(ctx, rank, tagStep, j.out); err != nil {
			return err
		}
	}
	return nil
}

// answer receives what a worker answers.
func (j *job) answer(ctx context.Context, rank int, to proto.Message) error {
	data, err := j.session.Link().Receive(ctx, rank, tagAnswer)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(data, to); err != nil {
		return fmt.Errorf("what worker %s answers: %w", j.layout.Workers[rank].Name, err)
	}
	j.session.Link().Release(data)
	return nil
}

// gather waits until all other workers follow, so that the first superstep takes no longer than it does.
func (j *job) gather(ctx context.Context) error {
	if err := j.order(ctx, &control.Step{Body: &control.Step_Ready_{Ready: &control.Step_Ready{}}}); err != nil {
		return err
	}
	for rank := 1; rank < j.session.Link().Size(); rank++ {
		if err := j.answer(ctx, rank, &control.Step_Ready{}); err != nil {
			return err
		}
	}
	return nil
}

// dismiss tells the other workers that the run has ended.
func (j *job) dismiss(ctx context.Context) error {
	return j.order(ctx, &control.Step{Body: &control.Step_End_{End: &control.Step_End{}}})
}

// take takes in a partition's report as another worker has sent it.
func (j *job) take(rank int, p *control.PartitionReport, superstep int) error {
	i := int(p.Partition)
	if i >= len(j.reports) || j.layout.Owner[i] != rank || j.reports[i] != nil {
		return fmt.Errorf("worker %s reported it twice, or does not have it", j.layout.Workers[rank].Name)
	}
	r := &bsp.Report{
		Partition: p.Trace(), Cells: j.cells[i], Created: int(p.Created),
		BackSenders: int(p.BackSenders), BackEdges: int(p.BackEdges), PullEdges: int(p.PullEdges), PushEdges: int(p.PushEdges),
	}
	r.Worker = j.layout.Workers[rank].Name
	if len(p.Changed) > 0 {
		if err := json.Unmarshal(p.Changed, &r.Changed); err != nil {
			return fmt.Errorf("what it tells of the changed graph: %w", err)
		}
	}
	if len(p.Summary) > 0 {
		if err := json.Unmarshal(p.Summary, &r.Summary); err != nil {
			return fmt.Errorf("what it tells of its values: %w", err)
		}
	}
	if len(p.Stored) > 0 {
		var err error
		if r.Stored, err = checkpoint.DecodeStored(p.Stored); err != nil {
			return fmt.Errorf("what it tells of checkpoints: %w", err)
		}
	}
	r.Account = &transport.Account{Partition: i, Superstep: superstep}
	for _, x := range p.Peers {
		r.Account.Peers = append(r.Account.Peers, transport.PeerAccount{
			Partition: int(x.Partition),
			Sent:      transport.Tally{Frames: uint64(x.Frames), Values: x.Sent, Bytes: x.Bytes},
			Received:  transport.Tally{Frames: uint64(x.ReceivedFrames), Values: x.Received, Bytes: x.ReceivedBytes},
		})
	}
	j.reports[i] = r
	return j.driver.Aggregates().Decode(p.Aggregates, r.Cells)
}

// Failed has nothing to add: what fails is an error of Superstep.
func (j *job) Failed() error { return nil }

// label returns the input id of a vertex; between two supersteps the other workers wait for steps.
func (j *job) label(id pregel.VertexID) (label uint64, ok bool) {
	if id == pregel.None || uint64(id) >= uint64(j.graph.N) {
		return 0, false
	}
	rank := j.layout.Owner[uint64(id)%uint64(len(j.graph.Parts))]
	if rank == 0 {
		return j.graph.Label(id), true
	}
	found, err := j.locate(rank, &control.Locate{First: uint64(id), Count: 1})
	if err != nil || len(found.Labels) != 1 {
		return 0, false
	}
	return found.Labels[0], true
}

// name returns what the input calls a vertex by its input id, if it has a name for it; when label may be called.
func (j *job) name(label uint64) (string, bool) {
	names := j.graph.directory.Names
	if label >= names.Len() {
		return "", false
	}
	rank := names.Owner(label)
	if rank == 0 {
		name, ok := names.Append(nil, label)
		return string(name), ok
	}
	found, err := j.locate(rank, &control.Locate{NamesOf: []uint64{label}})
	if err != nil || len(found.Names) != 1 {
		return "", false
	}
	return found.Names[0].Name, true
}

// locate asks another worker, which waits for steps.
func (j *job) locate(rank int, l *control.Locate) (*control.Located, error) {
	data, err := proto.Marshal(&control.Step{Body: &control.Step_Locate{Locate: l}})
	if err == nil {
		err = j.session.Link().Send(j.run.ctx, rank, tagStep, data)
	}
	found := &control.Located{}
	if err == nil {
		err = j.answer(j.run.ctx, rank, found)
	}
	return found, err
}

// Record keeps the record of a superstep for the master.
func (j *job) Record(s *record.Superstep) error {
	if j.attempt.keep != nil {
		_ = j.attempt.meter.Record(s)
	}
	j.run.record(control.NewSuperstepRecord(s))
	return nil
}

// Flush tells the master of what was recorded.
func (j *job) Flush() error {
	j.run.Flush()
	return nil
}

// follow runs the supersteps that the first worker of the job commands.
func (j *job) follow(ctx context.Context, t task) error {
	link, next := j.session.Link(), 0
	var out []byte
	for {
		data, err := link.Receive(ctx, 0, tagStep)
		if err != nil {
			return failedIn(next, err)
		}
		step := &control.Step{}
		if err := proto.Unmarshal(data, step); err != nil {
			return failedIn(next, fmt.Errorf("what is to be done next: %w", err))
		}
		link.Release(data)
		var answer proto.Message
		switch body := step.Body.(type) {
		case *control.Step_Superstep:
			next = int(body.Superstep.Superstep)
			answer, err = j.superstep(ctx, t, body.Superstep)
			next++
		case *control.Step_Locate:
			answer = j.graph.locate(body.Locate)
		case *control.Step_Ready_:
			answer = body.Ready
		case *control.Step_End_:
			return nil
		default:
			err = errors.New("the driver of the run wants something that this version does not know")
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

// superstep runs a superstep of the partitions here as another worker commands it.
func (j *job) superstep(ctx context.Context, t task, s *control.Superstep) (*control.SuperstepReport, error) {
	aggregates := j.program.Aggregates()
	command, err := commandOf(s, j.first, aggregates, j.totals)
	if err != nil {
		return nil, err
	}
	reports, err := j.own(ctx, t, command)
	if err != nil {
		return nil, err
	}
	r := &control.SuperstepReport{Superstep: s.Superstep}
	for _, p := range reports {
		report, err := partitionReportOf(p, len(j.graph.Parts), aggregates)
		if err != nil {
			return nil, err
		}
		r.Partitions = append(r.Partitions, report)
	}
	return r, nil
}

// own runs a superstep of the partitions here.
func (j *job) own(ctx context.Context, t task, c *bsp.Command) ([]*bsp.Report, error) {
	t.superstep.Store(int64(c.Superstep) + 1)
	since := time.Now()
	if c.Superstep > 0 && !j.reported.IsZero() {
		since = j.reported // until now the worker has waited for the slowest, and for the driver
	}
	if err := faults.At(faults.Computing, j.worker); err != nil {
		return nil, err
	}
	reports, err := j.program.Superstep(ctx, c)
	if err == nil {
		j.past++
		j.reported = time.Now()
		t.observe(j.reported.Sub(since), reports)
		err = faults.At(faults.ReachedTheBarrier, j.worker)
	}
	return reports, err
}
