package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/faults"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// crew is the partitions of all workers of a job as the driver of its runs has them, in the first of these workers. It runs its own
// partitions, and has the others run theirs by messages on the data plane: a superstep takes one message to each other worker and one
// back, besides the columns.
//
//	driver -> crew.Superstep --Step--> job.follow -> partitions
//	   ^          |  own partitions                      |
//	   +--reports-+<-----------SuperstepReport-----------+
type crew struct {
	*job
	driver  *bsp.Driver
	link    *mesh.Link
	layout  mesh.Layout
	kept    *kept           // as the job has it until the next phase takes it over
	reports []*bsp.Report   // by partition
	cells   [][]kernel.Cell // of partitions of other workers
	out     []byte

	// Of the run under way.
	ctx  context.Context
	task task
	tell func(*control.Report) error

	mu      sync.Mutex
	outcome bsp.Outcome
	news    *control.DriveReport // that the master has not heard
	size    int                  // of the news, in bytes
}

// The tags of a run's messages between the workers of a job.
const (
	tagStep   = 1 // of the driver to another
	tagAnswer = 2
)

// Superstep has every worker run a superstep.
func (c *crew) Superstep(ctx context.Context, command *bsp.Command) ([]*bsp.Report, error) {
	reports, err := c.superstep(ctx, command)
	if err != nil {
		return nil, failedIn(command.Superstep, err)
	}
	return reports, nil
}

func (c *crew) superstep(ctx context.Context, command *bsp.Command) ([]*bsp.Report, error) {
	if c.link.Size() > 1 {
		step, err := stepOf(command, c.driver.Aggregates())
		if err != nil {
			return nil, err
		}
		if err := c.order(ctx, step); err != nil {
			return nil, err
		}
	}
	clear(c.reports)
	own, err := c.run(ctx, c.task, command)
	if err != nil {
		return nil, err
	}
	for _, r := range own {
		r.Worker = c.layout.Workers[0].Name
		if len(r.Peers) == 0 && r.Account != nil { // as control.PartitionReport has it
			for _, x := range r.Account.Peers {
				r.Peers = append(r.Peers, record.Peer{Partition: x.Partition, Messages: int(x.Sent.Values), Bytes: int(x.Sent.Bytes)})
			}
		}
		c.reports[r.Partition.Partition] = r
	}
	for rank := 1; rank < c.link.Size(); rank++ {
		r := &control.SuperstepReport{}
		if err := c.answer(ctx, rank, r); err != nil {
			return nil, err
		}
		if int(r.Superstep) != command.Superstep {
			return nil, fmt.Errorf("worker %s reports superstep %d", c.layout.Workers[rank].Name, r.Superstep)
		}
		for _, p := range r.Partitions {
			if err := c.take(rank, p, command.Superstep); err != nil {
				return nil, fmt.Errorf("partition %d: %w", p.Partition, err)
			}
		}
	}
	return c.reports, nil
}

// order sends a step to all other workers.
func (c *crew) order(ctx context.Context, step *control.Step) (err error) {
	if c.out, err = (proto.MarshalOptions{}).MarshalAppend(c.out[:0], step); err != nil {
		return err
	}
	for rank := 1; rank < c.link.Size(); rank++ {
		if err := c.link.Send(ctx, rank, tagStep, c.out); err != nil {
			return err
		}
	}
	return nil
}

// answer receives what a worker answers.
func (c *crew) answer(ctx context.Context, rank int, to proto.Message) error {
	data, err := c.link.Receive(ctx, rank, tagAnswer)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(data, to); err != nil {
		return fmt.Errorf("what worker %s answers: %w", c.layout.Workers[rank].Name, err)
	}
	c.link.Release(data)
	return nil
}

// gather waits until all other workers follow, so that the first superstep takes no longer than it does.
func (c *crew) gather(ctx context.Context) error {
	if err := c.order(ctx, &control.Step{Body: &control.Step_Ready_{Ready: &control.Step_Ready{}}}); err != nil {
		return err
	}
	for rank := 1; rank < c.link.Size(); rank++ {
		if err := c.answer(ctx, rank, &control.Step_Ready{}); err != nil {
			return err
		}
	}
	return nil
}

// dismiss tells the other workers that the run has ended.
func (c *crew) dismiss(ctx context.Context) error {
	return c.order(ctx, &control.Step{Body: &control.Step_End_{End: &control.Step_End{}}})
}

