package experiment

import (
	"context"
	"fmt"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/graph"
)

// orderScales is the number of compared graphs. The first is the largest, and each other has a
// quarter of the vertices of its predecessor.
const orderScales = 3

// order compares numbering vertices by falling degree with the input's numbering (Nakao20, 3.2).
// Kronecker's generator scrambles its numbers, so the latter is random.
func order(ctx context.Context, b *bench) error {
	t := b.table("order", append(append([]Column{
		{"scale", Plain, "of a Kronecker graph, in one partition"},
		{"order", Plain, "of vertices: by falling degree, or the input's"},
		{"delivery", Plain, "of all supersteps"},
		{"edges", Plain, "looked at in a search"},
		{"gain", Ratio, "time in the input's order over this, " + byTurns},
	}, secondsColumns...), tepsColumn)...)
	panel := figure.Panel{Title: "TEPS of a search", X: figure.Axis{Label: "SCALE"}, Y: figure.Axis{Base: 10, Text: TEPS.axis}}
	for i := range orderScales {
		scale := b.Scale - 2*(orderScales-1-i)
		if scale < LeastScale {
			continue
		}
		panel.X.Names = append(panel.X.Names, fmt.Sprint(scale))
		if err := b.orders(ctx, t, &panel, scale); err != nil {
			return err
		}
	}
	b.panel(panel)
	return nil
}

// orderChoices are the deliveries that are compared in both orders.
var orderChoices = []delivery.Choice{delivery.ChooseAuto, delivery.ChoosePull}

func (b *bench) orders(ctx context.Context, t *Table, panel *figure.Panel, scale int) error {
	s, err := b.open(ctx, fmt.Sprintf("kronecker:scale=%d", scale), 8)
	if err != nil {
		return err
	}
	defer s.close()
	var ways []way
	var names [][2]string
	var edges []float64
	for _, name := range []string{"input", "degree"} {
		g, err := s.build(ctx, graph.Options{InputOrder: name == "input"})
		if err != nil {
			return err
		}
		defer g.Close()
		for _, c := range orderChoices {
			var sent traffic
			recorded, err := s.searcher(ctx, g, engine.Options{Delivery: c, Trace: &sent})
			if err != nil {
				return err
			}
			_, err = recorded.round(ctx)
			recorded.close()
			if err != nil {
				return err
			}
			looks := 0
			for _, step := range sent.steps {
				looks += step.edges
			}
			x, err := s.searcher(ctx, g, engine.Options{Delivery: c})
			if err != nil {
				return err
			}
			defer x.close()
			ways, names, edges = append(ways, x.round), append(names, [2]string{name, c.String()}),
				append(edges, float64(looks)/float64(len(s.roots)))
		}
	}
	times, err := b.alternate(ctx, fmt.Sprintf("searching SCALE %d", scale), ways)
	if err != nil {
		return err
	}
	at := float64(len(panel.X.Names) - 1)
	for i, n := range names {
		median, low, high := times[i].seconds()
		gain, _, _ := times[i%len(orderChoices)].over(times[i])
		t.add(scale, n[0], n[1], edges[i], gain, median, low, high, times[i].teps())
		if len(panel.Series) <= i {
			panel.Series = append(panel.Series,
				figure.Series{Name: n[0] + ", " + n[1], Style: figure.Styles[i]})
		}
		p := &panel.Series[i]
		p.Dots = append(p.Dots, figure.Point{X: at, Y: times[i].teps()})
		p.Line = p.Dots
		if i == len(orderChoices) {
			b.find("SCALE %d: in degree order a search is %.2f times as fast, and looks at %.2f of the edges", scale, gain, edges[i]/edges[0])
		}
	}
	return nil
}
