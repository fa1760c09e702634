package experiment

import (
	"context"
	"fmt"
	"math"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/graph"
)

// switchLimit is how much slower than the best fixed choice the model's may be.
const switchLimit = 1.05

// direction compares who chooses between push and pull: the model, Beamer's rule, and nobody, on graphs that want different
// things: hubs and few levels, no hubs and few levels, as many levels as a road network, and one hub.
func direction(ctx context.Context, b *bench) error {
	n := uint64(1) << b.Scale
	side := uint64(math.Sqrt(float64(n)))
	t := b.table(
		"switch",
		append(append([]Column{{"graph", Plain, "of 2^SCALE vertices"}, {"delivery", Plain, "who chooses"}}, secondsColumns...),
			tepsColumn,
			Column{"supersteps", Plain, "of all roots"}, Column{"pushed", Plain, "supersteps"}, Column{"pulled", Plain, "supersteps"},
			Column{"over_best", Ratio, "time over that of the better of push and pull, turn by turn, median"},
			Column{"over_best_low", Ratio, "its first quartile"}, Column{"over_best_high", Ratio, "and its third"})...,
	)
	panel := figure.Panel{
		Title: "time of a search over that of the better fixed choice",
		X:     figure.Axis{}, Y: figure.Axis{Base: 2, Text: func(v float64) string { return fmt.Sprintf("%.4g", v) }},
	}
	for i, c := range directions {
		panel.Series = append(panel.Series, figure.Series{Name: c.String(), Style: figure.Styles[i]})
	}
	for i, g := range []struct {
		name, text string
		roots      int
	}{
		{"kronecker", fmt.Sprintf("kronecker:scale=%d", b.Scale), 8},
		{"uniform", fmt.Sprintf("uniform:vertices=%d,degree=16", n), 8},
		{"grid", fmt.Sprintf("grid:rows=%d,columns=%d", side, side), 2},
		{"star", fmt.Sprintf("star:vertices=%d", n), 8},
	} {
		panel.X.Names = append(panel.X.Names, g.name)
		ratios, err := b.directions(ctx, t, g.name, g.text, g.roots)
		if err != nil {
			return err
		}
		for k, ratio := range ratios {
			panel.Series[k].Dots = append(panel.Series[k].Dots, figure.Point{X: float64(i), Y: ratio})
		}
		verdict := "within"
		if ratios[0] > switchLimit {
			verdict = "beyond"
		}
		b.find("%s: auto takes %.3f of the better fixed choice, %s the limit of %.2f; Beamer's rule %.3f", g.name, ratios[0], verdict, switchLimit, ratios[1])
	}
	b.panel(panel)
	return nil
}

// directions are who chooses; the last two always do the same.
var directions = []delivery.Choice{delivery.ChooseAuto, delivery.ChooseBeamer, delivery.ChoosePush, delivery.ChoosePull}

// directions measures one graph, and returns the ratios of each to the better fixed choice.
func (b *bench) directions(ctx context.Context, t *Table, name, text string, roots int) ([]float64, error) {
	s, err := b.open(ctx, text, roots)
	if err != nil {
		return nil, err
	}
	defer s.close()
	g, err := s.build(ctx, graph.Options{})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	var ways []way
	counts := make([]traffic, len(directions))
	for i, c := range directions {
		x, err := s.searcher(g, engine.Options{Delivery: c})
		if err != nil {
			return nil, err
		}
		defer x.close()
		recorded, err := s.searcher(g, engine.Options{Delivery: c, Trace: &counts[i]})
		if err != nil {
			return nil, err
		}
		_, err = recorded.round(ctx)
		recorded.close()
		if err != nil {
			return nil, err
		}
		ways = append(ways, x.round)
	}
	times, err := b.alternate(ctx, "searching "+name, ways)
	if err != nil {
		return nil, err
	}
	push, _, _ := times[2].seconds()
	pull, _, _ := times[3].seconds()
	best := times[2]
	if pull < push {
		best = times[3]
	}
	ratios := make([]float64, len(directions))
	for i, c := range directions {
		median, low, high := times[i].seconds()
		ratio, ratioLow, ratioHigh := times[i].over(best)
		pushed, pulled := counts[i].records["push"], counts[i].records["pull"]
		t.add(name, c.String(), median, low, high, times[i].teps(), counts[i].records["push"]+pulled+counts[i].records["none"], pushed, pulled, ratio, ratioLow, ratioHigh)
		ratios[i] = ratio
	}
	return ratios, nil
}