// take takes in a partition's report as another worker has sent it.
func (c *crew) take(rank int, p *control.PartitionReport, superstep int) error {
	i := int(p.Partition)
	if i >= len(c.reports) || c.layout.Owner[i] != rank || c.reports[i] != nil {
		return fmt.Errorf("worker %s reported it twice, or does not have it", c.layout.Workers[rank].Name)
	}
	r := &bsp.Report{
		Partition: p.Trace(), Cells: c.cells[i], Created: int(p.Created),
		BackSenders: int(p.BackSenders), BackEdges: int(p.BackEdges), PullEdges: int(p.PullEdges), PushEdges: int(p.PushEdges),
	}
	r.Worker = c.layout.Workers[rank].Name
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
	c.reports[i] = r
	return c.driver.Aggregates().Decode(p.Aggregates, r.Cells)
}

// Failed has nothing to add: what fails is an error of Superstep.
func (c *crew) Failed() error { return nil }

// label returns the input id of a vertex; between two supersteps the other workers wait for steps.
func (c *crew) label(id pregel.VertexID) (label uint64, ok bool) {
	if id == pregel.None || uint64(id) >= uint64(c.graph.N) {
		return 0, false
	}
	rank := c.layout.Owner[uint64(id)%uint64(len(c.graph.Parts))]
	if rank == 0 {
		return c.graph.Label(id), true
	}
	found, err := c.locate(rank, &control.Locate{First: uint64(id), Count: 1})
	if err != nil || len(found.Labels) != 1 {
		return 0, false
	}
	return found.Labels[0], true
}

// name returns what the input calls a vertex by its input id, if it has a name for it; when label may be called.
func (c *crew) name(label uint64) (string, bool) {
	names := c.graph.directory.Names
	if label >= names.Len() {
		return "", false
	}
	rank := names.Owner(label)
	if rank == 0 {
		name, ok := names.Append(nil, label)
		return string(name), ok
	}
	found, err := c.locate(rank, &control.Locate{NamesOf: []uint64{label}})
	if err != nil || len(found.Names) != 1 {
		return "", false
	}
	return found.Names[0].Name, true
}

// locate asks another worker, which waits for steps.
func (c *crew) locate(rank int, l *control.Locate) (*control.Located, error) {
	data, err := proto.Marshal(&control.Step{Body: &control.Step_Locate{Locate: l}})
	if err == nil {
		err = c.link.Send(c.ctx, rank, tagStep, data)
	}
	found := &control.Located{}
	if err == nil {
		err = c.answer(c.ctx, rank, found)
	}
	return found, err
}

// mostNews is how many bytes of news go into a message to the master, about.
const mostNews = 1 << 20

// Record keeps the record of a superstep for the master.
func (c *crew) Record(s *record.Superstep) error {
	record := control.NewSuperstepRecord(s)
	size := proto.Size(record)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept != nil {
		_ = c.kept.meter.Record(s)
	}
	if c.size+size > mostNews {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.newsOf().Records = append(c.news.Records, record)
	c.size += size
	return nil
}

// newsOf returns what is told next. The lock is held.
func (c *crew) newsOf() *control.DriveReport {
	if c.news == nil {
		c.news = &control.DriveReport{}
	}
	return c.news
}

// Flush tells the master of what was recorded.
func (c *crew) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flush()
}

func (c *crew) flush() error {
	if c.news == nil {
		return nil
	}
	news := c.news
	c.news, c.size = nil, 0
	news.Outcome = resolve.Outcome(c.outcome)
	return c.tell(&control.Report{Body: &control.Report_Drive{Drive: news}})
}

// progress notes how far the run is, which the master hears of with the next records.
func (c *crew) progress(bsp.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcome = c.driver.Outcome()
}

// log tells the master a line of the program's Coordinate.
func (c *crew) log(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line = control.Text(line, maxLine)
	c.newsOf().Log = append(c.news.Log, line)
	if c.size += len(line); c.size > mostNews {
		_ = c.flush() // that the master is gone ends the command
	}
}

// late tells the master that a superstep takes too long: a Compute that does not return holds the command.
func (c *crew) late(err error) {
	if late := new(bsp.TimeoutError); errors.As(err, &late) {
		err = late
	}
	_ = c.tell(&control.Report{Failure: &control.Failure{Message: bounded(err.Error()), Run: true}})
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
	reports, err := j.run(ctx, t, command)
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

// run runs a superstep of the partitions here.
func (j *job) run(ctx context.Context, t task, c *bsp.Command) ([]*bsp.Report, error) {
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
