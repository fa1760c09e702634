package experiment

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/graph"
)

// encodings are the compared encodings of presence: the shortest, or always the same. Encoding all
// is not compared, because it sends columns that are not full as bitmaps.
var encodings = []delivery.Encoding{delivery.Auto, delivery.Bitmap, delivery.Sparse}

// encodingLayouts are grids with a delivery in which presence is sent to all, along a column, or
// round a row.
var encodingLayouts = []struct {
	name     string
	grid     graph.Grid
	delivery delivery.Choice
}{
	{"4x1 pull", graph.Of(4), delivery.ChoosePull},
	{"2x2 push", graph.Grid{Rows: 2, Columns: 2}, delivery.ChoosePush},
	{"2x2 ring", graph.Grid{Rows: 2, Columns: 2}, delivery.ChooseRingPull},
}

// encoding compares encodings of presence: bitmaps, positions, or the shorter one (Nakao20, 3.5.2).
func encoding(ctx context.Context, b *bench) error {
	t := b.table("encoding", append([]Column{
		{"layout", Plain, "grid of partitions, and delivery in all supersteps"},
		{"encoding", Plain, "auto: the shorter one, nothing for a full column"},
		{"senders", Plain, "named in expand, one for each partition that hears of it"},
		{"expand", Bytes, "of a search, headers apart"},
		{"ring", Bytes, "too"},
		{"fold", Bytes, "too, with the parents"},
		{"all", Bytes, "of them"},
		{"over_auto", Ratio, "all, over what auto sends"},
		{"time_over_auto", Ratio, byTurns},
	}, secondsColumns...)...)
	steps := b.table(
		"supersteps", Column{"layout", Plain, "as in the first table"},
		Column{"encoding", Plain, "too"}, Column{"superstep", Plain, "of all searches"},
		Column{"senders", Plain, "in it"}, Column{"bytes", Bytes, "sent, headers apart"},
	)
	s, err := b.open(ctx, fmt.Sprintf("kronecker:scale=%d", b.Scale), 4)
	if err != nil {
		return err
	}
	defer s.close()
	for _, l := range encodingLayouts {
		if err := b.encodings(ctx, s, l.name, l.grid, l.delivery, t, steps); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) encodings(
	ctx context.Context, s *source, name string, grid graph.Grid, choice delivery.Choice, t,
	steps *Table,
) error {
	g, err := s.build(ctx, graph.Options{Grid: grid})
	if err != nil {
		return err
	}
	defer g.Close()
	var ways []way
	counts := make([]traffic, len(encodings))
	panel := figure.Panel{Title: name + ": bytes sent", X: figure.Axis{Label: "superstep"}, Y: figure.Axis{Base: 10, Text: Bytes.axis}}
	for i, e := range encodings {
		recorded, err := s.searcher(ctx, g,
			engine.Options{Delivery: choice, Trace: &counts[i], Experiment: delivery.Experiment{Encoding: e}})
		if err != nil {
			return err
		}
		_, err = recorded.round(ctx)
		recorded.close()
		if err != nil {
			return err
		}
		x, err := s.searcher(ctx, g,
			engine.Options{Delivery: choice, Experiment: delivery.Experiment{Encoding: e}})
		if err != nil {
			return err
		}
		defer x.close()
		ways = append(ways, x.round)
		series := figure.Series{Name: e.String(), Style: figure.Styles[i]}
		for n, step := range counts[i].steps {
			bytes := step.all.payload()
			steps.add(name, e.String(), n, step.senders, bytes)
			series.Dots = append(series.Dots, figure.Point{X: float64(n), Y: float64(bytes)})
		}
		for n := len(panel.X.Names); n < len(counts[i].steps); n++ {
			panel.X.Names = append(panel.X.Names, fmt.Sprint(n))
		}
		series.Line = series.Dots
		panel.Series = append(panel.Series, series)
	}
	b.panel(panel)
	times, err := b.alternate(ctx, "searching "+name, ways)
	if err != nil {
		return err
	}
	roots := float64(len(s.roots))
	for i, e := range encodings {
		c := &counts[i]
		median, low, high := times[i].seconds()
		over, _, _ := times[i].over(times[0])
		all := float64(c.all.payload())
		t.add(name, e.String(), float64(c.sent["expand"].values)/roots,
			float64(c.sent["expand"].payload())/roots, float64(c.sent["ring"].payload())/roots,
			float64(c.sent["fold"].payload())/roots,
			all/roots, all/float64(counts[0].all.payload()), over, median, low, high)
	}
	b.find("%s: bits alone send %.2f times what auto does, positions alone %.2f times", name,
		float64(counts[1].all.payload())/float64(counts[0].all.payload()),
		float64(counts[2].all.payload())/float64(counts[0].all.payload()))
	return nil
}
