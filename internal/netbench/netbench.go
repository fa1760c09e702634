// Package netbench measures the collectives between the ranks of a link, for every algorithm and
// size, and compares the times with the model's predictions. Matsumoto15's figures 3 to 6 do so for
// point-to-point messages and broadcast, and Matsuda's for clusters joined by a slow link. The
// report is JSON, text tables, and a figure as SVG. Read netbench.go first, then report.go.
package netbench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
)

// Additional measurements between rank 0 and the last rank.
const (
	PointToPoint collective.Collective = "point-to-point" // one message
	// per message of a stream: many consecutive messages, and one answer
	Stream collective.Collective = "stream"
)

// Ways to send in these measurements.
const (
	Direct collective.Algorithm = "direct" // by the link
	Raw    collective.Algorithm = "raw"    // by a TCP connection without any protocol
)

// MaxSize is the greatest size. Larger messages would not fit into a rank's memory anyway.
const MaxSize = 1 << 30

// maxMemory is the number of bytes that a rank may use for one measurement. Larger ones are skipped.
const maxMemory = 256 << 20

// Options selects the measurements. All ranks must have the same options.
type Options struct {
	// Collectives to measure, which may include PointToPoint and Stream. Default: all except
	// barriers.
	Collectives []collective.Collective
	// Algorithm, if not empty, is the only algorithm to measure. Collectives without it are
	// skipped.
	Algorithm collective.Algorithm
	// Sizes in bytes, ascending. See collective.Model.Predict for their meaning. Default: powers of
	// 4 from 1 B to 4 MiB.
	Sizes []int
	// Repetitions is the number of times that each point is measured. Default: 5 to 50, about as
	// many as fit into 50 ms.
	Repetitions int
	// Raw is the address HOST:0 where the last rank listens for raw measurements; empty means none.
	Raw string
	// Progress, if not nil, is called on each rank with the stage, and the number of its finished
	// points and of all.
	Progress func(stage string, done, all int) `json:"-"`
}

// Stages of a measurement.
const (
	Calibrating = "calibrating"
	Measuring   = "measuring"
)

// tag is the tag of all messages.
const tag = 1

func (o Options) withDefaults() Options {
	if len(o.Collectives) == 0 {
		o.Collectives = []collective.Collective{
			PointToPoint, Stream, collective.Broadcast, collective.GatherTo, collective.Allgather,
			collective.Reduce, collective.Allreduce, collective.Alltoall,
		}
	}
	if len(o.Sizes) == 0 {
		for n := 1; n <= 4<<20; n *= 4 {
			o.Sizes = append(o.Sizes, n)
		}
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	return o
}

// Validate returns an error if the options are invalid.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	for _, c := range o.Collectives {
		if Algorithms(c) == nil {
			errs = append(errs, fmt.Errorf("%w, %s, %s", collective.Check(c, collective.Auto),
				PointToPoint, Stream))
		}
	}
	if o.Algorithm != collective.Auto &&
		!slices.ContainsFunc(o.Collectives, func(c collective.Collective) bool {
			return slices.Contains(Algorithms(c), o.Algorithm)
		}) {
		errs = append(errs, fmt.Errorf("found algorithm %q, expected one of the collectives %v",
			o.Algorithm, o.Collectives))
	}
	for i, n := range o.Sizes {
		if n < 0 || n > MaxSize || i > 0 && n <= o.Sizes[i-1] {
			errs = append(errs,
				fmt.Errorf("found sizes %v, expected rising sizes from 0 to %d", o.Sizes, MaxSize))
			break
		}
	}
	return errors.Join(errs...)
}

// Algorithms returns the algorithms of a collective or of an additional measurement, or nil if it
// does not exist.
func Algorithms(c collective.Collective) []collective.Algorithm {
	if c == PointToPoint || c == Stream {
		return []collective.Algorithm{Direct, Raw}
	}
	return collective.Algorithms(c)
}

// Run measures. All ranks must call it with equal parameters, and get the same report. The model
// must be the same on all ranks, for example the result of collective.Calibrate.
func Run(
	ctx context.Context, link collective.Link, model *collective.Model, o Options,
) (*Report, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	g, err := collective.NewGroup(link, model, nil)
	if err != nil {
		return nil, err
	}
	c, err := newClock(g)
	if err != nil {
		return nil, err
	}
	b := &bench{Options: o, g: g, clock: c}
	r := &Report{Ranks: link.Size(), Model: g.Model()}
	if r.NoRaw, err = b.connect(ctx); err != nil {
		return nil, err
	}
	defer b.disconnect()
	tasks := b.tasks()
	for done, list := range tasks {
		o.Progress(Measuring, done, len(tasks))
		points, err := b.points(ctx, list)
		if err != nil {
			return nil,
				fmt.Errorf("netbench: %s of %d bytes: %w", list[0].collective, list[0].bytes, err)
		}
		r.Points = append(r.Points, points...)
	}
	o.Progress(Measuring, len(tasks), len(tasks))
	r.summarize()
	return r, nil
}

type bench struct {
	Options
	g     *collective.Group
	clock *clock
	raw   net.Conn // on rank 0 and the last rank
	bytes []byte   // received raw bytes
	none  bool     // there are no raw measurements
}

