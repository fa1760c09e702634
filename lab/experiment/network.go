package experiment

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/lab/model"
	"github.com/superstep-go/superstep/lab/netem"
)

// together calls do for each rank concurrently, and returns the time until the last has ended. When
// one fails, the others are cancelled.
func together(
	ctx context.Context, ranks int, do func(ctx context.Context, rank int) error,
) (sample, error) {
	start := time.Now()
	var run func(ctx context.Context, lo, hi int) error
	run = func(ctx context.Context, lo, hi int) error {
		if hi-lo == 1 {
			return do(ctx, lo)
		}
		middle := (lo + hi) / 2
		return both(ctx, func(ctx context.Context) error { return run(ctx, lo, middle) },
			func(ctx context.Context) error { return run(ctx, middle, hi) })
	}
	err := run(ctx, 0, ranks)
	return sample{seconds: time.Since(start).Seconds()}, err
}

// numbered returns data of n bytes that contain a number.
func numbered(n, number int) []byte {
	data := make([]byte, max(n, 8))
	binary.LittleEndian.PutUint64(data, uint64(number))
	return data
}

// checkNumber returns an error unless the data contain the number.
func checkNumber(data []byte, n, number int) error {
	if len(data) != max(n, 8) || binary.LittleEndian.Uint64(data) != uint64(number) {
		return fmt.Errorf("a message of %d bytes is not number %d of %d bytes", len(data), number, n)
	}
	return nil
}

// Sizes of the all-to-all. Buffers are 1/256 of Ueno11's, which were 64, 256 and 1,024 MB.
var (
	alltoallRanks   = []int{2, 4, 8, 16, 32}
	alltoallBuffers = []int{256 << 10, 1 << 20, 4 << 20}
	alltoallNodes   = []int{8, 32, 128, 512} // modelled, with 4 processes each
	uenoBuffers     = []int{64 << 20, 256 << 20, 1 << 30}
)

// alltoallRates measures an all-to-all between more and more ranks, each with a buffer of the same
// size (Ueno11, figure 3).
func alltoallRates(ctx context.Context, b *bench) error {
	t := b.table("alltoall", append([]Column{
		{"how", Plain, "measured: ranks of this process over loopback TCP, which share its processors; modelled: TSUBAME 2.0, 4 processes a node, without software and congestion"},
		{"processes", Plain, ""},
		{"buffer", Bytes, "that a process sends, of which each other process gets an equal part"},
		{"algorithm", Plain, ""},
		{"rate", "B/s", "of a process: bytes to others over the time"},
		{"all", "B/s", "of all processes"},
	}, secondsColumns...)...)
	panel := figure.Panel{
		Title: "rate of all processes (dots: measured; lines: modelled on TSUBAME 2.0)",
		X:     figure.Axis{Label: "processes", Base: 2},
		Y:     figure.Axis{Base: 10, Text: Unit("B/s").axis},
	}
	for i, buffer := range alltoallBuffers {
		panel.Series = append(panel.Series, figure.Series{
			Name: fmt.Sprintf("%s, %s", Bytes.text(buffer), Bytes.text(uenoBuffers[i])), Style: figure.Styles[i],
		})
	}
	for _, ranks := range alltoallRanks {
		if ranks > b.ranks() {
			break
		}
		if err := b.alltoall(ctx, t, &panel, ranks); err != nil {
			return err
		}
	}
	network, err := model.ParseNetwork("infiniband-qdr")
	if err != nil {
		return err
	}
	for _, nodes := range alltoallNodes {
		for i, buffer := range uenoBuffers {
			p, n := float64(4*nodes), float64(buffer)
			sent := n * (p - 1) / p
			seconds := 4*network.Alpha*sent + (p-1)*network.Beta
			t.add(howModelled, 4*nodes, buffer, "pairwise", sent/seconds, p*sent/seconds, seconds, seconds, seconds)
			panel.Series[i].Line = append(panel.Series[i].Line, figure.Point{X: p, Y: p * sent / seconds})
		}
	}
	b.panel(panel)
	b.find("Ueno11, figure 3: on 512 nodes the rate of a process with 1024 MB is below 1/4 of that on 32, by software; the model has only a time for each message and byte")
	return nil
}

// ranks returns the greatest number of ranks: few in tests, whose graphs are small.
func (b *bench) ranks() int {
	if b.Small {
		return 4
	}
	return alltoallRanks[len(alltoallRanks)-1]
}

