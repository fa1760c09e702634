package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/lab/model"
)

// How a row of a figure came about.
const (
	howMeasured = "measured"
	howModelled = "modelled"
	howCounted  = "counted"
)

// machine returns the rates of this machine's threads and their waiting, for the model.
func (b *bench) machine(ctx context.Context) (model.Rates, model.Waiting, error) {
	b.Progress("measuring this machine", 0, 1)
	if b.Measured != nil {
		return b.Measured.Rates, b.Measured.Waiting, nil
	}
	rates, err := model.Measure(ctx)
	if err != nil {
		return rates, model.Waiting{}, err
	}
	waiting, err := model.MeasureWaiting(ctx)
	return rates, waiting, err
}

const (
	weakMost     = 16  // partitions in this process
	weakModelled = 512 // nodes, as in Ueno11, figure 6
	weakScale    = 26  // of the share of a modelled node (Ueno11, 5)
)

// tsubame returns a modelled machine of Ueno11, section 5, for a layout. The codes of the paper used
// 2 processes on a node, and simple 16.
func tsubame(layout, nodes int) (model.Machine, []model.Scheme) {
	network, err := model.ParseNetwork("infiniband-qdr")
	if err != nil {
		panic(err) // the model knows it
	}
	perNode, schemes := 2, []model.Scheme{model.Push, model.Pull}
	switch layout {
	case simple:
		perNode, schemes = 16, []model.Scheme{model.Pairs}
	case replicatedCSR:
		schemes = []model.Scheme{model.CSR}
	case replicatedCSC:
		schemes = []model.Scheme{model.CSC}
	case twoDim:
		schemes = []model.Scheme{model.Pairs}
	}
	g := layouts[layout].grid(nodes * perNode)
	return model.Machine{
		Grid: model.Grid{Rows: g.Rows, Columns: g.Columns}, Threads: max(24/perNode, 1),
		PerNode: perNode, Network: network,
	}, schemes
}

// weak compares the speed of Ueno11's layouts if nodes and graph grow together. One-sided
// operations are only measured, because Ueno11 has no figures of them: its MPI was too slow.
func weak(ctx context.Context, b *bench) error {
	t := b.table("weak",
		Column{"how", Plain, "measured: all partitions in this process, on the same threads; modelled: TSUBAME 2.0 with threads like this machine's"},
		Column{"nodes", Plain, "or partitions"},
		Column{"layout", Plain, "as in the experiment grids"},
		Column{"grid", Plain, "R x C of partitions or processes"},
		Column{"scale", Plain, "the same share of the graph for each node"},
		Column{"seconds", Seconds, "of a search, median of the rounds"},
		tepsColumn,
		Column{"each", Bytes, "that a node sends in a search, headers apart"},
		Column{"rate", "B/s", "of all nodes: their bytes over the time (Ueno11, figure 8)"},
	)
	speed := figure.Panel{
		Title: "TEPS (dots: partitions in this process; lines: modelled on TSUBAME 2.0)",
		X:     figure.Axis{Label: "nodes", Base: 2}, Y: figure.Axis{Base: 10, Text: TEPS.axis},
	}
	for i, l := range layouts {
		speed.Series = append(speed.Series, figure.Series{Name: l.name, Style: figure.Styles[i]})
	}
	rate := figure.Panel{
		Title: "bytes per second of all nodes", X: speed.X,
		Y: figure.Axis{Base: 10, Text: Unit("B/s").axis}, Series: slices.Clone(speed.Series),
	}
	for log := 0; 1<<log <= weakMost; log++ {
		if err := b.weakMeasured(ctx, t, 1<<log, b.Scale-4+log); err != nil {
			return err
		}
	}
	rates, waiting, err := b.machine(ctx)
	if err != nil {
		return err
	}
	for log := 0; 1<<log <= weakModelled; log++ {
		b.Progress(fmt.Sprintf("predicting %d nodes", 1<<log), 0, 1)
		s := model.NewSearch(weakScale+log, 16, 0)
		for i, l := range layouts {
			if l.oneSided {
				continue
			}
			m, schemes := tsubame(i, 1<<log)
			m.Rates, m.Waiting = rates, waiting
			p := model.Predict(s, m, schemes...)
			sent := p.Volume.Total().Bytes
			t.add(howModelled, 1<<log, l.name, fmt.Sprintf("%dx%d", m.Grid.Rows, m.Grid.Columns),
				weakScale+log, p.Seconds, p.TEPS, sent/math.Exp2(float64(log)), sent/p.Seconds)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for i, l := range layouts {
		for _, row := range t.Rows {
			if row[2] != l.name {
				continue
			}
			x := float64(row[1].(int))
			for series, y := range map[*figure.Series]any{&speed.Series[i]: row[6], &rate.Series[i]: row[8]} {
				if row[0] == howMeasured {
					series.Dots = append(series.Dots, figure.Point{X: x, Y: y.(float64)})
				} else {
					series.Line = append(series.Line, figure.Point{X: x, Y: y.(float64)})
				}
			}
		}
	}
	b.panel(speed)
	b.panel(rate)
	for _, how := range []struct {
		name  string
		nodes int
	}{{howMeasured, 4}, {howModelled, 128}, {howModelled, weakModelled}} {
		b.find("%s, %d nodes: 2d has %.2f times the TEPS of simple, and %.2f times those of the better replicated one; in Ueno11, figures 5 and 6, 2d has about 2 times those of simple",
			how.name, how.nodes, t.teps(how.name, how.nodes, twoDim)/t.teps(how.name, how.nodes, simple),
			t.teps(how.name, how.nodes, twoDim)/max(t.teps(how.name, how.nodes, replicatedCSR), t.teps(how.name, how.nodes, replicatedCSC)))
	}
	b.find("modelled, 512 nodes: 2d has %.3g GE/s; Ueno11 measured 22.8 GE/s, and in figure 8 1.4 GB/s a node",
		t.teps(howModelled, weakModelled, twoDim)/1e9)
	return nil
}

// teps returns the TEPS of a layout.
func (t *Table) teps(how string, nodes, layout int) float64 {
	for _, row := range t.Rows {
		if row[0] == how && row[1] == nodes && row[2] == layouts[layout].name {
			return row[6].(float64)
		}
	}
	return math.NaN()
}

// weakMeasured searches with this number of partitions in every layout.
func (b *bench) weakMeasured(ctx context.Context, t *Table, partitions, scale int) error {
	s, err := b.open(ctx, fmt.Sprintf("kronecker:scale=%d", scale), 2)
	if err != nil {
		return err
	}
	defer s.close()
	var ways []way
	sent := make([]traffic, len(layouts))
	for i, l := range layouts {
		x, err := s.inLayout(ctx, &l, l.grid(partitions), &sent[i])
		if err != nil {
			return err
		}
		defer x.close()
		ways = append(ways, func(ctx context.Context) (sample, error) {
			found, err := x.round(ctx)
			if o, ok := x.(*oneSided); ok && err == nil {
				sent[i].add(o) // of all rounds so far
			}
			return found, err
		})
	}
	times, err := b.alternate(ctx, fmt.Sprintf("searching %d partitions", partitions), ways)
	if err != nil {
		return err
	}
	for i, l := range layouts {
		median, _, _ := times[i].seconds()
		all := float64(sent[i].all.payload()) / float64((b.Repeat+1)*len(s.roots))
		t.add(howMeasured, partitions, l.name, l.grid(partitions).String(), scale, median,
			times[i].teps(), all/float64(partitions), all/median)
	}
	return nil
}