type task struct {
	collective collective.Collective
	algorithm  collective.Algorithm
	bytes      int
}

// tasks returns the measurements, the same on all ranks: the algorithms for each collective and
// size. These are measured in turn, so that a temporary slowdown of the machine affects all of
// them.
func (b *bench) tasks() [][]task {
	var all [][]task
	p := b.g.Link().Size()
	for _, c := range b.Collectives {
		for _, n := range b.Sizes {
			var list []task
			for _, a := range Algorithms(c) {
				switch {
				case b.Algorithm != collective.Auto && b.Algorithm != a && a != Raw:
				// with one site it equals another algorithm
				case a == collective.Sites && b.g.Model().Sites == nil:
				// no receiver, or no data
				case (a == Direct || a == Raw) && p == 1, a == Raw && (b.none || n == 0):
				case n > maxMemory/footprint(c, a, p):
				default:
					list = append(list, task{c, a, n})
				}
			}
			if len(list) > 0 {
				all = append(all, list)
			}
		}
	}
	return all
}

// footprint returns the greatest memory of a rank as a multiple of the size, including packed
// blocks.
func footprint(c collective.Collective, a collective.Algorithm, p int) int {
	switch {
	case c == collective.GatherTo, c == collective.Allgather, c == collective.Alltoall,
		a == collective.Dissemination:
		return 4 * p
	}
	return 4
}

// points measures tasks in turn. The time of a repetition is from the common start to the end of
// the slowest rank. Only the better half of repetitions counts: those in which the ranks began most
// punctually.
func (b *bench) points(ctx context.Context, tasks []task) ([]Point, error) {
	if err := b.clock.synchronize(ctx); err != nil {
		return nil, err
	}
	points, do := make([]Point, len(tasks)), make([]func() error, len(tasks))
	lists := make([][]repetition, len(tasks))
	repeat := slices.Repeat([]int{max(b.Repetitions, 1)}, len(tasks))
	for i, t := range tasks {
		var err error
		points[i] = Point{Collective: t.collective, Algorithm: t.algorithm, Bytes: t.bytes}
		if do[i], err = b.action(ctx, t); err != nil {
			return nil, err
		}
		if points[i].Predicted, err = b.predict(t); err != nil {
			return nil, err
		}
	}
	for turn := 0; turn <= slices.Max(repeat); turn++ {
		for i, t := range tasks {
			if turn > repeat[i] {
				continue
			}
			r, err := b.clock.measure(ctx, do[i])
			if err != nil {
				return nil, fmt.Errorf("by %s: %w", t.algorithm, err)
			}
			if turn == 0 { // does not count, but determines the number of repetitions
				if b.Repetitions == 0 {
					repeat[i] = min(max(int(50e-3/max(r.seconds, 1e-9)), 5), 50)
				}
				continue
			}
			lists[i] = append(lists[i], r)
		}
	}
	for i, t := range tasks {
		points[i].fill(punctual(lists[i]), b.g.Link().Size(), b.parts(t))
	}
	return points, nil
}

// parts returns the number of consecutive messages in a measurement, by which its time is divided.
func (b *bench) parts(t task) float64 {
	switch t.collective {
	case PointToPoint:
		return float64(2 * rallies(t.bytes))
	case Stream:
		return float64(train(t.bytes))
	}
	return 1
}

func (b *bench) predict(t task) (float64, error) {
	m, n := b.g.Model(), float64(t.bytes)
	switch {
	case t.algorithm == Raw:
		return 0, nil // the model describes only the link
	case t.collective == PointToPoint:
		return m.Pair(0, m.Ranks-1).Time(n), nil
	case t.collective == Stream:
		c, k := m.Pair(0, m.Ranks-1), train(t.bytes)
		latency, body := c.Parts(n)
		// the last message takes its latency, and the answer too
		return c.Gap + body + (latency+c.Time(1)-c.Gap)/float64(k), nil
	}
	return m.Predict(t.collective, t.algorithm, t.bytes, 0)
}

// action prepares the data and returns the function to measure.
func (b *bench) action(ctx context.Context, t task) (func() error, error) {
	g, call := b.g, collective.Call{Tag: tag, Algorithm: t.algorithm, Bytes: max(t.bytes, 1)}
	data := collective.Noise(t.bytes)
	switch t.collective {
	case PointToPoint, Stream:
		return b.pair(ctx, t, data), nil
	case collective.Barrier:
		return func() error { return g.Barrier(ctx, call) }, nil
	case collective.Broadcast:
		return func() error { return second(g.Broadcast(ctx, call, 0, data)) }, nil
	case collective.Allgather:
		return func() error { return second(g.Allgather(ctx, call, data)) }, nil
	case collective.GatherTo:
		return func() error { return second(g.Gather(ctx, call, 0, data)) }, nil
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
	return nil, fmt.Errorf("found collective %s, expected one that can be measured", t.collective)
}

func second[T any](_ T, err error) error { return err }

// bytewise is an operator for sizes that are not a multiple of 8.
var bytewise = collective.Op{Size: 1, Combine: func(dst, src []byte) {
	for i, b := range src {
		dst[i] |= b
	}
}}
