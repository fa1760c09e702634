// Package netbench measures the collectives between the ranks of a link, every algorithm at every size, beside what the
// model predicts for them, as Matsumoto15's figures 3 to 6 do for point-to-point messages and broadcast, and Matsuda's
// for clusters joined by a slow link. The report is JSON, a table of text, and a figure as SVG.
package netbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
)

// PointToPoint is listed beside the collectives: one message from rank 0 to the last rank.
const PointToPoint collective.Collective = "point-to-point"

const direct collective.Algorithm = "direct"

// Options says what to measure. All ranks must be given the same.
type Options struct {
	Tag uint32
	// Collectives to measure, PointToPoint among them. Default: all that move data.
	Collectives []collective.Collective
	// Sizes in bytes, rising. What a size means is said at collective.Model.Predict. Default: powers of 4 from 1 B to 4 MiB.
	Sizes []int
	// Memory is the most bytes a rank may hold for one measurement; greater ones are left out. Default: 256 MiB.
	Memory int
	// Budget is how long one point may take, about; it is measured at least Least and at most Most times. Defaults: 50 ms, 5, 50.
	Budget      time.Duration
	Least, Most int
	// Progress, if given, is told on each rank how many points of all are done.
	Progress func(done, all int)
}

func (o Options) withDefaults() Options {
	if len(o.Collectives) == 0 {
		o.Collectives = []collective.Collective{
			PointToPoint, collective.Broadcast, collective.Allgather, collective.Allreduce, collective.Alltoall,
		}
	}
	if len(o.Sizes) == 0 {
		for n := 1; n <= 4<<20; n *= 4 {
			o.Sizes = append(o.Sizes, n)
		}
	}
	if o.Memory <= 0 {
		o.Memory = 256 << 20
	}
	if o.Budget <= 0 {
		o.Budget = 50 * time.Millisecond
	}
	if o.Least <= 0 {
		o.Least = 5
	}
	if o.Most <= 0 {
		o.Most = 50
	}
	o.Most = max(o.Most, o.Least)
	return o
}

func (o Options) validate() error {
	var errs []error
	for _, c := range o.Collectives {
		if c != PointToPoint && collective.Algorithms(c) == nil {
			errs = append(errs, collective.Check(c, collective.Auto))
		}
	}
	for i, n := range o.Sizes {
		if n < 0 || i > 0 && n <= o.Sizes[i-1] {
			errs = append(errs, fmt.Errorf("sizes must rise from 0 or more: %v", o.Sizes))
			break
		}
	}
	return errors.Join(errs...)
}

// Run measures. Every rank calls it alike and gets the same report. The model must be the same on all ranks, such as
// collective.Calibrate returns it.
func Run(ctx context.Context, link collective.Link, model *collective.Model, o Options) (*Report, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	g, err := collective.NewGroup(link, model, nil)
	if err != nil {
		return nil, err
	}
	c, err := newClock(g, o.Tag)
	if err != nil {
		return nil, err
	}
	b := &bench{Options: o, g: g, clock: c}
	r := &Report{Ranks: link.Size(), Model: g.Model()}
	tasks := b.tasks()
	for i, t := range tasks {
		p, err := b.point(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("netbench: %s by %s of %d bytes: %w", t.collective, t.algorithm, t.bytes, err)
		}
		r.Points = append(r.Points, p)
		if o.Progress != nil {
			o.Progress(i+1, len(tasks))
		}
	}
	r.summarize()
	return r, nil
}

type bench struct {
	Options
	g     *collective.Group
	clock *clock
}

type task struct {
	collective collective.Collective
	algorithm  collective.Algorithm
	bytes      int
}

// tasks lists what is to be measured, the same on all ranks.
func (b *bench) tasks() []task {
	var list []task
	p := b.g.Link().Size()
	for _, c := range b.Collectives {
		algorithms := collective.Algorithms(c)
		if c == PointToPoint && p > 1 {
			algorithms = []collective.Algorithm{direct}
		}
		for _, a := range algorithms {
			if a == collective.Sites && b.g.Model().Sites == nil {
				continue // one site: the same as another algorithm
			}
			for _, n := range b.Sizes {
				if n <= b.Memory/footprint(c, a, p) {
					list = append(list, task{c, a, n})
				}
			}
		}
	}
	return list
}

