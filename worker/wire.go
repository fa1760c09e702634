package worker

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
)

// stepOf returns a superstep's command for another worker.
func stepOf(c *bsp.Command, aggregates bsp.Aggregates) (*control.Step, error) {
	totals, err := aggregates.Encode(nil, c.Totals)
	if err != nil {
		return nil, err
	}
	return &control.Step{Body: &control.Step_Superstep{Superstep: &control.Superstep{
		Superstep: uint32(c.Superstep), Phase: uint32(c.Phase), Scheme: uint32(c.Scheme), Sends: c.Sends, Finished: c.Finished,
		SenderEdges: uint64(c.SenderEdges), Ways: uint32(c.Ways), Totals: totals, Change: c.Change,
		Summarize: c.Ended, Cut: c.Cut, Save: c.Save > 0, Flush: c.Flush,
	}}}, nil
}

// commandOf returns the engine's form of such a command, where so many supersteps of the run came before superstep 0; the totals are decoded into cells.
func commandOf(s *control.Superstep, first int, aggregates bsp.Aggregates, totals []kernel.Cell) (*bsp.Command, error) {
	if s.Scheme > uint32(delivery.RingPull) {
		return nil, fmt.Errorf("superstep %d: there is no scheme %d", s.Superstep, s.Scheme)
	}
	save := 0
	if s.Save {
		save = first + int(s.Superstep)
	}
	return &bsp.Command{
		Superstep: int(s.Superstep), Phase: int(s.Phase), Scheme: delivery.Scheme(s.Scheme), Sends: s.Sends, Finished: s.Finished,
		Change:      s.Change,
		Ended:       s.Summarize,
		Cut:         s.Cut,
		Save:        save,
		Flush:       s.Flush,
		SenderEdges: int(s.SenderEdges), Ways: uint8(s.Ways), Totals: totals,
	}, aggregates.Decode(s.Totals, totals)
}

// partitionReportOf returns the report of a partition, one of so many, for the driver: its record, what it sent to each other
// and received, and its aggregates, which it resets.
func partitionReportOf(r *bsp.Report, partitions int, aggregates bsp.Aggregates) (_ *control.PartitionReport, err error) {
	p := control.NewPartitionReport(&r.Partition, partitions)
	if p.Aggregates, err = aggregates.Encode(nil, r.Cells); err != nil {
		return nil, err
	}
	aggregates.Reset(r.Cells)
	p.Created = uint64(r.Created)
	p.BackSenders, p.BackEdges = uint64(r.BackSenders), uint64(r.BackEdges)
	p.PullEdges, p.PushEdges = uint64(r.PullEdges), uint64(r.PushEdges)
	if r.Changed != nil {
		if p.Changed, err = json.Marshal(r.Changed); err != nil {
			return nil, err
		}
	}
	if r.Summary != nil {
		if p.Summary, err = json.Marshal(r.Summary); err != nil {
			return nil, err
		}
	}
	if len(r.Stored) > 0 {
		if p.Stored, err = checkpoint.EncodeStored(r.Stored); err != nil {
			return nil, err
		}
	}
	if r.Account == nil {
		return p, nil
	}
	for _, x := range r.Account.Peers {
		p.Peers = append(p.Peers, &control.Peer{
			Partition: uint32(x.Partition), Sent: x.Sent.Values, Received: x.Received.Values, Bytes: x.Sent.Bytes, ReceivedBytes: x.Received.Bytes,
			Frames: uint32(x.Sent.Frames), ReceivedFrames: uint32(x.Received.Frames),
		})
	}
	return p, nil
}

// fits refuses a report that is too long for a message.
func fits(r *control.Report) error {
	const rest = 1 << 10 // what is around it, and not known yet
	if n := proto.Size(r); n > control.MaxMessage-rest {
		return fmt.Errorf("the worker's report has %d bytes, expected at most %d", n, control.MaxMessage-rest)
	}
	return nil
}
