package master

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
)

// team is the partitions of a run as a driver has them: those that the workers have.
type team struct {
	*run
	driver  *bsp.Driver
	search  string          // what records say they are of
	reports []*bsp.Report   // by partition
	cells   [][]kernel.Cell // as well
}

// newTeam makes the team of a program that the workers have prepared, and what drives them; reported are the facts of each.
func (r *run) newTeam(ctx context.Context, program engine.Program, reported [][]byte) (*team, error) {
	o, err := jobspec.Options(r.spec.Options)
	if err != nil {
		return nil, err
	}
	n := len(r.job.placements)
	facts := make([]*bsp.Facts, len(reported))
	for i, data := range reported {
		facts[i] = new(bsp.Facts)
		if err := json.Unmarshal(data, facts[i]); err != nil {
			return nil, fmt.Errorf("facts: %w", err)
		}
		if f := facts[i]; f.Partitions != n || f.Load.Partitions != n {
			return nil, fmt.Errorf("a worker has a graph of %d partitions, the job one of %d", f.Partitions, n)
		}
	}
	t := &team{run: r, reports: make([]*bsp.Report, n)}
	o.Trace, o.Progress = t, func(bsp.Progress) { t.publish() }
	o.Log, o.Label = r.log, func(id pregel.VertexID) (uint64, bool) { return r.label(ctx, id) }
	if t.driver, err = program.Driver(o, facts); err != nil {
		return nil, err
	}
	for range n {
		t.cells = append(t.cells, t.driver.Aggregates().Cells())
	}
	return t, nil
}

// drive runs the program to its end; search is what records say they are of.
func (t *team) drive(ctx context.Context, search string) error {
	t.search = search
	_, err := t.driver.Run(ctx, t)
	t.publish()
	return err
}

// publish shows how far the run is.
func (t *team) publish() {
	o := t.driver.Outcome()
	t.set(func(a *control.Job) {
		a.Converged, a.Supersteps = o.Converged, uint32(o.Supersteps)
		a.Messages, a.MessagesSent, a.BytesSent = uint64(o.Messages), uint64(o.Sent), uint64(o.Bytes)
		if a.GraphLeft = control.NewGraphSize(o.Left); a.GraphLeft != nil {
			a.GraphLeft.Ids = o.IDs
		}
	})
}

// Record tells those who watch the job of a superstep.
func (t *team) Record(s *trace.Superstep) error {
	record := control.NewSuperstepRecord(s)
	record.Search = t.search
	t.server.append(t.id, &control.JobEvent{Body: &control.JobEvent_Record{Record: record}})
	return nil
}

// Superstep has every worker run a superstep.
func (t *team) Superstep(ctx context.Context, c *bsp.Command) ([]*bsp.Report, error) {
	totals, err := t.driver.Aggregates().Encode(nil, c.Totals)
	if err != nil {
		return nil, err
	}
	step := &control.Superstep{
		Superstep: uint32(c.Superstep), Phase: uint32(c.Phase), Scheme: uint32(c.Scheme), Sends: c.Sends, Finished: c.Finished,
		SenderEdges: uint64(c.SenderEdges), Ways: uint32(c.Ways), Totals: totals, Change: c.Change,
		Summarize: c.Summarize,
	}
	first := make([][]*control.Report, len(t.team)) // of workers whose partitions do not fit into one report
	fits := func(_ int, report *control.Report) bool {
		return report.GetSuperstep() != nil && report.GetSuperstep().Superstep == step.Superstep
	}
	answers, err := t.each(ctx, order{
		what:    fmt.Sprintf("superstep %d", c.Superstep),
		command: func() *control.Command { return &control.Command{Body: &control.Command_Superstep{Superstep: step}} },
		more: func(i int, report *control.Report) error {
			if !fits(i, report) || len(first[i]) == len(t.reports) {
				return errors.New("it reports another superstep, or too often")
			}
			first[i] = append(first[i], report)
			return nil
		}, fits: fits,
	})
	if err != nil {
		return nil, err
	}
	clear(t.reports)
	for _, a := range append(slices.Concat(first...), answers...) {
		for _, p := range a.GetSuperstep().Partitions {
			if int(p.Partition) >= len(t.reports) || t.reports[p.Partition] != nil {
				return nil, fmt.Errorf("superstep %d: partition %d reported twice, or does not exist", c.Superstep, p.Partition)
			}
			if t.reports[p.Partition], err = t.report(p, c.Superstep); err != nil {
				return nil, fmt.Errorf("partition %d: %w", p.Partition, err)
			}
		}
	}
	return t.reports, nil
}

