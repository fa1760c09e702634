package bsp

import (
	"fmt"
	"math"
	"time"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// coordinator takes the partitions' reports and decides on the next command. It does no I/O and
// starts no goroutines.
type coordinator struct {
	program    coordinating // or nil
	aggregates Aggregates
	totals     []kernel.Cell
	policy     delivery.Policy
	limit      int
	first      int // number of supersteps of the run before superstep 0
	size

	command Command
	view    *pregel.Coordinator
	sum     Report // over all partitions
	bounded bool   // some partition knows the number of edges that a pull looks at
	// requests is the number of changes of the graph that the last superstep requested. loaded is
	// the graph's size before the first change.
	requests int
	loaded   *loaded
	mutates  bool // the program changes the graph
	// The load of all messages and, in a program of direction Either, the loads of messages in one
	// direction only. load is the one of the last decision.
	loads   []delivery.Load
	load    *delivery.Load
	list    bool // the program gets all messages as a list: their time in a pull is measured
	sized   bool // messages have different sizes: loads use the mean of those sent
	outcome Outcome
	asleep  trace.Ended // Ended, if all vertices sleep and no message is left
}

// coordinating is a program with a method Coordinate.
type coordinating interface{ Coordinate(c *pregel.Coordinator) }

// forget resets the state of the previous run.
func (c *coordinator) forget() {
	c.command = Command{Totals: c.totals}
	c.outcome, c.requests = Outcome{}, 0
	if was := c.loaded; was != nil {
		c.setSize(was.size)
		copy(c.loads, was.loads)
	}
	if c.mutates {
		c.outcome.Left, c.outcome.IDs = &record.GraphSize{Vertices: c.vertices, Arcs: c.edges},
			c.ids
	}
	c.policy.Begin()
	*kernel.Pregel.End(c.view), c.view.Phase = kernel.End{}, 0
	c.aggregates.Reset(c.totals)
}

// begin decides on superstep 0.
func (c *coordinator) begin() (*Command, *Outcome) {
	c.forget()
	c.sum = Report{Counts: Counts{Active: int(c.vertices)}}
	if c.vertices == 0 {
		c.outcome.Ended = c.asleep
	} else if c.limit > 0 && c.first >= c.limit {
		c.outcome.Ended = trace.Limit
	} else {
		c.callCoordinate()
	}
	return &c.command, &c.outcome
}

// resume decides on the superstep after a checkpoint, as next did before the checkpoint was saved.
func (c *coordinator) resume(m *checkpoint.Manifest, at *Standing) (*Command, *Outcome, error) {
	c.forget()
	if err := c.aggregates.Decode(m.State.Aggregates, c.totals); err != nil {
		return nil, nil, err
	}
	c.sum = Report{Counts: at.Counts}
	c.requests, c.view.NumVertices = at.Requests, at.Vertices
	own := m.Own()
	c.outcome.Supersteps, c.outcome.Messages, c.outcome.Sent, c.outcome.Bytes = own,
		m.State.Messages, m.State.Sent, m.State.Bytes
	c.outcome.Forked = at.forked
	c.command.Superstep = own - 1
	if c.limit > 0 && c.first+own >= c.limit {
		c.outcome.Ended = trace.Limit
		return &c.command, &c.outcome, nil
	}
	c.advance()
	c.view.Phase, c.command.Phase = m.State.Phase, m.State.Phase
	return &c.command, &c.outcome, nil
}

// advance commands the superstep that delivers the messages of the last one.
func (c *coordinator) advance() {
	c.command.Superstep++
	c.command.SenderEdges = c.sum.SenderEdges
	c.command.Sends, c.command.Finished = c.sum.Sends > 0, c.sum.Unfinished < int(c.ids)
	c.command.Change = c.requests > 0
	c.command.Scheme = c.choose()
	c.command.Hubs = c.policy.Hubs
}

// next takes the reports of a superstep and decides on the next one.
func (c *coordinator) next(reports []*Report, seconds float64) (*Command, *Outcome) {
	c.add(reports)
	o := &c.outcome
	if !c.command.Flush { // with Flush the seconds include the disk's
		c.policy.Learn(c.delivery(reports, seconds))
	}
	if s := c.policy.Chosen; s == delivery.Mirrored || s == delivery.Lalp {
		c.transposed()
	}
	if c.sum.Computed == 0 {
		// No message reached an unfinished vertex, or there is no source: a superstep without
		// running vertices does not count.
		o.Ended = c.asleep
		return &c.command, o
	}
	o.Supersteps = c.command.Superstep + 1
	o.Messages += c.sum.SenderEdges + c.sum.Sends
	c.aggregate(reports)
	waiting := c.sum.SenderEdges+c.sum.Sends > 0 && c.sum.Unfinished > 0 || c.requests > 0
	if !waiting && c.sum.Active == 0 {
		o.Ended = c.asleep
		return &c.command, o
	}
	if c.limit > 0 && c.first+o.Supersteps >= c.limit {
		o.Ended = trace.Limit
		return &c.command, o
	}
	c.advance()
	c.callCoordinate()
	return &c.command, o
}

// delivery returns the seconds that delivery took in a superstep: all except the program's part. A
// flat pull interleaves both, so the program's part is estimated, unless it is measured as in list
// programs.
func (c *coordinator) delivery(reports []*Report, seconds float64) float64 {
	threads := float64(max(c.load.Threads, 1))
	aside := 0.0
	for _, p := range reports {
		aside = max(aside, p.Aside)
	}
	seconds -= aside
	if c.policy.Chosen == delivery.Pull && !c.list {
		computed := 0
		for _, p := range reports {
			computed += p.Computed
		}
		return max(seconds-float64(computed)*c.policy.Rates.Compute/threads, seconds/4)
	}
	// Partitions compute at the same time if there are enough threads.
	most, sum, busy := 0.0, 0.0, 0.0
	for _, p := range reports {
		t := &p.Times
		most, sum = max(most, t.Compute), sum+t.Compute
		busy = max(busy, t.Expand+t.Traverse+t.Fold)
	}
	each := max(threads/float64(len(reports)), 1)
	return max(seconds-max(most, sum*each/threads), busy)
}

// pendingRecord is the coordinator's part of a superstep's record, made when the superstep ends.
type pendingRecord struct {
	superstep int
	rows      int // number of partitions
	scheme    delivery.Scheme
	decision  delivery.Decision
	actual    float64 // seconds of delivery
	seconds   float64
	graph     *record.GraphSize // if the superstep changed the graph
	ended     time.Time
	totals    []record.Aggregator // set by the recorder
}

// pending returns the coordinator's part of the record of the superstep that has just ended.
func (c *coordinator) pending(reports []*Report, seconds float64, ended time.Time) pendingRecord {
	m := pendingRecord{
		superstep: c.first + c.command.Superstep, rows: len(reports), scheme: c.command.Scheme,
		decision: c.policy.Decided(c.load), seconds: seconds, ended: ended,
		graph: c.resized(reports),
	}
	if m.decision.Chosen != delivery.None {
		m.actual = c.delivery(reports, seconds)
	}
	return m
}

// record fills in the record s of a superstep, whose partitions are already set.
func (m *pendingRecord) record(job string, s *record.Superstep) {
	d := &m.decision
	*s = record.Superstep{
		Job: job, Superstep: m.superstep, Scheme: m.scheme.String(), Delivery: m.scheme.Direction(),
		Reason: d.Reason(),
		Actual: m.actual, Graph: m.graph, Ended: m.ended, Aggregators: m.totals,
		Partitions: s.Partitions,
	}
	if d.Chosen != delivery.None {
		s.Predicted = make(map[string]float64, 4)
		d.Predicted.Into(s.Predicted)
	}
	s.End(m.seconds)
}

func (c *coordinator) add(reports []*Report) {
	c.sum, c.requests, c.bounded = Report{}, 0, false
	c.resize(reports)
	for _, p := range reports {
		c.requests += p.Requests
		s := &c.sum
		s.Computed += p.Computed
		s.Delivered += p.Delivered
		s.Counts.add(&p.Counts)
		if p.PullEdges > 0 {
			c.bounded = true
			s.PullEdges += p.PullEdges
		} else {
			s.PullEdges += p.UnfinishedEdges
		}
		if p.PushEdges > 0 {
			s.PushEdges += p.PushEdges
		} else {
			s.PushEdges += p.SenderEdges
		}
		c.outcome.Sent += p.Sent
		c.outcome.Bytes += p.Bytes
	}
	if o := &c.outcome; c.sized && o.Sent > 0 {
		for i := range c.loads {
			c.loads[i].Bytes, c.loads[i].FoldBytes = o.Bytes/o.Sent, o.Bytes/o.Sent
		}
	}
}

// choose chooses the scheme that delivers the last superstep's messages.
func (c *coordinator) choose() delivery.Scheme {
	if c.sum.SenderEdges == 0 {
		c.policy.Chosen = delivery.None
		return delivery.None
	}
	c.command.Ways = c.ways()
	c.load = &c.loads[0]
	unfinished := c.sum.UnfinishedEdges
	if one := c.command.Ways; one == 1 || one == 2 {
		c.load = &c.loads[one]
		// An estimate: the number of finished vertices is not known by direction.
		unfinished = int(float64(unfinished) * float64(c.load.Arcs) / float64(c.loads[0].Arcs))
	}
	c.load.Senders, c.load.SenderEdges = c.sum.Senders, c.sum.SenderEdges
	c.load.Unfinished, c.load.UnfinishedEdges = c.sum.Unfinished, unfinished
	c.load.Active, c.load.PullEdges, c.load.PushEdges = c.sum.Active, 0, c.sum.PushEdges
	if c.bounded {
		c.load.PullEdges = c.sum.PullEdges
	}
	return c.policy.Choose(c.load)
}

// ways returns the directions of messages to all neighbours, in a program of direction Either.
func (c *coordinator) ways() (ways uint8) {
	if len(c.loads) == 1 {
		return 0
	}
	if c.sum.SenderEdges > c.sum.BackEdges {
		ways |= 1
	}
	if c.sum.BackEdges > 0 {
		ways |= 2
	}
	return ways
}

// transposed records that the lists that the last push needed are transposed now.
func (c *coordinator) transposed() {
	if c.load == &c.loads[0] {
		for i := range c.loads {
			c.loads[i].Untransposed = 0
		}
		return
	}
	c.loads[0].Untransposed -= c.load.Untransposed
	c.load.Untransposed = 0
}

// aggregate merges the partitions' aggregates into the totals that the next superstep reads.
func (c *coordinator) aggregate(reports []*Report) {
	for _, a := range c.aggregates.All {
		total := c.totals[a.Number]
		if !a.Persistent {
			total.Reset()
		}
		for _, p := range reports {
			total.Merge(p.Cells[a.Number])
			p.Cells[a.Number].Reset()
		}
		total.Settle()
	}
}

// callCoordinate calls the program's Coordinate for the next superstep.
func (c *coordinator) callCoordinate() {
	if c.program == nil {
		return
	}
	m := c.view
	m.Superstep = c.command.Superstep
	m.Active, m.Messages = uint64(c.sum.Active), uint64(c.sum.SenderEdges+c.sum.Sends)
	c.program.Coordinate(m)
	if m.Phase < 0 || m.Phase > math.MaxUint32 {
		panic(fmt.Sprintf("Coordinate: SetPhase(%d): a phase is a number from 0 to %d", m.Phase,
			uint32(math.MaxUint32)))
	}
	c.command.Phase = m.Phase
	switch end := kernel.Pregel.End(m); {
	case end.Iterations:
		c.outcome.Ended = trace.Iterations
	case end.Stopped:
		c.outcome.Ended = trace.Stopped
	case end.Converged:
		c.outcome.Ended = trace.Converged
	}
}
