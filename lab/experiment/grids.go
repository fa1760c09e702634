package experiment

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/graph"
)

// layout is a grid with the options of a search.
type layout struct {
	name    string
	grid    func(partitions int) graph.Grid
	options engine.Options
}

func row1(n int) graph.Grid { return graph.Grid{Rows: 1, Columns: n} }

// wide returns the grid of Ueno11 for n partitions, a power of two: as square as possible, with C
// >= R.
func wide(n int) graph.Grid {
	rows := 1 << ((bits.Len(uint(n)) - 1) / 2)
	return graph.Grid{Rows: rows, Columns: n / rows}
}

// layouts are those of Ueno11, with top-down searches or replicated bitmaps, and Nakao20's
// improvement of the last one.
var layouts = []layout{
	{"simple", row1, engine.Options{Delivery: delivery.ChooseNaive, Experiment: delivery.Experiment{Uncombined: true}}},
	{"replicated", graph.Of, engine.Options{Delivery: delivery.ChoosePull, Experiment: delivery.Experiment{Encoding: delivery.Bitmap}}},
	{"2d", wide, engine.Options{Delivery: delivery.ChoosePush, Experiment: delivery.Experiment{Uncombined: true, Encoding: delivery.Bitmap}}},
	{"2d-hybrid", graph.Squarest, engine.Options{}},
}

const (
	// gridsBase is the scale of a partition's share of the graph.
	gridsBase = 10
	// gridsMost is the maximum number of simulated partitions. Ueno11 also ends at 1,024.
	gridsMost = 1024
	// ueno11Crossing is the number of nodes from which replicated bitmaps are larger than a grid's
	// traffic in Ueno11, figure 7.
	ueno11Crossing = 512
)

// grids counts what searches send in the layouts of Ueno11 for a growing number of partitions. It
// also measures their times with four partitions.
func grids(ctx context.Context, b *bench) error {
	t := b.table(
		"grids", Column{"partitions", Plain, "one for a process, all simulated in this one"},
		Column{"layout", Plain, "simple: 1 x P, a pair for each edge; replicated: P x 1, all of the frontier as bits; " +
			"2d: R x C top-down, bits expanded, a pair for each edge folded (Ueno11); 2d-hybrid: R x C, push or ring, combined (Nakao20)"},
		Column{"grid", Plain, "R x C; where they differ 2d has more columns, as Ueno11 has, and 2d-hybrid more rows, as Nakao20 has"}, Column{"scale", Plain, "of the graph: the same share for every partition"},
		Column{"frames", Plain, "from partition to partition, of a search"},
		Column{"values", Plain, "in them, who is open on a ring included"},
		Column{"expand", Bytes, "of columns, headers apart"}, Column{"ring", Bytes, "too"},
		Column{"fold", Bytes, "too"},
		Column{"each", Bytes, "of all, that a partition sends in a search, headers apart"},
		Column{"paper", Bytes, "that it would by the papers' formulas, from the levels and edges counted: 16 bytes a pair, the whole frontier's bits; 2d-hybrid: Nakao20, table 5, alone"},
	)
	base := min(gridsBase, b.Scale-4)
	panel := figure.Panel{Title: "bytes that a partition sends (lines: the papers' formulas)", X: figure.Axis{Label: "partitions", Base: 2}, Y: figure.Axis{Base: 10, Text: Bytes.axis}}
	messages := figure.Panel{Title: "messages that a partition sends in a search", X: panel.X, Y: figure.Axis{Base: 10}}
	for i, l := range layouts {
		panel.Series = append(panel.Series, figure.Series{Name: l.name, Style: figure.Styles[i]})
		messages.Series = append(messages.Series, panel.Series[i])
	}
	crossing, formula, most, last := 0, 0, 0, 0.0
	for log := 2; base+log <= b.Scale && 1<<log <= gridsMost; log++ {
		found, err := b.countGrids(ctx, t, 1<<log, base+log)
		if err != nil {
			return err
		}
		for i, f := range found {
			x := float64(int(1) << log)
			panel.Series[i].Dots = append(panel.Series[i].Dots, figure.Point{X: x, Y: f.bytes})
			panel.Series[i].Line = append(panel.Series[i].Line, figure.Point{X: x, Y: f.paper})
			messages.Series[i].Dots = append(messages.Series[i].Dots,
				figure.Point{X: x, Y: f.frames})
		}
		most, last = 1<<log, found[1].paper/found[2].paper
		if crossing == 0 && found[1].bytes > found[2].bytes {
			crossing = 1 << log
		}
		if formula == 0 && found[1].paper > found[2].paper {
			formula = 1 << log
		}
	}
	for i := range layouts {
		messages.Series[i].Line = messages.Series[i].Dots
	}
	b.panel(panel)
	b.panel(messages)
	b.find("replicated bits, as they are sent here, %s", outgrow(crossing, most))
	b.find("by the papers' formulas they %s, where they are %.2f of it; in Ueno11, figure 7, they outgrow it at %d", outgrow(formula, most), last, ueno11Crossing)
	if most < ueno11Crossing {
		b.find("%d partitions are simulated from SCALE %d on", ueno11Crossing,
			gridsBase+bits.Len(ueno11Crossing)-1)
	}
	return b.timeGrids(ctx)
}

