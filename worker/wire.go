package worker

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/transport/pack"
)

// stepOf returns a superstep's command for another worker.
func stepOf(c *bsp.Command, aggregates bsp.Aggregates) (*control.Step, error) {
	totals, err := aggregates.Encode(nil, c.Totals)
	if err != nil {
		return nil, err
	}
	return &control.Step{Body: &control.Step_Superstep{Superstep: &control.Superstep{
		Superstep: uint32(c.Superstep), Phase: uint32(c.Phase), Scheme: uint32(c.Scheme),
		Sends: c.Sends, Finished: c.Finished,
		SenderEdges: uint64(c.SenderEdges), Ways: uint32(c.Ways), Totals: totals, Change: c.Change,
		Summarize: c.Ended, Cut: c.Cut, Save: c.Save > 0, Flush: c.Flush, Took: c.Took,
	}}}, nil
}

// commandOf returns the engine's form of such a command, where so many supersteps of the run came
// before superstep 0; the totals are decoded into cells.
func commandOf(s *control.Superstep, first int, aggregates bsp.Aggregates, totals []kernel.Cell) (*bsp.Command, error) {
	if s.Scheme > uint32(delivery.RingPull) {
		return nil, fmt.Errorf("superstep %d: there is no scheme %d", s.Superstep, s.Scheme)
	}
	save := 0
	if s.Save {
		save = first + int(s.Superstep)
	}
	return &bsp.Command{
		Superstep: int(s.Superstep), Phase: int(s.Phase), Scheme: delivery.Scheme(s.Scheme),
		Sends: s.Sends, Finished: s.Finished,
		Change:      s.Change,
		Ended:       s.Summarize,
		Cut:         s.Cut,
		Save:        save,
		Flush:       s.Flush,
		Took:        s.Took,
		SenderEdges: int(s.SenderEdges), Ways: uint8(s.Ways), Totals: totals,
	}, aggregates.Decode(s.Totals, totals)
}

// reportOf returns what partitions report for the worker that drives, and resets their aggregators.
func reportOf(superstep uint32, reports []*bsp.Report, aggregates bsp.Aggregates) (*control.SuperstepReport, error) {
	sent := &control.SuperstepReport{Superstep: superstep}
	for _, r := range reports {
		cells, err := aggregates.Encode(nil, r.Cells)
		if err != nil {
			return nil, err
		}
		aggregates.Reset(r.Cells)
		sent.Aggregates = append(sent.Aggregates, cells)
	}
	var err error
	sent.Reports, err = pack.Value(&reports)
	return sent, err
}

// take takes in what the partitions of another worker have reported.
func (j *job) take(rank int, sent *control.SuperstepReport) error {
	var reports []*bsp.Report
	if err := pack.IntoValue(sent.Reports, &reports); err != nil {
		return fmt.Errorf("its reports: %w", err)
	}
	if len(reports) != len(sent.Aggregates) {
		return fmt.Errorf("it reports %d partitions, and the aggregators of %d", len(reports),
			len(sent.Aggregates))
	}
	for n, r := range reports {
		if r == nil {
			return errors.New("it reports nothing of a partition")
		}
		i := r.Partition.Partition
		if i < 0 || i >= len(j.reports) || j.layout.Owner[i] != rank || j.reports[i] != nil {
			return fmt.Errorf("it reported partition %d twice, or does not have it", i)
		}
		if r.Account == nil {
			return fmt.Errorf("it reports no account of partition %d", i)
		}
		r.Account.Partition, r.Account.Superstep = i, int(sent.Superstep)
		r.Worker, r.Cells, j.reports[i] = j.layout.Workers[rank].Name, j.cells[i], r
		if err := j.driver.Aggregates().Decode(sent.Aggregates[n], r.Cells); err != nil {
			return fmt.Errorf("partition %d: %w", i, err)
		}
	}
	return nil
}

// fits refuses a report that is too long for a message.
func fits(r *control.Report) error {
	const rest = 1 << 10 // what is around it, and not known yet
	if n := proto.Size(r); n > control.MaxMessage-rest {
		return fmt.Errorf("the worker's report has %d bytes, expected at most %d", n,
			control.MaxMessage-rest)
	}
	return nil
}
