package netbench

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/wire"
)

// clock makes all ranks begin at the same time. Ranks leave a barrier at different times, up to the
// delay of the slowest link apart, which may exceed the time to be measured. So rank 0 announces a
// start time. The other ranks know the offset of their clocks from rank 0's (Hunold and
// Carpen-Amarie 2016).
type clock struct {
	g      *collective.Group
	origin time.Time
	offset float64 // offset in seconds: rank 0's clock minus this rank's
	lead   float64 // seconds from the announcement to the start
	missed bool    // the last start time had passed when this rank received it
}

const (
	syncs     = 5    // number of questions to rank 0; the fastest answer counts
	spins     = 2000 // rounds of the scheduler, 0.1 or 0.2 milliseconds, because timers are late
	spinAhead = 100 * time.Microsecond
	mostLead  = 20e-3 // in seconds, unless the model needs more
)

func newClock(g *collective.Group) (*clock, error) {
	delay, err := g.Model().Predict(collective.Broadcast, collective.Binomial, 8, 0)
	return &clock{g: g, origin: time.Now(), lead: 2*delay + 300e-6}, err
}

// now returns the seconds since the rank's origin, by its own clock.
func (c *clock) now() float64 { return time.Since(c.origin).Seconds() }

// synchronize measures the offsets, one rank after the other.
func (c *clock) synchronize(ctx context.Context) error {
	link := c.g.Link()
	if link.Rank() == 0 {
		for peer := 1; peer < link.Size(); peer++ {
			for range syncs {
				if _, err := link.Receive(ctx, peer, tag); err != nil {
					return err
				}
				if err := link.Send(ctx, peer, tag, encode(c.now())); err != nil {
					return err
				}
			}
		}
		return nil
	}
	least := math.Inf(1)
	for range syncs {
		sent := c.now()
		if err := link.Send(ctx, 0, tag, nil); err != nil {
			return err
		}
		data, err := link.Receive(ctx, 0, tag)
		if err != nil {
			return err
		}
		values, err := collective.Values[float64](data, 1)
		if err != nil {
			return err
		}
		got := c.now()
		if got-sent < least {
			least = got - sent
			c.offset = values[0] - (sent+got)/2
		}
	}
	return nil
}

// start returns on all ranks at the same time. It returns this time in seconds of rank 0's clock.
func (c *clock) start(ctx context.Context) (float64, error) {
	if err := c.g.Barrier(ctx, collective.Call{Tag: tag}); err != nil {
		return 0, err
	}
	data, err := c.g.Broadcast(ctx, collective.Call{Tag: tag, Algorithm: collective.Binomial}, 0,
		encode(c.now()+c.lead))
	if err != nil {
		return 0, err
	}
	values, err := collective.Values[float64](data, 1)
	if err != nil {
		return 0, err
	}
	until := c.origin.Add(time.Duration((values[0] - c.offset) * 1e9))
	c.missed = time.Until(until) < 0
	return values[0], c.wait(ctx, until)
}

// wait returns at a time of this rank's clock. It is more precise than a timer. Under
// testing/synctest, where time stands still while any goroutine runs, timers are exact.
func (c *clock) wait(ctx context.Context, until time.Time) error {
	if err := parallel.Sleep(ctx, time.Until(until)-spinAhead); err != nil {
		return err
	}
	for range spins {
		if time.Until(until) <= 0 {
			return nil
		}
		runtime.Gosched()
	}
	return parallel.Sleep(ctx, time.Until(until))
}

// repetition is one measurement: the time from the common start to the end of the last rank, and
// the delay of the rank that began last. Both are the same on all ranks.
type repetition struct{ seconds, late float64 }

// measure calls do on all ranks at the same time.
func (c *clock) measure(ctx context.Context, do func() error) (repetition, error) {
	start, err := c.start(ctx)
	if err != nil {
		return repetition{}, err
	}
	begun := c.now() + c.offset - start
	if err := do(); err != nil {
		return repetition{}, err
	}
	values := []float64{c.now() + c.offset - start, begun, 0}
	if c.missed {
		values[2] = 1
	}
	call := collective.Call{Tag: tag, Algorithm: collective.Doubling}
	err = c.g.Allreduce(ctx, call, wire.Bytes(values), collective.MaxFloat64)
	if err != nil {
		return repetition{}, err
	}
	r := repetition{max(values[0], 0), max(values[1], 0)}
	if values[2] > 0 {
		c.lead = min(c.lead*1.5, max(c.lead, mostLead))
	}
	return r, nil
}

// punctual returns the times of the better half of repetitions, rounded up: those in which the last
// rank began with the least delay.
func punctual(list []repetition) []float64 {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b repetition) int { return cmp.Compare(a.late, b.late) })
	var times []float64
	for _, r := range sorted[:(len(sorted)+1)/2] {
		times = append(times, r.seconds)
	}
	return times
}

func encode(values ...float64) []byte { return wire.Bytes(values) }
