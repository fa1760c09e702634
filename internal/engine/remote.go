package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
)

// A job over several processes is a Lead, which coordinates, in one, and Shares, the partitions, in others. They tell
// each other what a Job's coordinator and runners do:
//
//	Lead --- Command --> Share --- frames --> Share ... --- Reports --> Lead --- Command --> ...
//
// What the aggregators hold is in Command.Encoded and Report.Encoded, as bytes; Totals and Cells stay where they are.

// Share is the part of a job that one process has: its partitions.
type Share interface {
	// Facts are what the Lead must know before it begins.
	Facts() *Facts
	// Begin readies the partitions, which meet others at their endpoints, for superstep 0, also of another run after one.
	// broken is called when one fails, or the run is stopped: it must end all waiting at the endpoints. ctx is the run's.
	Begin(ctx context.Context, endpoint func(partition int) transport.Endpoint, broken func()) error
	// Superstep does what a command says and returns the partitions' reports, which are valid until the next call. When
	// a partition fails, or ctx ends, it returns why: the cause, if one of the partitions here is.
	Superstep(ctx context.Context, c *Command) ([]*Report, error)
	// Own lists the partitions here, and Append appends a line's value of a vertex of theirs, as Bound has it: label tells
	// the input ids of vertices that the value names, in that order. Refers reports whether values may name any.
	Own() []int
	Append(dst []byte, id pregel.VertexID, label func(pregel.VertexID) uint64) []byte
	Refers() bool
	Close()
}

// Lead coordinates a job.
type Lead interface {
	// Begin returns the command of superstep 0.
	Begin() (*Command, *Outcome, error)
	// Next takes the reports of a superstep that took so many seconds, by partition, and returns the next command, unless
	// the outcome says that the run is done.
	Next(reports []*Report, seconds float64) (*Command, *Outcome, error)
	// Record makes the record of the superstep that has just ended; call it before Next. The partitions are those of the
	// reports.
	Record(reports []*Report, seconds float64) *trace.Superstep
}

// share is a job of whose graph only some partitions are here.
type share[V, M any] struct {
	*Job[V, M]
	facts   *Facts
	crew    *crew
	broken  func()
	command Command
	stop    func()
}

// newShare makes a Share of a job that has partitions of this process alone; those of others are nil.
func newShare[V, M any](j *Job[V, M]) *share[V, M] {
	s := &share[V, M]{Job: j, facts: j.facts()}
	s.command.Totals = newCells(j.methods.aggregates, j.options.Deterministic)
	return s
}

func (s *share[V, M]) Facts() *Facts { return s.facts }

func (s *share[V, M]) Append(dst []byte, id pregel.VertexID, label func(pregel.VertexID) uint64) []byte {
	return s.appendAs(dst, id, label)
}

func (s *share[V, M]) Refers() bool {
	return s.methods.output == nil && refers(reflect.TypeFor[V](), 8)
}

// refers reports whether values of a type, to a depth, may hold vertices.
func refers(t reflect.Type, depth int) bool {
	switch {
	case depth == 0 || t == reflect.TypeFor[pregel.VertexID]() || t.Kind() == reflect.Interface:
		return true
	case t.Kind() == reflect.Array || t.Kind() == reflect.Slice:
		return refers(t.Elem(), depth-1)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && refers(f.Type, depth-1) {
				return true
			}
		}
	}
	return false
}

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
	s.broken = broken
	s.stop = afterFunc(ctx, s.halt)
	s.crew = s.start(ctx, endpoint, broken)
	return nil
}

// halt makes the superstep that runs end soon.
func (s *share[V, M]) halt() {
	s.Job.stop.Store(true)
	s.broken()
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

func (s *share[V, M]) Superstep(ctx context.Context, given *Command) ([]*Report, error) {
	if s.crew == nil {
		return nil, errors.New("a superstep before the run began")
	}
	c := &s.command
	totals := c.Totals
	*c = *given
	c.Totals = totals
	if err := decodeCells(s.methods.aggregates, given.Encoded, totals); err != nil {
		return nil, err
	}
	defer afterFunc(ctx, s.halt)()
	if c.Superstep == 0 { // as Job.Run does: part of the run's time
		for _, r := range s.runners {
			r.reset()
		}
	}
	reports := s.crew.step(ctx, c)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := firstError(reports); err != nil {
		return nil, err
	}
	for _, p := range reports {
		var err error
		if p.Encoded, err = encodeCells(p.Encoded[:0], s.methods.aggregates, p.Cells); err != nil {
			return nil, err
		}
		for _, a := range s.methods.aggregates {
			p.Cells[a.Number()].Reset()
		}
	}
	return reports, nil
}

// encodeCells appends the aggregates in the order of the program's Aggregators: of each its length, 4 bytes, and what
// it encodes to.
func encodeCells(out []byte, aggregates []pregel.Aggregate, cells []pregel.Cell) ([]byte, error) {
	for _, a := range aggregates {
		data, err := cells[a.Number()].Encode(pack.Value)
		if err != nil {
			return nil, fmt.Errorf("aggregator %s: %w", a.Name(), err)
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(len(data)))
		out = append(out, data...)
	}
	return out, nil
}

func decodeCells(aggregates []pregel.Aggregate, data []byte, into []pregel.Cell) error {
	for _, a := range aggregates {
		if len(data) < 4 {
			return fmt.Errorf("aggregator %s: nothing came", a.Name())
		}
		n := int(binary.LittleEndian.Uint32(data))
		if data = data[4:]; n > len(data) {
			return fmt.Errorf("aggregator %s: %d bytes of %d came", a.Name(), len(data), n)
		}
		if err := into[a.Number()].Decode(data[:n], pack.IntoValue); err != nil {
			return fmt.Errorf("aggregator %s: %w", a.Name(), err)
		}
		data = data[n:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%d bytes more than the aggregators of the program", len(data))
	}
	return nil
}

// lead is the coordinator of partitions in other processes.
type lead struct {
	name       string
	aggregates []pregel.Aggregate
	cells      [][]pregel.Cell // by partition
	c          *coordinator
}

func (l *lead) Begin() (command *Command, o *Outcome, err error) {
	defer caught(&err, l.name, &noSuperstep)
	c, outcome := l.c.begin()
	return c, outcome, l.encode(c)
}

func (l *lead) Next(reports []*Report, seconds float64) (command *Command, o *Outcome, err error) {
	defer caught(&err, l.name, &l.c.command.Superstep)
	if len(reports) != l.c.load.Partitions {
		return nil, nil, fmt.Errorf("%d reports of %d partitions", len(reports), l.c.load.Partitions)
	}
	for i, p := range reports {
		if p == nil || p.Partition.Partition != i {
			return nil, nil, fmt.Errorf("superstep %d: no report of partition %d", l.c.command.Superstep, i)
		}
		p.Cells = l.cells[i]
		if err := decodeCells(l.aggregates, p.Encoded, p.Cells); err != nil {
			return nil, nil, fmt.Errorf("partition %d: %w", i, err)
		}
	}
	next, outcome := l.c.next(reports, seconds)
	return next, outcome, l.encode(next)
}

func (l *lead) encode(c *Command) (err error) {
	c.Encoded, err = encodeCells(c.Encoded[:0], l.aggregates, c.Totals)
	return err
}

func (l *lead) Record(reports []*Report, seconds float64) *trace.Superstep {
	m, s := l.c.pending(reports, seconds, time.Now()), &trace.Superstep{}
	for _, p := range reports {
		s.Partitions = append(s.Partitions, p.Partition)
	}
	m.record("", s)
	return s
}