// footprint is how many times its size a rank holds at most, in blocks packed for the way too.
func footprint(c collective.Collective, a collective.Algorithm, p int) int {
	switch {
	case a == collective.Sites && c == collective.Alltoall:
		return 2 * p * p
	case c == collective.Gather, c == collective.Allgather, c == collective.Alltoall, a == collective.Dissemination:
		return 4 * p
	}
	return 4
}

// point measures one task. A repetition's time is from a common start until the slowest rank is done; of the repetitions
// the half counts in which ranks began most punctually.
func (b *bench) point(ctx context.Context, t task) (Point, error) {
	p := Point{Collective: t.collective, Algorithm: t.algorithm, Bytes: t.bytes}
	do, err := b.action(ctx, t)
	if err != nil {
		return p, err
	}
	if p.Predicted, err = b.predict(t); err != nil {
		return p, err
	}
	if err := b.clock.synchronize(ctx); err != nil {
		return p, err
	}
	var list []repetition
	repeat := b.Least
	for i := 0; i <= repeat; i++ {
		r, err := b.clock.measure(ctx, do)
		if err != nil {
			return p, err
		}
		if i == 0 { // does not count, but says how often to repeat
			repeat = min(max(int(b.Budget.Seconds()/max(r.seconds, 1e-9)), b.Least), b.Most)
			continue
		}
		list = append(list, r)
	}
	p.fill(punctual(list), b.g.Link().Size())
	return p, nil
}

func (b *bench) predict(t task) (float64, error) {
	m := b.g.Model()
	if t.collective == PointToPoint {
		return m.Pair(0, m.Ranks-1).Time(float64(t.bytes)), nil
	}
	return m.Predict(t.collective, t.algorithm, t.bytes, 0)
}

// action prepares the data and returns what is measured.
func (b *bench) action(ctx context.Context, t task) (func() error, error) {
	g, call := b.g, collective.Call{Tag: b.Tag, Algorithm: t.algorithm, Bytes: max(t.bytes, 1)}
	data := make([]byte, t.bytes)
	switch t.collective {
	case PointToPoint:
		return func() error { return b.pingPong(ctx, data) }, nil
	case collective.Barrier:
		return func() error { return g.Barrier(ctx, call) }, nil
	case collective.Broadcast:
		return func() error { return second(g.Broadcast(ctx, call, 0, data)) }, nil
	case collective.Gather:
		return func() error { return second(g.Gather(ctx, call, 0, data)) }, nil
	case collective.Allgather:
		return func() error { return second(g.Allgather(ctx, call, data)) }, nil
	case collective.Reduce, collective.Allreduce:
		op := collective.SumUint64
		if t.bytes%op.Size != 0 {
			op = bytewise
		}
		if t.collective == collective.Reduce {
			return func() error { return g.Reduce(ctx, call, 0, data, op) }, nil
		}
		return func() error { return g.Allreduce(ctx, call, data, op) }, nil
	case collective.Alltoall:
		blocks := make([][]byte, g.Link().Size())
		for i := range blocks {
			blocks[i] = data
		}
		return func() error { return second(g.Alltoall(ctx, call, blocks)) }, nil
	}
	return nil, fmt.Errorf("no way to measure %s", t.collective)
}

func second[T any](_ T, err error) error { return err }

// bytewise is for sizes that are no whole words.
var bytewise = collective.Op{Size: 1, Combine: func(dst, src []byte) {
	for i, b := range src {
		dst[i] |= b
	}
}}

// pingPong sends a message from rank 0 to the last rank and back; point halves its time.
func (b *bench) pingPong(ctx context.Context, data []byte) error {
	link := b.g.Link()
	last := link.Size() - 1
	switch link.Rank() {
	case 0:
		if err := link.Send(ctx, last, b.Tag, data); err != nil {
			return err
		}
		return second(link.Receive(ctx, last, b.Tag))
	case last:
		if err := second(link.Receive(ctx, 0, b.Tag)); err != nil {
			return err
		}
		return link.Send(ctx, 0, b.Tag, data)
	}
	return nil
}
