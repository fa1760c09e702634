package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/graph"
)

// cables are the connections between workers: memory, loopback, 1 Gbit/s Ethernet, and the delay of
// Matsuda's link between clusters.
var cables = []cable{
	{name: "memory"},
	{name: "loopback TCP"},
	{"0.1 ms, 125 MB/s", 100 * time.Microsecond, 125e6},
	{"1 ms", lagOneWay, 0},
}

// overlapLayouts are layouts of eight workers with a delivery.
var overlapLayouts = []struct {
	name     string
	grid     graph.Grid
	delivery delivery.Choice
}{
	{"2x4 push", graph.Grid{Rows: 2, Columns: 4}, delivery.ChoosePush},
	{"2x4 ring", graph.Grid{Rows: 2, Columns: 4}, delivery.ChooseRingPull},
	{"2x4 whole", graph.Grid{Rows: 2, Columns: 4}, delivery.ChooseBlockPull},
	{"1x8 naive", graph.Grid{Rows: 1, Columns: 8}, delivery.ChooseNaive},
	{"8x1 pull", graph.Grid{Rows: 8, Columns: 1}, delivery.ChoosePull},
}

// overlap compares two ways to send columns: while others are made and edges are walked, or one
// after the other (Ueno11, 4.2; Nakao20, 3.5.3).
func overlap(ctx context.Context, b *bench) error {
	t := b.table("overlap", append([]Column{
		{"layout", Plain, "grid of workers, and delivery in all supersteps"},
		{"cable", Plain, "what joins the workers: memory, TCP, TCP with a delay each way and so many bytes a second from each worker"},
		{"overlap", Plain, "on: all sent before any is waited for, a ring in four parts; off: one at a time, a ring in one part"},
		{"frames", Plain, "of a search, from worker to worker"},
		{"bytes", Bytes, "of them, headers apart"},
		{"gain", Ratio, "time without overlap over this, " + byTurns},
	}, secondsColumns...)...)
	s, err := b.open(ctx, fmt.Sprintf("kronecker:scale=%d", b.Scale), 2)
	if err != nil {
		return err
	}
	defer s.close()
	panel := figure.Panel{
		Title: "time of a search without overlap, over that with it",
		X:     figure.Axis{},
		Y:     figure.Axis{Base: 2, Text: func(v float64) string { return fmt.Sprintf("%.3g", v) }},
	}
	for i, c := range cables {
		panel.Series = append(panel.Series, figure.Series{Name: c.name, Style: figure.Styles[i]})
	}
	for i, l := range overlapLayouts {
		g, err := s.build(ctx, graph.Options{Grid: l.grid})
		if err != nil {
			return err
		}
		panel.X.Names = append(panel.X.Names, l.name)
		for k, c := range cables {
			gain, err := b.overlaps(ctx, s, g, l.name, l.delivery, c, t)
			if err != nil {
				g.Close()
				return err
			}
			panel.Series[k].Dots = append(panel.Series[k].Dots,
				figure.Point{X: float64(i), Y: gain})
			if k == len(cables)-1 {
				b.find("%s over %s: a search takes %.2f times as long without overlap", l.name,
					c.name, gain)
			}
		}
		g.Close()
	}
	b.panel(panel)
	return nil
}

// overlaps measures a layout over a cable with and without overlap. It returns the gain.
func (b *bench) overlaps(
	ctx context.Context, s *source, g *graph.Graph, name string, choice delivery.Choice,
	c cable, t *Table,
) (float64, error) {
	var ways []way
	var counts [2]traffic
	for i, serial := range []bool{false, true} {
		o := engine.Options{Delivery: choice, Experiment: delivery.Experiment{Serial: serial}}
		if c != cables[0] {
			w, err := wireUp(ctx, len(g.Parts), c)
			if err != nil {
				return 0, err
			}
			defer w.Close()
			o.Connect = w.meet
		}
		traced := o
		traced.Trace = &counts[i]
		recorded, err := s.searcher(ctx, g, traced)
		if err != nil {
			return 0, err
		}
		_, err = recorded.round(ctx)
		recorded.close()
		if err != nil {
			return 0, err
		}
		x, err := s.searcher(ctx, g, o)
		if err != nil {
			return 0, err
		}
		defer x.close()
		ways = append(ways, x.round)
	}
	times, err := b.alternate(ctx, fmt.Sprintf("searching %s over %s", name, c.name), ways)
	if err != nil {
		return 0, err
	}
	roots, result := float64(len(s.roots)), 0.0
	for i, word := range []string{"on", "off"} {
		median, low, high := times[i].seconds()
		gain, _, _ := times[1].over(times[i])
		if i == 0 {
			result = gain
		}
		t.add(name, c.name, word, float64(counts[i].all.frames)/roots,
			float64(counts[i].all.payload())/roots, gain, median, low, high)
	}
	return result, nil
}