// alltoall measures between a number of ranks.
func (b *bench) alltoall(ctx context.Context, t *Table, panel *figure.Panel, ranks int) error {
	w, err := netem.Join(ctx, ranks, mesh.Options{Compress: mesh.CompressOff}, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	groups := make([]*collective.Group, ranks)
	for rank := range groups {
		if groups[rank], err = collective.NewGroup(w.Sessions[rank].Link(), nil, nil); err != nil {
			return err
		}
	}
	var ways []way
	for _, buffer := range alltoallBuffers {
		part := buffer / ranks
		ways = append(ways, func(ctx context.Context) (sample, error) {
			return together(ctx, ranks, func(ctx context.Context, rank int) error {
				blocks := make([][]byte, ranks)
				for to := range blocks {
					blocks[to] = numbered(part, rank*ranks+to)
				}
				got, err := groups[rank].Alltoall(ctx, collective.Call{Tag: linkTag, Bytes: part}, blocks)
				for from := range got {
					if err == nil {
						err = checkNumber(got[from], part, from*ranks+rank)
					}
				}
				return err
			})
		})
	}
	times, err := b.alternate(ctx, fmt.Sprintf("all-to-all of %d ranks", ranks), ways)
	if err != nil {
		return err
	}
	for i, buffer := range alltoallBuffers {
		median, low, high := times[i].seconds()
		algorithm, err := groups[0].Choose(collective.Alltoall, buffer/ranks, 0)
		if err != nil {
			return err
		}
		rate := float64(buffer/ranks*(ranks-1)) / median
		t.add(howMeasured, ranks, buffer, string(algorithm), rate, rate*float64(ranks), median, low, high)
		panel.Series[i].Dots = append(panel.Series[i].Dots,
			figure.Point{X: float64(ranks), Y: rate * float64(ranks)})
		b.find("measured, %d processes, %s: %s/s for each", ranks, Bytes.text(buffer), Bytes.text(rate))
	}
	return nil
}

const (
	ringMessage = 32 << 10 // bytes: a sub-step's share of a bitmap
	inFlight    = 4        // sub-steps (Nakao20, 3.5.3)
)

// ringTimes measures the ring of a bottom-up level, whose messages go round a processor row, sent at
// once or by rendezvous, over links with delay (Nakao20, figure 14a).
func ringTimes(ctx context.Context, b *bench) error {
	t := b.table("ring", append([]Column{
		{"processes", Plain, "of a processor row: C"},
		{"how", Plain, "eager: each message at once; rendezvous: after request and answer"},
		{"message", Bytes, fmt.Sprintf("of which %d are in flight", inFlight)},
		{"least", Seconds, "that follows from the delay: C-1 times one, or three, ways"},
		{"over_eager", Ratio, "time, " + byTurns},
	}, secondsColumns...)...)
	panel := figure.Panel{
		Title: fmt.Sprintf("time of a ring, %v of delay each way", lagOneWay),
		X:     figure.Axis{Label: "processes of a row", Base: 2}, Y: figure.Axis{Base: 10, Text: Seconds.axis},
		Series: []figure.Series{{Name: "eager", Style: figure.Styles[0]}, {Name: "rendezvous", Style: figure.Styles[1]}},
	}
	for _, c := range []int{2, 4, 8, 16} {
		w, err := netem.Join(ctx, c, mesh.Options{Compress: mesh.CompressOff},
			func(raw net.Conn, _, _ int) net.Conn { return netem.Lag(raw, lagOneWay, nil) })
		if err != nil {
			return err
		}
		var ways []way
		for i := range panel.Series {
			ways = append(ways, func(ctx context.Context) (sample, error) {
				return together(ctx, c, func(ctx context.Context, rank int) error {
					return passRound(ctx, w.Sessions[rank].Link(), i == 1)
				})
			})
		}
		times, err := b.alternate(ctx, fmt.Sprintf("passing round %d processes", c), ways)
		w.Close()
		if err != nil {
			return err
		}
		for i := range panel.Series {
			s := &panel.Series[i]
			median, low, high := times[i].seconds()
			over, _, _ := times[i].over(times[0])
			t.add(c, s.Name, ringMessage, float64((c-1)*(1+2*i))*lagOneWay.Seconds(), over, median, low, high)
			s.Dots = append(s.Dots, figure.Point{X: float64(c), Y: median})
			s.Line = s.Dots
			if i == 1 {
				b.find("%d processes: by rendezvous a ring takes %.2f times as long", c, over)
			}
		}
	}
	b.panel(panel)
	return nil
}

// passRound passes the messages of all ranks round once.
func passRound(ctx context.Context, link collective.Link, rendezvous bool) error {
	c, rank := link.Size(), link.Rank()
	next, previous := (rank+1)%c, (rank+c-1)%c
	const request = linkTag + 1
	swap := func(to, from int, tag uint32, data []byte, check func([]byte) error) error {
		for range inFlight {
			if err := link.Send(ctx, to, tag, data); err != nil {
				return err
			}
		}
		for range inFlight {
			got, err := link.Receive(ctx, from, tag)
			if err == nil {
				err = check(got)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for hop := range c - 1 {
		if rendezvous {
			any := func([]byte) error { return nil }
			if err := swap(next, previous, request, []byte{1}, any); err != nil {
				return err
			}
			if err := swap(previous, next, request+1, []byte{1}, any); err != nil {
				return err
			}
		}
		err := swap(next, previous, linkTag, numbered(ringMessage, (rank+c-hop)%c),
			func(data []byte) error { return checkNumber(data, ringMessage, (rank+2*c-hop-1)%c) })
		if err != nil {
			return err
		}
	}
	return nil
}
