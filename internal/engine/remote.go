package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// A job over several processes is a Lead, which coordinates, in one, and Shares, the partitions, in others. They tell
// each other what a Job's coordinator and runners do, as bytes:
//
//	Lead --- command --> Share --- frames --> Share ... --- reports --> Lead --- command --> ...
//
// The text is JSON: one object for each process and superstep, no part of what grows with the graph.

// Share is the part of a job that one process has: its partitions.
type Share interface {
	// Facts are what the Lead must know before it begins.
	Facts() *Facts
	// Begin readies the partitions, which meet others at their endpoints, for superstep 0. broken is called when one
	// fails: those that wait for it must be told.
	Begin(ctx context.Context, endpoint func(partition int) transport.Endpoint, broken func()) error
	// Superstep does what a command says and returns the partitions' reports.
	Superstep(command []byte) (reports []byte, err error)
	// Own yields the vertices of the partitions here, and Append a line's value of one, as Bound has it.
	Own() []int
	Append(dst []byte, id pregel.VertexID) []byte
	Close()
}

// Lead coordinates a job.
type Lead interface {
	// Begin returns the command of superstep 0.
	Begin() (command []byte, o *Outcome, err error)
	// Next takes what all Shares reported of a superstep that took so many seconds, and returns the next command, unless
	// the outcome says that the run is done.
	Next(reports [][]byte, seconds float64) (command []byte, o *Outcome, err error)
	// Times returns the seconds of each superstep.
	Times() []float64
}

// wireCommand and wireReport are Command and Report between processes. Aggregates are in the order of the program's
// Aggregators.
type wireCommand struct {
	Superstep, Phase int
	Scheme           delivery.Scheme
	Sends, Finished  bool
	SenderEdges      int
	Totals           [][]byte `json:",omitempty"`
}

type wireReport struct {
	Report
	Cells   [][]byte `json:",omitempty"`
	Failed  string   `json:",omitempty"`
	Program *ProgramError
	Follows bool // the failure followed from another's
}

// share is a job of whose graph only some partitions are here.
type share[V, M any] struct {
	*Job[V, M]
	facts   *Facts
	crew    *crew
	command Command
	stop    func() bool
}

// NewShare binds a program to the partitions of a graph that are here; those of other processes are nil.
func NewShare[V, M any](j *Job[V, M], facts *Facts) Share {
	s := &share[V, M]{Job: j, facts: facts}
	s.command.Totals = newCells(j.methods.aggregates, j.options.Deterministic)
	return s
}

func (s *share[V, M]) Facts() *Facts { return s.facts }

func (s *share[V, M]) Own() []int {
	var own []int
	for _, r := range s.runners {
		own = append(own, r.part.Index)
	}
	return own
}

func (s *share[V, M]) Begin(ctx context.Context, endpoint func(int) transport.Endpoint, broken func()) (err error) {
	defer caught(&err, s.name, &noSuperstep)
	s.end()
	s.Job.Prepare()
	s.fresh = false
	s.Job.stop.Store(false)
	for _, r := range s.runners {
		r.reset()
	}
	s.stop = context.AfterFunc(ctx, func() { s.Job.stop.Store(true) })
	s.crew = s.start(ctx, endpoint, broken)
	return nil
}

func (s *share[V, M]) end() {
	if s.crew != nil {
		s.crew.stop()
		s.stop()
		s.crew = nil
	}
}

func (s *share[V, M]) Close() {
	s.end()
	s.Job.Close()
}

func (s *share[V, M]) Superstep(data []byte) ([]byte, error) {
	var w wireCommand
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("command: %w", err)
	}
	if s.crew == nil {
		return nil, errors.New("a superstep before the run began")
	}
	c := &s.command
	c.Superstep, c.Phase, c.Scheme, c.Sends, c.Finished, c.SenderEdges = w.Superstep, w.Phase, w.Scheme, w.Sends, w.Finished, w.SenderEdges
	if err := decodeCells(s.methods.aggregates, w.Totals, c.Totals); err != nil {
		return nil, err
	}
	var out []wireReport
	for _, p := range s.crew.step(context.Background(), c) {
		r := wireReport{Report: *p}
		r.Report.Cells, r.Report.Err = nil, nil
		if p.Err != nil {
			r.Failed = p.Err.Error()
			r.Follows = errors.Is(p.Err, errStopped) || errors.Is(p.Err, transport.ErrClosed)
			errors.As(p.Err, &r.Program)
			if r.Program != nil {
				copied := *r.Program
				copied.Value = fmt.Sprint(copied.Value)
				r.Program = &copied
			}
		} else {
			var err error
			if r.Cells, err = encodeCells(s.methods.aggregates, p.Cells); err != nil {
				return nil, err
			}
		}
		for _, a := range s.methods.aggregates {
			if p.Cells != nil {
				p.Cells[a.Number()].Reset()
			}
		}
		out = append(out, r)
	}
	return json.Marshal(out)
}