// Failed has nothing to add: the program runs in the workers.
func (t *team) Failed() error { return nil }

// report is a partition's report as it was sent.
func (t *team) report(p *control.PartitionReport, superstep int) (*bsp.Report, error) {
	r := &bsp.Report{Partition: p.Trace(), Cells: t.cells[p.Partition]}
	r.Worker = t.job.placements[p.Partition].Worker
	r.Created = int(p.Created)
	if len(p.Changed) > 0 {
		if err := json.Unmarshal(p.Changed, &r.Changed); err != nil {
			return nil, fmt.Errorf("superstep %d: what it tells of the changed graph: %w", superstep, err)
		}
	}
	if len(p.Summary) > 0 {
		if err := json.Unmarshal(p.Summary, &r.Summary); err != nil {
			return nil, fmt.Errorf("what it tells of its values: %w", err)
		}
	}
	r.Account = &transport.Account{Partition: int(p.Partition), Superstep: superstep}
	for _, x := range p.Peers {
		r.Account.Peers = append(r.Account.Peers, transport.PeerAccount{
			Partition: int(x.Partition),
			Sent:      transport.Tally{Values: x.Sent, Bytes: x.Bytes}, Received: transport.Tally{Values: x.Received, Bytes: x.ReceivedBytes},
		})
	}
	return r, t.driver.Aggregates().Decode(p.Aggregates, r.Cells)
}

// maxFinal bounds what is kept of the values of a job's aggregators, in bytes, as a message with them has to hold, and as long as the
// job is remembered.
const maxFinal = 1 << 20

// end keeps what the aggregators of a run ended with: as JSON for those who watch the job, and as it travels for clients in Go.
func (t *team) end() {
	aggregates, totals, texts := t.driver.Aggregates(), t.driver.Totals(), t.driver.Final()
	size := 0
	var shown, all []*control.Aggregator
	for _, a := range aggregates.All {
		value, err := totals[a.Number].Encode(pack.Value)
		if size += len(value); err == nil && size > maxFinal {
			size -= len(value)
			err = fmt.Errorf("it has %d bytes, and there is room for %d of all aggregators", len(value), maxFinal)
		}
		if err != nil {
			value = nil
			t.log(fmt.Sprintf("aggregator %s does not travel to clients in Go: %v", a.Name, err))
		}
		name, text := strings.ToValidUTF8(a.Name, "?"), string(texts[a.Name]) // a message has no other text
		shown = append(shown, &control.Aggregator{Name: name, Json: text})
		all = append(all, &control.Aggregator{Name: name, Json: text, Value: value})
	}
	for _, name := range []string{trace.GroupsName, trace.TopName, trace.ReachedName} {
		if text, ok := texts[name]; ok && !slices.ContainsFunc(aggregates.All, func(a kernel.Aggregate) bool { return a.Name == name }) {
			shown = append(shown, &control.Aggregator{Name: name, Json: string(text)})
			all = append(all, &control.Aggregator{Name: name, Json: string(text)})
		}
	}
	t.set(func(a *control.Job) { a.Aggregators, t.aggregators = shown, all })
}

// log tells those who watch the job a line of the program's Coordinate, or of the master.
func (r *run) log(line string) {
	r.server.append(r.id, &control.JobEvent{Body: &control.JobEvent_Log{Log: &control.LogLine{
		Time: r.server.stamp(r.server.now()), Job: r.id, Worker: "master", Text: control.Text(line, maxLogLine),
	}}})
}

// maxLogLine is how long a line of a log may be, as one of a worker's.
const maxLogLine = 4 << 10

// label asks the workers for the input id of a vertex.
func (r *run) label(ctx context.Context, id pregel.VertexID) (label uint64, ok bool) {
	if id == pregel.None {
		return 0, false
	}
	answers, err := r.all(ctx, "locate", &control.Command{Body: &control.Command_Locate{Locate: &control.Locate{
		Graph: r.job.graph(), First: uint64(id), Count: 1,
	}}}, func(report *control.Report) bool { return report.GetLocated() != nil })
	if err != nil {
		return 0, false
	}
	for _, a := range answers {
		for _, label := range a.GetLocated().Labels {
			return label, true
		}
	}
	return 0, false
}
