// Package netbench measures the collectives between the ranks of a link, every algorithm at every
// size, beside what the model predicts for them, as Matsumoto15's figures 3 to 6 do for
// point-to-point messages and broadcast, and Matsuda's for clusters joined by a slow link. The
// report is JSON, a table of text, and a figure as SVG.
package netbench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
)

// Listed beside the collectives, both between rank 0 and the last rank.
const (
	PointToPoint collective.Collective = "point-to-point" // one message
	// each of many messages, one after another, all of which are answered by one
	Stream collective.Collective = "stream"
)

// How the two are done.
const (
	Direct collective.Algorithm = "direct" // by the link
	Raw    collective.Algorithm = "raw"    // by a TCP connection that carries nothing but the bytes
)

// MaxSize bounds sizes: more than a rank may hold is left out anyhow.
const MaxSize = 1 << 30

// Options says what to measure. All ranks must be given the same.
type Options struct {
	Tag uint32
	// Collectives to measure, PointToPoint and Stream among them. Default: all that move data.
	Collectives []collective.Collective
	// Algorithm, if not empty, is the only one that is measured, of the collectives that have it.
	Algorithm collective.Algorithm
	// Sizes in bytes, rising. What a size means is said at collective.Model.Predict. Default:
	// powers of 4 from 1 B to 4 MiB.
	Sizes []int
	// Memory is the most bytes a rank may hold for one measurement; greater ones are left out.
	// Default: 256 MiB.
	Memory int
	// Budget is how long one point may take, about; it is measured at least Least and at most Most
	// times. Defaults: 50 ms, 5, 50.
	Budget      time.Duration
	Least, Most int
	// Raw is the address at which the last rank listens for the raw measurements, HOST:0; empty for
	// none.
	Raw string
	// Progress, if given, is told on each rank how many points of all are done.
	Progress func(done, all int) `json:"-"`
}

func (o Options) withDefaults() Options {
	if len(o.Collectives) == 0 {
		o.Collectives = []collective.Collective{
			PointToPoint, Stream, collective.Broadcast, collective.Allgather, collective.Allreduce, collective.Alltoall,
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

// Validate reports what of the options makes no sense.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	for _, c := range o.Collectives {
		if Algorithms(c) == nil {
			errs = append(errs, fmt.Errorf("%w, %s, %s", collective.Check(c, collective.Auto), PointToPoint, Stream))
		}
	}
	if o.Algorithm != collective.Auto && !slices.ContainsFunc(o.Collectives, func(c collective.Collective) bool {
		return slices.Contains(Algorithms(c), o.Algorithm)
	}) {
		errs = append(errs, fmt.Errorf("no algorithm %q of %v", o.Algorithm, o.Collectives))
	}
	for i, n := range o.Sizes {
		if n < 0 || n > MaxSize || i > 0 && n <= o.Sizes[i-1] {
			errs = append(errs, fmt.Errorf("sizes must rise from 0 or more, to %d at most: %v", MaxSize, o.Sizes))
			break
		}
	}
	return errors.Join(errs...)
}

// Algorithms returns how something is done, nil if there is no such thing.
func Algorithms(c collective.Collective) []collective.Algorithm {
	if c == PointToPoint || c == Stream {
		return []collective.Algorithm{Direct, Raw}
	}
	return collective.Algorithms(c)
}

// Run measures. Every rank calls it alike and gets the same report. The model must be the same on
// all ranks, such as collective.Calibrate returns it.
func Run(ctx context.Context, link collective.Link, model *collective.Model, o Options) (*Report, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
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
	if r.NoRaw, err = b.connect(ctx); err != nil {
		return nil, err
	}
	defer b.disconnect()
	tasks := b.tasks()
	done := 0
	if o.Progress != nil {
		o.Progress(0, len(tasks))
	}
	for _, list := range tasks {
		points, err := b.points(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("netbench: %s of %d bytes: %w", list[0].collective, list[0].bytes, err)
		}
		r.Points = append(r.Points, points...)
		if done++; o.Progress != nil {
			o.Progress(done, len(tasks))
		}
	}
	r.summarize()
	return r, nil
}

type bench struct {
	Options
	g     *collective.Group
	clock *clock
	raw   net.Conn // of rank 0 and the last rank
	bytes []byte   // of raw messages that came
	none  bool     // there are no raw measurements
}

type task struct {
	collective collective.Collective
	algorithm  collective.Algorithm
	bytes      int
}

// tasks lists what is to be measured, the same on all ranks: for each collective and size its
// algorithms, which are measured by turns, so that what slows the machine down for a while slows
// all of them.
func (b *bench) tasks() [][]task {
	var all [][]task
	p := b.g.Link().Size()
	for _, c := range b.Collectives {
		for _, n := range b.Sizes {
			var list []task
			for _, a := range Algorithms(c) {
				switch {
				case b.Algorithm != collective.Auto && b.Algorithm != a && a != Raw:
				// one site: the same as another algorithm
				case a == collective.Sites && b.g.Model().Sites == nil:
				// nobody to send to, nothing to send
				case (a == Direct || a == Raw) && p == 1, a == Raw && (b.none || n == 0):
				case n > b.Memory/footprint(c, a, p):
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

// footprint is how many times its size a rank holds at most, in blocks packed for the way too.
func footprint(c collective.Collective, a collective.Algorithm, p int) int {
	switch {
	case a == collective.Sites && c == collective.Alltoall:
		return 2 * p * p
	case c == collective.Allgather, c == collective.Alltoall, a == collective.Dissemination:
		return 4 * p
	}
	return 4
}

// points measures tasks by turns. A repetition's time is from a common start until the slowest rank
// is done; of the repetitions the half counts in which ranks began most punctually.
func (b *bench) points(ctx context.Context, tasks []task) ([]Point, error) {
	if err := b.clock.synchronize(ctx); err != nil {
		return nil, err
	}
	points, do := make([]Point, len(tasks)), make([]func() error, len(tasks))
	lists, repeat := make([][]repetition, len(tasks)), make([]int, len(tasks))
	for i, t := range tasks {
		var err error
		points[i] = Point{Collective: t.collective, Algorithm: t.algorithm, Bytes: t.bytes}
		if do[i], err = b.action(ctx, t); err != nil {
			return nil, err
		}
		if points[i].Predicted, err = b.predict(t); err != nil {
			return nil, err
		}
		repeat[i] = b.Least
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
			if turn == 0 { // does not count, but says how often to repeat
				repeat[i] = min(max(int(b.Budget.Seconds()/max(r.seconds, 1e-9)), b.Least), b.Most)
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

// parts is how many messages one after another a measurement has; its time is divided by it.
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
		return 0, nil // the model is of the link
	case t.collective == PointToPoint:
		return m.Pair(0, m.Ranks-1).Time(n), nil
	case t.collective == Stream:
		c, k := m.Pair(0, m.Ranks-1), train(t.bytes)
		// the last message takes Beta, and so does the answer
		return c.Gap + c.Alpha*n + (2*c.Beta-c.Gap)/float64(k), nil
	}
	return m.Predict(t.collective, t.algorithm, t.bytes, 0)
}

// action prepares the data and returns what is measured.
func (b *bench) action(ctx context.Context, t task) (func() error, error) {
	g, call := b.g, collective.Call{Tag: b.Tag, Algorithm: t.algorithm, Bytes: max(t.bytes, 1)}
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
	case collective.Allreduce:
		op := collective.SumUint64
		if t.bytes%op.Size != 0 {
			op = bytewise
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