func encodeCells(aggregates []pregel.Aggregate, cells []pregel.Cell) ([][]byte, error) {
	var out [][]byte
	for _, a := range aggregates {
		data, err := cells[a.Number()].Encode()
		if err != nil {
			return nil, fmt.Errorf("aggregator %s: %w", a.Name(), err)
		}
		out = append(out, data)
	}
	return out, nil
}

func decodeCells(aggregates []pregel.Aggregate, data [][]byte, into []pregel.Cell) error {
	if len(data) != len(aggregates) {
		return fmt.Errorf("%d aggregates came, the program has %d", len(data), len(aggregates))
	}
	for i, a := range aggregates {
		if err := into[a.Number()].Decode(data[i]); err != nil {
			return fmt.Errorf("aggregator %s: %w", a.Name(), err)
		}
	}
	return nil
}

// lead is the coordinator of partitions in other processes.
type lead struct {
	name       string
	aggregates []pregel.Aggregate
	exact      bool
	sink       trace.Sink
	job        string
	progress   func(Progress)
	c          *coordinator
	times      []float64
}

func (l *lead) Times() []float64 { return l.times }

func (l *lead) Begin() (command []byte, o *Outcome, err error) {
	defer caught(&err, l.name, &noSuperstep)
	l.times = l.times[:0]
	c, outcome := l.c.begin()
	command, err = l.encode(c)
	return command, outcome, err
}

func (l *lead) Next(data [][]byte, seconds float64) (command []byte, o *Outcome, err error) {
	defer caught(&err, l.name, &l.c.command.Superstep)
	reports, err := l.decode(data)
	if err != nil {
		return nil, nil, err
	}
	if err := firstError(reports); err != nil {
		return nil, nil, err
	}
	superstep, scheme := l.c.command.Superstep, l.c.command.Scheme
	if err := accounted(reports); err != nil {
		return nil, nil, fmt.Errorf("%s: superstep %d: %w", l.name, superstep, err)
	}
	if err := l.c.trace(reports, seconds, l.sink, l.job); err != nil {
		return nil, nil, err
	}
	next, outcome := l.c.next(reports, seconds)
	if outcome.Supersteps > superstep {
		l.times = append(l.times, seconds)
		if l.progress != nil {
			l.progress(Progress{superstep, l.c.sum.Active, l.c.sum.Senders, scheme, seconds})
		}
	}
	command, err = l.encode(next)
	return command, outcome, err
}

func (l *lead) encode(c *Command) ([]byte, error) {
	totals, err := encodeCells(l.aggregates, c.Totals)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wireCommand{c.Superstep, c.Phase, c.Scheme, c.Sends, c.Finished, c.SenderEdges, totals})
}

func (l *lead) decode(data [][]byte) ([]*Report, error) {
	reports := make([]*Report, l.c.load.Partitions)
	for _, text := range data {
		var in []wireReport
		if err := json.Unmarshal(text, &in); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		for i := range in {
			w := &in[i]
			p := &w.Report
			if p.Partition < 0 || p.Partition >= len(reports) || reports[p.Partition] != nil {
				return nil, fmt.Errorf("a report of partition %d of %d, missing or twice", p.Partition, len(reports))
			}
			switch {
			case w.Program != nil:
				p.Err = w.Program
			case w.Follows:
				p.Err = errStopped
			case w.Failed != "":
				p.Err = errors.New(w.Failed)
			default:
				p.Cells = newCells(l.aggregates, l.exact)
				if err := decodeCells(l.aggregates, w.Cells, p.Cells); err != nil {
					return nil, err
				}
			}
			reports[p.Partition] = p
		}
	}
	for i, p := range reports {
		if p == nil {
			return nil, fmt.Errorf("no report of partition %d", i)
		}
	}
	return reports, nil
}