// outgrow describes from how many partitions replicated bitmaps send more than the 2D layout. 0
// means not up to most.
func outgrow(partitions, most int) string {
	if partitions == 0 {
		return fmt.Sprintf("do not outgrow top-down 2d up to %d partitions", most)
	}
	return fmt.Sprintf("outgrow top-down 2d at %d of up to %d partitions", partitions, most)
}

// cost is what a partition sends in a search: payload bytes here and by the papers' formulas, and
// frames.
type cost struct{ bytes, paper, frames float64 }

// formula returns the bytes that a partition would send in the papers' code, for a graph of n
// vertices and a search with this number of levels, pulled levels and crossed edges.
func (l *layout) formula(g graph.Grid, n, levels, pulled, edges float64) float64 {
	const pair, word = 16, 8
	r, c := float64(g.Rows), float64(g.Columns)
	switch l.name {
	case "2d-hybrid":
		return word * (pulled*n*r/64 + pulled*n*c/64 + 2*n) / (r * c)
	default: // simple and replicated: one row or one column
		bits := levels * n / 8 / c * (r - 1) / r
		return bits + pair*edges/(r*c)*(c-1)/c
	}
}

// countGrids counts what a partition sends in a search, in each layout.
func (b *bench) countGrids(ctx context.Context, t *Table, partitions, scale int) ([]cost, error) {
	const roots = 2
	s, err := b.open(ctx, fmt.Sprintf("kronecker:scale=%d", scale), roots)
	if err != nil {
		return nil, err
	}
	defer s.close()
	var found []cost
	for i, l := range layouts {
		b.Progress(fmt.Sprintf("searching %d partitions", partitions), int64(i),
			int64(len(layouts)))
		grid := l.grid(partitions)
		sent, err := s.count(ctx, grid, l.options)
		if err != nil {
			return nil, err
		}
		n, p := float64(len(s.roots)), float64(partitions)
		payload := func(v volume) float64 { return float64(v.payload()) / n }
		edges := 0
		for _, step := range sent.steps {
			edges += step.messages
		}
		pulled := float64(sent.records["pull"]) / p / n
		levels := pulled + float64(sent.records["push"])/p/n
		k := cost{payload(sent.all) / p, l.formula(grid, float64(s.in.Vertices), levels, pulled,
			float64(edges)/n), float64(sent.all.frames) / n / p}
		t.add(
			partitions, l.name, grid.String(), scale, float64(sent.all.frames)/n,
			float64(sent.all.values)/n,
			payload(sent.sent["expand"]), payload(sent.sent["ring"]), payload(sent.sent["fold"]),
			k.bytes, k.paper,
		)
		found = append(found, k)
	}
	return found, nil
}

// count builds the graph in a grid and searches it from every root. It returns the traffic.
func (s *source) count(ctx context.Context, grid graph.Grid, o engine.Options) (*traffic, error) {
	g, err := s.build(ctx, graph.Options{Grid: grid})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	sent := &traffic{}
	o.Trace = sent
	x, err := s.searcher(ctx, g, o)
	if err != nil {
		return nil, err
	}
	defer x.close()
	_, err = x.round(ctx)
	return sent, err
}

// timeGrids measures the times of four partitions in every layout, and of one partition.
func (b *bench) timeGrids(ctx context.Context) error {
	const partitions = 4
	t := b.table("times",
		append(append([]Column{{"layout", Plain, "as in the first table"}, {"grid", Plain, "R x C"}}, secondsColumns...), tepsColumn)...)
	s, err := b.open(ctx, fmt.Sprintf("kronecker:scale=%d", b.Scale), 4)
	if err != nil {
		return err
	}
	defer s.close()
	timed := append([]layout{{"1 partition", func(int) graph.Grid { return graph.Of(1) }, engine.Options{}}}, layouts...)
	timed = append(timed, layout{"1d-auto", graph.Of, engine.Options{}})
	var ways []way
	for _, l := range timed {
		g, err := s.build(ctx, graph.Options{Grid: l.grid(partitions)})
		if err != nil {
			return err
		}
		defer g.Close()
		x, err := s.searcher(ctx, g, l.options)
		if err != nil {
			return err
		}
		defer x.close()
		ways = append(ways, x.round)
	}
	times, err := b.alternate(ctx, "searching 4 partitions", ways)
	if err != nil {
		return err
	}
	panel := figure.Panel{
		Title: "TEPS of four partitions in one process", X: figure.Axis{},
		Y:      figure.Axis{Base: 10, Text: TEPS.axis},
		Series: []figure.Series{{Name: "median", Style: figure.Styles[0]}},
	}
	of := map[string]float64{}
	for i, l := range timed {
		median, low, high := times[i].seconds()
		of[l.name] = times[i].teps()
		t.add(l.name, l.grid(partitions).String(), median, low, high, of[l.name])
		panel.X.Names = append(panel.X.Names, l.name)
		panel.Series[0].Dots = append(panel.Series[0].Dots,
			figure.Point{X: float64(i), Y: of[l.name]})
	}
	b.panel(panel)
	b.find("on four partitions in one process 2d has %.2f times the TEPS of simple, 2d-hybrid %.2f times; Ueno11, figure 5, has 2d at about 2", of["2d"]/of["simple"], of["2d-hybrid"]/of["simple"])
	return nil
}
