package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// The tags of what workers send each other when lost partitions are computed again: the manifest of the state from which the run goes on, and, to
// the worker that computes, supersteps and what was sent in each.
const (
	tagManifest = 3
	tagStepLog  = 4
	tagFrames   = 5
)

// recomputing is one worker's part in computing lost partitions again.
type recomputing struct {
	*job
	before *runLog // nil if the worker was not there
	link   *mesh.Link
	from   *checkpoint.Reader
	until  int
	lost   []int
	at     int // the worker that has the lost partitions now
}

// recompute returns the state before a superstep as a checkpoint in memory: of the lost partitions, if they are here, computed again from a checkpoint in the
// store, of the others as it was.
func (j *job) recompute(ctx context.Context, r *control.Recompute, from *checkpoint.Reader) (*checkpoint.Reader, error) {
	c := recomputing{job: j, before: j.before, link: j.session.Link(), from: from, until: int(r.Superstep)}
	j.before = nil
	owner := layoutOf(j.placements).Owner
	for _, p := range r.Lost {
		if int(p) >= len(owner) || len(c.lost) > 0 && owner[p] != c.at {
			return nil, fmt.Errorf("partition %d of %d is to be computed again, together with %v", p, len(owner), c.lost)
		}
		c.lost, c.at = append(c.lost, int(p)), owner[p]
	}
	here := c.link.Rank()
	if len(c.lost) == 0 || c.before == nil && here != c.at || c.until < from.Own() {
		return nil, fmt.Errorf("nothing is held of the attempt before, or nothing is to be computed again: partitions %v from superstep %d to %d", c.lost, from.Own(), c.until)
	}
	m, err := c.manifest(ctx)
	if err != nil {
		return nil, err
	}
	held := map[int]*checkpoint.Part{}
	if c.before != nil {
		for _, p := range c.before.borders.Before(c.until) {
			held[p.Partition] = p
		}
	}
	if here != c.at {
		return &checkpoint.Reader{Store: from.Store, Manifest: m, Held: held}, c.send(ctx)
	}
	again, err := c.run(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range again {
		held[p.Partition] = p
	}
	return &checkpoint.Reader{Store: from.Store, Manifest: m, Held: held}, nil
}

func (c *recomputing) isLost(partition int) bool { return slices.Contains(c.lost, partition) }

// manifest passes the manifest of the state on from the first worker.
func (c *recomputing) manifest(ctx context.Context) (*checkpoint.Manifest, error) {
	if c.link.Rank() > 0 {
		data, err := c.link.Receive(ctx, 0, tagManifest)
		if err != nil {
			return nil, err
		}
		m := &checkpoint.Manifest{}
		if err := json.Unmarshal(data, m); err != nil {
			return nil, fmt.Errorf("the manifest of the state before superstep %d: %w", c.until, err)
		}
		if n := len(c.graph.Parts); m.Superstep != c.until || len(m.Parts) != n {
			return nil, fmt.Errorf("found a manifest of %d parts before superstep %d, expected %d before %d", len(m.Parts), m.Superstep, n, c.until)
		}
		return m, nil
	}
	if c.before == nil {
		return nil, errors.New("the worker that drives did not drive before")
	}
	m, err := c.before.manifest(c.until, len(c.graph.Parts), c.from.Manifest)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(m)
	for rank := 1; rank < c.link.Size() && err == nil; rank++ {
		err = c.link.Send(ctx, rank, tagManifest, data)
	}
	return m, err
}

// send sends what this worker's partitions had sent the lost ones, and the first worker also how supersteps were commanded.
func (c *recomputing) send(ctx context.Context) error {
	for s := c.from.Own(); s < c.until; s++ {
		if c.link.Rank() == 0 {
			step, err := c.before.step(s)
			if err != nil {
				return err
			}
			data, err := proto.Marshal(step)
			if err != nil {
				return err
			}
			if err := c.link.Send(ctx, c.at, tagStepLog, data); err != nil {
				return err
			}
		}
		if err := c.link.Send(ctx, c.at, tagFrames, transport.AppendFrames(nil, c.before.frames.To(s, c.isLost))); err != nil {
			return err
		}
	}
	return nil
}

// run computes the lost partitions again, and returns their states.
func (c *recomputing) run(ctx context.Context) ([]*checkpoint.Part, error) {
	o, err := jobspec.Options(c.options)
	if err != nil {
		return nil, err
	}
	o.Team, o.Job = c.threads, c.of.Name()
	again, err := c.of.Bind(ctx, c.graph.WithPartitions(c.lost...), o)
	if err != nil {
		return nil, err
	}
	defer again.Close()
	borders := checkpoint.NewBorders(len(c.lost))
	aggregates := again.Aggregates()
	totals := aggregates.Cells()
	err = engine.Recompute(ctx, again, len(c.graph.Parts), c.from, c.until, func(s int) (*engine.Again, error) {
		step, frames, err := c.receive(ctx, s)
		if err != nil {
			return nil, err
		}
		command, err := commandOf(step.Superstep, 0, aggregates, totals)
		if err != nil {
			return nil, err
		}
		if command.Save = 0; command.Superstep != s {
			return nil, fmt.Errorf("superstep %d comes in the place of %d", command.Superstep, s)
		}
		return &engine.Again{Command: command, Sent: frames, Marks: marksOf(step)}, nil
	}, borders)
	return borders.Before(c.until), err
}

// receive returns how a superstep was commanded, and what the lost partitions were sent in it by all others.
func (c *recomputing) receive(ctx context.Context, s int) (step *control.LoggedStep, sent []*transport.Frame, err error) {
	if c.link.Rank() == 0 {
		step, err = c.before.step(s)
	} else {
		var data []byte
		if data, err = c.link.Receive(ctx, 0, tagStepLog); err == nil {
			step = &control.LoggedStep{}
			err = proto.Unmarshal(data, step)
		}
	}
	if err == nil && step.Superstep == nil {
		err = fmt.Errorf("superstep %d comes without its command", s)
	}
	if err != nil {
		return nil, nil, err
	}
	if c.before != nil {
		sent = c.before.frames.To(s, c.isLost)
	}
	from, errs := make([][]*transport.Frame, c.link.Size()), make([]error, c.link.Size())
	var group sync.WaitGroup
	for rank := range from {
		if rank == c.link.Rank() {
			continue
		}
		group.Go(func() {
			var data []byte
			if data, errs[rank] = c.link.Receive(ctx, rank, tagFrames); errs[rank] == nil {
				from[rank], errs[rank] = transport.DecodeFrames(data, s, len(c.graph.Parts))
			}
		})
	}
	group.Wait()
	return step, append(sent, slices.Concat(from...)...), errors.Join(errs...)
}

func marksOf(s *control.LoggedStep) map[int]bsp.Mark {
	all := map[int]bsp.Mark{}
	for _, m := range s.Marks {
		all[int(m.Partition)] = bsp.Mark{
			Computed: int(m.Computed), Senders: int(m.Senders), SenderEdges: int(m.SenderEdges), Sends: int(m.Sends), Active: int(m.Active), Unfinished: int(m.Unfinished),
		}
	}
	return all
}
