package experiment

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/lab/netem"
)

const (
	// lagOneWay is the delay of Matsuda's link between clusters.
	lagOneWay = time.Millisecond
	roundTrip = 2 * lagOneWay
	linkTag   = 1
)

// link describes how messages are sent: at once, limited by the receiver's window, or each only
// after the receiver is ready (rendezvous).
type link struct {
	name       string
	window     int
	rendezvous bool
}

var links = []link{
	{"eager, 16 MiB window", 16 << 20, false},
	{"window of 1 MiB", 1 << 20, false},
	{"window of 256 KiB", 256 << 10, false},
	{"window of 64 KiB", 64 << 10, false},
	{"rendezvous", 16 << 20, true},
}

// bound returns the maximum bytes per second of a stream of n-byte messages: one window, or one
// message, per round trip.
func (l *link) bound(n int) float64 {
	if l.rendezvous {
		return float64(n) / roundTrip.Seconds()
	}
	return float64(l.window) / roundTrip.Seconds()
}

// windows sends streams of messages over a link with delay (Matsuda; Nakao20, 5.4).
func windows(ctx context.Context, b *bench) error {
	t := b.table("windows", append([]Column{
		{"link", Plain, "eager and windows: sent at once, as far as the receiver's window lets them; rendezvous: each when the receiver says so"},
		{"message", Bytes, "of a stream"},
		{"messages", Plain, "in it"},
		{"bandwidth", "B/s", "median"},
		{"bound", "B/s", "that follows from the delay: a window, or a message of a rendezvous, each time there and back"},
		{"over_eager", Ratio, "bandwidth, " + byTurns},
	}, secondsColumns...)...)
	var pairs []*pair
	defer func() {
		for _, p := range pairs {
			p.Close()
		}
	}()
	for _, l := range links {
		p, err := join(ctx, l)
		if err != nil {
			return err
		}
		pairs = append(pairs, p)
	}
	panel := figure.Panel{
		Title: fmt.Sprintf("bandwidth of a stream, %v of delay each way", lagOneWay),
		X:     figure.Axis{Label: "size of a message", Base: 2, Text: Bytes.axis},
		Y:     figure.Axis{Base: 10, Text: Unit("B/s").axis},
	}
	for i, l := range links {
		panel.Series = append(panel.Series, figure.Series{Name: l.name, Style: figure.Styles[i]})
	}
	for _, size := range []int{1 << 10, 16 << 10, 256 << 10, 1 << 20} {
		messages := min(max((8<<20)/size, 8), 64)
		var ways []way
		for _, p := range pairs {
			ways = append(ways,
				func(ctx context.Context) (sample, error) { return p.stream(ctx, size, messages) })
		}
		times, err := b.alternate(ctx, fmt.Sprintf("sending messages of %d bytes", size), ways)
		if err != nil {
			return err
		}
		for i, l := range links {
			median, low, high := times[i].seconds()
			eager, _, _ := times[0].over(times[i])
			bandwidth := float64(size*messages) / median
			t.add(l.name, size, messages, bandwidth, l.bound(size), eager, median, low, high)
			panel.Series[i].Dots = append(panel.Series[i].Dots,
				figure.Point{X: float64(size), Y: bandwidth})
			panel.Series[i].Line = panel.Series[i].Dots
			if size == 1<<20 && i > 0 {
				b.find("%s, messages of 1 MiB: %.2f of the bandwidth of eager messages with 16 MiB",
					l.name, eager)
			}
		}
	}
	b.panel(panel)
	return nil
}

// pair is two workers with a link between them.
type pair struct {
	link
	*netem.Workers
}

// join connects two workers of this process over loopback, with a delay.
func join(ctx context.Context, l link) (*pair, error) {
	w, err := netem.Join(ctx, 2, mesh.Options{Window: l.window, Chunk: min(1<<20, l.window/4)},
		func(c net.Conn, _, _ int) net.Conn {
			return netem.Lag(c, lagOneWay, nil)
		})
	return &pair{l, w}, err
}

// both runs two functions concurrently. When one fails, it cancels the other and returns the error.
func both(ctx context.Context, one, other func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run := func(f func(context.Context) error) error {
		err := f(ctx)
		if err != nil {
			cancel(err)
		}
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- run(other) }()
	err := errors.Join(run(one), <-ended)
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// stream sends messages from one end to the other, and an answer to the last. Every message
// contains its number, which is checked.
func (p *pair) stream(ctx context.Context, size, messages int) (sample, error) {
	from, to := p.Sessions[0].Link(), p.Sessions[1].Link()
	ready := []byte{1}
	start := time.Now()
	err := both(ctx, func(ctx context.Context) error {
		data := make([]byte, size)
		for i := range messages {
			if p.rendezvous {
				if err := from.Send(ctx, 1, linkTag, ready); err != nil {
					return err
				}
				if _, err := from.Receive(ctx, 1, linkTag); err != nil {
					return err
				}
			}
			binary.LittleEndian.PutUint64(data, uint64(i))
			if err := from.Send(ctx, 1, linkTag, data); err != nil {
				return err
			}
		}
		_, err := from.Receive(ctx, 1, linkTag)
		return err
	}, func(ctx context.Context) error {
		for i := range messages {
			if p.rendezvous {
				if _, err := to.Receive(ctx, 0, linkTag); err != nil {
					return err
				}
				if err := to.Send(ctx, 0, linkTag, ready); err != nil {
					return err
				}
			}
			data, err := to.Receive(ctx, 0, linkTag)
			if err != nil {
				return err
			}
			if len(data) != size || binary.LittleEndian.Uint64(data) != uint64(i) {
				return fmt.Errorf("message %d of %d bytes is not what was sent", i, size)
			}
			to.Release(data)
		}
		return to.Send(ctx, 0, linkTag, ready)
	})
	return sample{seconds: time.Since(start).Seconds()}, err
}
