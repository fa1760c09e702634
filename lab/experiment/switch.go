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

// switchLimit is the allowed ratio of the model's time to that of the best fixed choice.
const switchLimit = 1.05

// arena is a grid with the compared choices. The last ones, fixed of them, always use the same
// delivery.
type arena struct {
	name    string
	grid    graph.Grid
	choices []delivery.Choice
	fixed   int
}

// arenas are one partition, where a pull is a pull of a whole block, and a grid of four, with two
// kinds of pull.
var arenas = []arena{
	{"one partition", graph.Of(1), []delivery.Choice{delivery.ChooseAuto, delivery.ChooseBeamer, delivery.ChoosePush, delivery.ChoosePull}, 2},
	{
		"a grid of 2x2",
		graph.Grid{Rows: 2, Columns: 2},
		[]delivery.Choice{delivery.ChooseAuto, delivery.ChooseBeamer, delivery.ChoosePush, delivery.ChooseRingPull, delivery.ChooseBlockPull},
		3,
	},
}

// direction compares the choice between push and pull by the model, by Beamer's rule, and fixed
// choices. The graphs have different needs: hubs and few levels, no hubs and few levels, as many
// levels as a road network, and one hub.
func direction(ctx context.Context, b *bench) error {
	n := uint64(1) << b.Scale
	side := uint64(math.Sqrt(float64(n)))
	t := b.table(
		"switch",
		append(append([]Column{{"graph", Plain, "of 2^SCALE vertices"}, {"grid", Plain, "of partitions"}, {"delivery", Plain, "who chooses"}}, secondsColumns...),
			tepsColumn,
			Column{"supersteps", Plain, "of all roots"}, Column{"pushed", Plain, "supersteps"},
			Column{"pulled", Plain, "supersteps"},
			Column{"over_best", Ratio, "time over that of the best fixed choice, " + byTurns},
			Column{"over_best_low", Ratio, "its first quartile"},
			Column{"over_best_high", Ratio, "and its third"})...,
	)
	var panels []figure.Panel
	for _, a := range arenas {
		panel := figure.Panel{
			Title: "time of a search over that of the best fixed choice, " + a.name,
			X:     figure.Axis{}, Y: figure.Axis{Base: 2, Text: func(v float64) string { return fmt.Sprintf("%.4g", v) }},
		}
		for i, c := range a.choices {
			panel.Series = append(panel.Series,
				figure.Series{Name: c.String(), Style: figure.Styles[i]})
		}
		panels = append(panels, panel)
	}
	for i, g := range []struct {
		name, text string
		roots      int
	}{
		{"kronecker", fmt.Sprintf("kronecker:scale=%d", b.Scale), 8},
		{"uniform", fmt.Sprintf("uniform:vertices=%d,degree=16", n), 8},
		{"lattice", fmt.Sprintf("grid:rows=%d,columns=%d", side, side), 2},
		{"star", fmt.Sprintf("star:vertices=%d", n), 8},
	} {
		s, err := b.open(ctx, g.text, g.roots)
		if err != nil {
			return err
		}
		for k, a := range arenas {
			ratios, err := b.directions(ctx, t, s, g.name, a)
			if err != nil {
				s.close()
				return err
			}
			panels[k].X.Names = append(panels[k].X.Names, g.name)
			for j, ratio := range ratios {
				panels[k].Series[j].Dots = append(panels[k].Series[j].Dots,
					figure.Point{X: float64(i), Y: ratio})
			}
			verdict := "within"
			if ratios[0] > switchLimit {
				verdict = "beyond"
			}
			b.find("%s, %s: auto takes %.3f of the best fixed choice, %s the limit of %.2f; Beamer's rule %.3f", g.name, a.name, ratios[0], verdict, switchLimit, ratios[1])
		}
		s.close()
	}
	for _, p := range panels {
		b.panel(p)
	}
	return nil
}

// directions measures one graph in one arena. It returns the ratio of each choice to the best fixed
// one.
func (b *bench) directions(
	ctx context.Context, t *Table, s *source, name string, a arena,
) ([]float64, error) {
	g, err := s.build(ctx, graph.Options{Grid: a.grid})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	var ways []way
	counts := make([]traffic, len(a.choices))
	for i, c := range a.choices {
		x, err := s.searcher(ctx, g, engine.Options{Delivery: c})
		if err != nil {
			return nil, err
		}
		defer x.close()
		recorded, err := s.searcher(ctx, g, engine.Options{Delivery: c, Trace: &counts[i]})
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
	times, err := b.alternate(ctx, fmt.Sprintf("searching %s in %s", name, a.name), ways)
	if err != nil {
		return nil, err
	}
	best, least := rounds(nil), math.Inf(1)
	for _, fixed := range times[len(times)-a.fixed:] {
		if median, _, _ := fixed.seconds(); median < least {
			best, least = fixed, median
		}
	}
	ratios := make([]float64, len(a.choices))
	for i, c := range a.choices {
		median, low, high := times[i].seconds()
		ratio, ratioLow, ratioHigh := times[i].over(best)
		steps := func(direction string) int { return counts[i].records[direction] / a.grid.Partitions() }
		pushed, pulled := steps("push"), steps("pull")
		t.add(name, a.grid.String(), c.String(), median, low, high, times[i].teps(),
			steps("none")+pushed+pulled, pushed, pulled, ratio, ratioLow, ratioHigh)
		ratios[i] = ratio
	}
	return ratios, nil
}
