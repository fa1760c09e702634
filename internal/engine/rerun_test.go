package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// A stopped run leaves nothing behind: the next run of the same job has the values, supersteps and
// messages of a new job. The tests stop runs at every operation of an exchange and at calls of the
// program.

var errFault = errors.New("an injected fault")

// fault stops a run at the n-th event: by an error, a panic, or the end of the run's context.
type fault struct {
	// the partition whose endpoint operations are the events; -1 for calls of the program, -2 for
	// calls of its combiner
	partition int
	n         int64
	cancels   bool

	happened atomic.Int64
	cancel   context.CancelCauseFunc
}

const (
	inProgram  = -1
	inCombiner = -2
)

// arm arms the fault for event n of a place. Event 0 never happens.
func (f *fault) arm(t *testing.T, place int, n int64, cancels bool) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	f.partition, f.n, f.cancels, f.cancel = place, n, cancels, cancel
	f.happened.Store(0)
	return ctx
}

// event counts an event at a place. It returns an error if the fault is armed for it.
func (f *fault) event(place int) error {
	if f.partition != place || f.happened.Add(1) != f.n {
		return nil
	}
	if f.cancels {
		f.cancel(errFault)
		return nil
	}
	return errFault
}

// call is an event in the user's code.
func (f *fault) call(place int) {
	if err := f.event(place); err != nil {
		panic(err)
	}
}

// faulty is an endpoint whose operations are events.
type faulty struct {
	transport.Endpoint
	fault     *fault
	partition int
}

func (e faulty) Send(f *transport.Frame) error {
	if err := e.fault.event(e.partition); err != nil {
		return err
	}
	return e.Endpoint.Send(f)
}

// Poll comes before every Receive.
func (e faulty) Poll(kind transport.Kind) (*transport.Frame, error) {
	if err := e.fault.event(e.partition); err != nil {
		return nil, err
	}
	return e.Endpoint.Poll(kind)
}

func (e faulty) End(ctx context.Context, superstep int) (*transport.Account, error) {
	if err := e.fault.event(e.partition); err != nil {
		return nil, err
	}
	return e.Endpoint.End(ctx, superstep)
}

// meet connects partitions whose operations are events.
func (f *fault) meet(parts int) (endpoint func(int) transport.Endpoint, broken func()) {
	local := transport.NewLocal(parts)
	return func(i int) transport.Endpoint { return faulty{local.Endpoint(i), f, i} }, local.Close
}

// hook makes the calls of a program's functions events.
func hook[M any](f *fault, p chaos[M]) chaos[M] {
	to := p.to
	p.to = func(v who, h uint64) M {
		f.call(inProgram)
		return to(v, h)
	}
	return p
}

// rerunWays returns settings whose deliveries leave data in different places. Their jobs share work
// among threads from the first edge on, and fold bins after a few pairs.
func rerunWays(grid bool) []setting {
	ways := []setting{
		{parts: 1, threads: 1},
		{parts: 1, threads: 6, o: engine.Options{Delivery: delivery.ChoosePush}},
		{parts: 1, threads: 3, o: engine.Options{Delivery: delivery.ChoosePull}},
		{parts: 3, threads: 3, o: engine.Options{Delivery: delivery.ChooseMirrored}},
		{parts: 3, threads: 2, o: engine.Options{Delivery: delivery.ChooseLalp}},
		{parts: 2, threads: 6, o: engine.Options{Delivery: delivery.ChooseNaive, Experiment: delivery.Experiment{Serial: true}}},
		{parts: 3, threads: 3, o: engine.Options{Delivery: delivery.ChoosePull}},
		{parts: 3, threads: 6, o: engine.Options{Delivery: delivery.ChooseNaive, Experiment: delivery.Experiment{Uncombined: true}}},
		{parts: 3, threads: 1, o: engine.Options{Deterministic: true}},
	}
	two := graph.Grid{Rows: 2, Columns: 2}
	if raced { // one of each kind, because they take ten times as long
		ways = []setting{ways[1], ways[4], ways[5]}
		if grid {
			ways = append(ways,
				setting{parts: 4, grid: two, threads: 4, o: engine.Options{Delivery: delivery.ChoosePush}})
		}
		return ways
	}
	if !grid {
		return ways
	}
	return append(
		ways,
		setting{parts: 4, grid: two, threads: 4, o: engine.Options{Delivery: delivery.ChoosePush}},
		setting{parts: 4, grid: two, threads: 2, o: engine.Options{Delivery: delivery.ChooseBlockPull}},
		setting{parts: 4, grid: two, threads: 8, o: engine.Options{Experiment: delivery.Experiment{Uncombined: true}}},
	)
}

// rerun compares runs after stopped ones with the first run of a job.
func rerun[V comparable, M any](
	t *testing.T, s setting, seed uint64, kind edges.Weights,
	make func(*fault) pregel.Program[V, M],
) {
	t.Helper()
	shareWork(&s.o, 1)
	s.o = teamed(t, s)
	all := shapes(seed)
	shape := all[len(all)-2-int(seed%2)] // directed, of 300 or 70 vertices
	if kind == edges.Unweighted {
		shape.weights = nil
	}
	g := shape.loadAs(t, s, kind)
	f := new(fault)
	s.o.Connect = func() (func(int) transport.Endpoint, func()) { return f.meet(s.parts) }
	start := func() *engine.Job {
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(make(f)), s.o)
		check(t, err)
		return j
	}
	values := func(j *engine.Job) []V {
		all := []V{}
		for v := range g.N {
			all = append(all, j.Any(pregel.VertexID(v)).(V))
		}
		return all
	}
	first := start()
	want, err := first.Run(f.arm(t, inProgram, 0, false))
	check(t, err)
	wanted := values(first)
	first.Close()

	j := start()
	defer j.Close()
	compare := func(where string) {
		t.Helper()
		o, err := j.Run(f.arm(t, inProgram, 0, false))
		if err != nil {
			t.Fatalf("%v, after a run stopped %s: %v", s, where, err)
		}
		// the scheme, or the blocks that find messages, depend on timing
		if s.o.Delivery == delivery.ChooseAuto || s.o.Delivery == delivery.ChooseRingPull {
			o.Sent, o.Bytes = want.Sent, want.Bytes
		}
		if *o != *want {
			t.Fatalf("%v, after a run stopped %s: %+v, want %+v", s, where, *o, *want)
		}
		for v, value := range values(j) {
			if value != wanted[v] {
				t.Fatalf("%v, after a run stopped %s: vertex %d is %v, want %v", s, where, v, value,
					wanted[v])
			}
		}
	}
	for place := inCombiner; place < s.parts; place++ {
		for n := int64(1 + seed%3); ; n += rerunStep(place) {
			cancels := n%2 == 0
			_, err := j.Run(f.arm(t, place, n, cancels))
			if f.happened.Load() < n {
				check(t, err)
				break
			}
			where := fmt.Sprintf("at event %d of %d, cancelled %t", n, place, cancels)
			if !errors.Is(err, errFault) {
				t.Fatalf("%v, stopped %s: the error is %v", s, where, err)
			}
			compare(where)
		}
	}
}

// rerunStep is the number of events between two at which runs are stopped.
func rerunStep(place int) int64 {
	if place < 0 {
		return 631
	}
	return 37
}
