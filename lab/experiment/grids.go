package experiment

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/trace"
)

// layout is a grid with the options of a search.
type layout struct {
	name     string
	grid     func(partitions int) graph.Grid
	options  engine.Options
	oneSided bool // by operations on the memory of others, not by the engine
}

func row1(n int) graph.Grid { return graph.Grid{Rows: 1, Columns: n} }

// wide returns the grid of Ueno11 for n partitions, a power of two: as square as possible, with C
// >= R.
func wide(n int) graph.Grid {
	rows := 1 << ((bits.Len(uint(n)) - 1) / 2)
	return graph.Grid{Rows: rows, Columns: n / rows}
}

var bits64 = delivery.Experiment{Encoding: delivery.Bitmap}

// Indices of layouts.
const (
	simple = iota
	oneSidedLayout
	replicatedCSR
	replicatedCSC
	twoDim
	hybrid
)

// layouts are the four reference codes of Graph500 and the grid of Ueno11 (sections 2.3 to 4), and
// Nakao20's improvement of the grid. The first two send along the edges of the frontier: `simple` a
// pair of vertex and parent, `one-sided` two operations on the receiver's memory. The next two send
// the whole frontier to all as bits: csr then looks from each open vertex for a parent, csc walks
// the frontier's edges.
var layouts = []layout{
	simple:         {name: "simple", grid: row1, options: engine.Options{Delivery: delivery.ChooseNaive, Experiment: delivery.Experiment{Uncombined: true}}},
	oneSidedLayout: {name: "one-sided", grid: row1, oneSided: true},
	replicatedCSR:  {name: "replicated-csr", grid: graph.Of, options: engine.Options{Delivery: delivery.ChoosePull, Experiment: bits64}},
	replicatedCSC:  {name: "replicated-csc", grid: graph.Of, options: engine.Options{Delivery: delivery.ChooseMirrored, Experiment: bits64}},
	twoDim:         {name: "2d", grid: wide, options: engine.Options{Delivery: delivery.ChoosePush, Experiment: delivery.Experiment{Uncombined: true, Encoding: delivery.Bitmap}}},
	hybrid:         {name: "2d-hybrid", grid: graph.Squarest},
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

// grids counts what searches send in the layouts of Ueno11 for a growing number of partitions.
func grids(ctx context.Context, b *bench) error {
	t := b.table(
		"grids", Column{"partitions", Plain, "one for a process, all simulated in this one"},
		Column{"layout", Plain, "simple: 1 x P, a pair for each edge; one-sided: two operations on the owner's memory for each; " +
			"replicated: P x 1, all of the frontier as bits, then from open vertices (csr) or along the frontier's edges (csc); 2d: R x C top-down, bits expanded, a pair for each edge folded (Ueno11); 2d-hybrid: R x C, push or ring, combined (Nakao20)"},
		Column{"grid", Plain, "R x C; where they differ 2d has more columns, as Ueno11 has, and 2d-hybrid more rows, as Nakao20 has"}, Column{"scale", Plain, "of the graph: the same share for every partition"},
		Column{"frames", Plain, "from partition to partition, of a search; one-sided: operations"},
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
		most, last = 1<<log, found[replicatedCSR].paper/found[twoDim].paper
		if crossing == 0 && found[replicatedCSR].bytes > found[twoDim].bytes {
			crossing = 1 << log
		}
		if formula == 0 && found[replicatedCSR].paper > found[twoDim].paper {
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
	return nil
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
	default: // one row, one column, or top-down
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
		sent, err := s.count(ctx, grid, &l)
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

// count searches from every root in a layout. It returns the traffic.
func (s *source) count(ctx context.Context, grid graph.Grid, l *layout) (*traffic, error) {
	sent := &traffic{}
	x, err := s.inLayout(ctx, l, grid, sent)
	if err != nil {
		return nil, err
	}
	defer x.close()
	_, err = x.round(ctx)
	if o, ok := x.(*oneSided); ok {
		sent.add(o)
	}
	return sent, err
}

// add adds what an one-sided search has sent, as messages of the fold.
func (t *traffic) add(o *oneSided) {
	n := int(o.operations.Load())
	t.all = volume{n, n / 2, n * (operationBytes + headerBytes)}
	t.sent = map[string]volume{"fold": t.all}
	t.records = map[string]int{"push": o.levels * o.ranks}
	t.steps = []superstep{{messages: int(o.edges.Load())}}
}

// searching is a graph in a layout that is searched from the source's roots.
type searching interface {
	round(ctx context.Context) (sample, error)
	close()
}

// inLayout builds the graph in a layout. sent, if not nil, gets what the engine sends.
func (s *source) inLayout(
	ctx context.Context, l *layout, grid graph.Grid, sent trace.Journal,
) (searching, error) {
	if l.oneSided {
		return s.oneSided(ctx, grid.Partitions())
	}
	g, err := s.build(ctx, graph.Options{Grid: grid})
	if err != nil {
		return nil, err
	}
	o := l.options
	o.Trace = sent
	x, err := s.searcher(ctx, g, o)
	if err != nil {
		g.Close()
		return nil, err
	}
	return &owning{x}, nil
}

// owning closes the graph of its searcher, too.
type owning struct{ *searcher }

func (o *owning) close() {
	o.searcher.close()
	o.g.Close()
}
