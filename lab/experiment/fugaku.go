package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"strconv"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/figure"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/lab/between"
	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/lab/model"
)

const (
	fugakuScale = 24 // of the share of a node (Nakao20, 5.2)
	fugakuCores = 48
	// numbers of nodes of figures 12, 13 and 15: powers of two
	leastFugaku, mostFugaku = 16, 16384
)

// fugaku returns a modelled machine of Nakao20, section 5.2, with a power of two of nodes: R and C
// are equal, or R is twice C.
func fugaku(nodes, perNode int, r model.Rates, w model.Waiting) model.Machine {
	network, err := model.ParseNetwork("tofu-d")
	if err != nil {
		panic(err) // the model knows it
	}
	log := bits.Len(uint(nodes*perNode)) - 1
	return model.Machine{
		Grid:    model.Grid{Rows: 1 << ((log + 1) / 2), Columns: 1 << (log / 2)},
		Threads: fugakuCores / perNode, PerNode: perNode, Rates: r, Network: network, Waiting: w,
	}
}

// shareColumns are the parts of the time in Nakao20, figures 13 and 17.
var shareColumns = []Column{
	{"calculation", Ratio, "share of the time: walking edges and running the program; measured: the ring, too"},
	{"allgather", Ratio, "of the expand"},
	{"alltoall", Ratio, "of the fold"},
	{"sendrecv", Ratio, "of the ring, as far as no calculation hides it"},
	{"imbalance", Ratio, "waiting for others, and the barrier"},
}

// partsOf returns the parts of a predicted time.
func partsOf(t model.Times) []any {
	all := t.Total()
	return []any{
		t.Traverse / all, t.Expand / all, t.Fold / all, t.Ring / all, (t.Wait + t.Agree) / all,
	}
}

// processes compares numbers of processes on a node (Nakao20, figures 12 and 13).
func processes(ctx context.Context, b *bench) error {
	t := b.table("processes", append([]Column{
		{"how", Plain, "measured: worker processes of this machine over loopback; modelled: Fugaku with threads like this machine's"},
		{"nodes", Plain, ""},
		{"processes", Plain, "on a node"},
		{"threads", Plain, "of a process"},
		{"grid", Plain, "R x C of processes"},
		{"scale", Plain, "of the graph"},
		{"seconds", Seconds, "of a search; measured: median of the rounds"},
		{"teps", TEPS, "of all edges of the graph"},
	}, shareColumns...)...)
	if b.Command != nil {
		for _, n := range []int{1, 2, 4} {
			if err := b.processesMeasured(ctx, t, n); err != nil {
				return err
			}
		}
	} else {
		b.find("no worker processes here: the figures are modelled")
	}
	rates, waiting, err := b.machine(ctx)
	if err != nil {
		return err
	}
	panel := figure.Panel{
		Title: "TEPS over those of 1 process a node, modelled", X: figure.Axis{Label: "nodes", Base: 2},
		Y: figure.Axis{Text: Ratio.axis},
	}
	share := figure.Panel{
		Title: "share of communication and waiting, modelled", X: panel.X, Y: panel.Y,
	}
	for i, perNode := range []int{1, 2, 4} {
		s := figure.Series{Name: fmt.Sprintf("%d a node", perNode), Style: figure.Styles[i]}
		panel.Series, share.Series = append(panel.Series, s), append(share.Series, s)
	}
	for nodes := leastFugaku; nodes <= mostFugaku; nodes *= 2 {
		b.Progress(fmt.Sprintf("predicting %d nodes", nodes), 0, 1)
		if err := ctx.Err(); err != nil {
			return err
		}
		s := model.NewSearch(fugakuScale+bits.Len(uint(nodes))-1, 16, 0)
		first := 0.0
		for i, perNode := range []int{1, 2, 4} {
			m := fugaku(nodes, perNode, rates, waiting)
			p := model.Predict(s, m)
			t.add(append([]any{
				howModelled, nodes, perNode, m.Threads, fmt.Sprintf("%dx%d", m.Grid.Rows, m.Grid.Columns),
				s.Scale, p.Seconds, p.TEPS,
			}, partsOf(p.Times)...)...)
			if i == 0 {
				first = p.TEPS
			}
			x := float64(nodes)
			panel.Series[i].Line = append(panel.Series[i].Line, figure.Point{X: x, Y: p.TEPS / first})
			share.Series[i].Line = append(share.Series[i].Line,
				figure.Point{X: x, Y: 1 - p.Times.Traverse/p.Times.Total()})
			if perNode == 4 && (nodes == leastFugaku || nodes == mostFugaku) {
				b.find("modelled, %d nodes: 4 processes a node have %.3f times the TEPS of 1; Nakao20, figure 12, has 20,970 / 18,450 = 1.14 at 16,384 nodes, and more at fewer",
					nodes, p.TEPS/first)
			}
		}
	}
	b.panel(panel)
	b.panel(share)
	return nil
}

// processesMeasured searches on a cluster of this number of worker processes, which share the
// threads.
func (b *bench) processesMeasured(ctx context.Context, t *Table, n int) error {
	text := fmt.Sprintf("kronecker:scale=%d", b.Scale)
	s, err := b.open(ctx, text, 1)
	if err != nil {
		return err
	}
	root := s.roots[0]
	s.close()
	threads := max(b.Team.Size()/n, 1)
	m := fugaku(n, 1, model.Rates{}, model.Waiting{})
	c := cluster.Cluster{Workers: n, Threads: threads, Compress: "off", Command: b.Command}
	o := between.Options{
		Program: "bfs", Parameters: map[string]string{"source": strconv.FormatUint(root, 10)},
		Source: &job.Source{Input: text}, Rows: m.Grid.Rows, Columns: m.Grid.Columns,
		Ways: []between.Way{{Name: "auto", Options: &job.Options{}}}, Rounds: b.Repeat,
	}
	b.Progress(fmt.Sprintf("searching in %d processes", n), 0, 1)
	var r *between.Report
	err = c.Run(ctx, func(ctx context.Context, address string, token control.Token) (err error) {
		r, err = o.Run(ctx, address, token)
		return err
	})
	if err != nil {
		return err
	}
	w := r.Ways[0]
	p, seconds := w.Phases, w.Seconds.Median
	all := p.Expand + p.Traverse + p.Fold + p.Compute + p.Wait
	t.add(howMeasured, 1, n, threads, fmt.Sprintf("%dx%d", m.Grid.Rows, m.Grid.Columns), b.Scale,
		seconds, float64(r.Edges)/seconds, (p.Traverse+p.Compute)/all, p.Expand/all, p.Fold/all, 0.0,
		p.Wait/all)
	b.find("measured, %d processes of %d threads: %.3g s a search, %.2f of it waiting", n, threads,
		seconds, p.Wait/all)
	return nil
}

// phases shows the parts of the time of Nakao20's largest runs (figure 17), and of the ring by
// rendezvous (figure 14b).
func phases(ctx context.Context, b *bench) error {
	t := b.table("phases", append([]Column{
		{"how", Plain, "modelled: Fugaku with threads like this machine's"},
		{"nodes", Plain, "with one process each"},
		{"grid", Plain, "R x C"},
		{"scale", Plain, "of the graph"},
		{"ring", Plain, "eager, or by rendezvous"},
		{"seconds", Seconds, "of a search"},
		{"teps", TEPS, ""},
	}, shareColumns...)...)
	rates, waiting, err := b.machine(ctx)
	if err != nil {
		return err
	}
	panel := figure.Panel{Title: "shares of the time", Y: figure.Axis{Text: Ratio.axis}}
	for i, c := range shareColumns {
		panel.Series = append(panel.Series, figure.Series{Name: c.Name, Style: figure.Styles[i]})
	}
	var found []model.Times
	for i, run := range []struct {
		grid       model.Grid
		scale      int
		rendezvous bool
	}{
		{model.Grid{Rows: 128, Columns: 128}, 38, true},
		{model.Grid{Rows: 128, Columns: 128}, 38, false},
		{model.Grid{Rows: 320, Columns: 288}, 40, false},
	} {
		nodes, how := run.grid.Rows*run.grid.Columns, "eager"
		if run.rendezvous {
			how = "rendezvous"
		}
		b.Progress(fmt.Sprintf("predicting %d nodes, %s", nodes, how), 0, 1)
		if err := ctx.Err(); err != nil {
			return err
		}
		m := fugaku(1, 1, rates, waiting)
		m.Grid, m.Rendezvous = run.grid, run.rendezvous
		p := model.Predict(model.NewSearch(run.scale, 16, 0), m)
		cells := partsOf(p.Times)
		t.add(append([]any{
			howModelled, nodes, fmt.Sprintf("%dx%d", m.Grid.Rows, m.Grid.Columns), run.scale, how,
			p.Seconds, p.TEPS,
		}, cells...)...)
		panel.X.Names = append(panel.X.Names, fmt.Sprintf("%d %s", nodes, how))
		for k := range cells {
			panel.Series[k].Dots = append(panel.Series[k].Dots,
				figure.Point{X: float64(i), Y: cells[k].(float64)})
		}
		found = append(found, p.Times)
	}
	b.panel(panel)
	for k, name := range map[int]string{1: "allgather", 3: "sendrecv"} {
		b.find("from 16,384 to 92,160 nodes the share of %s goes from %.3f to %.3f; in Nakao20, figure 17, it rises",
			name, partsOf(found[1])[k], partsOf(found[2])[k])
	}
	b.find("by rendezvous a search on 16,384 nodes takes %.3f times as long; Nakao20, 5.4, has 19,496 / 18,450 = 1.06",
		found[0].Total()/found[1].Total())
	return nil
}

// boost is the frequency of Fugaku's boost mode over that of its normal mode.
const boost = 2.2 / 2.0

// frequency predicts the gain of faster threads (Nakao20, figure 15). A search does no floating-point
// arithmetic, so that eco mode, which turns off half of the floating-point units, costs nothing.
func frequency(ctx context.Context, b *bench) error {
	t := b.table("frequency",
		Column{"how", Plain, "modelled: Fugaku with threads like this machine's"},
		Column{"nodes", Plain, "with one process each"}, Column{"scale", Plain, "of the graph"},
		Column{"normal", TEPS, ""}, Column{"boost", TEPS, "if threads are 1.1 times as fast"},
		Column{"gain", Ratio, "boost over normal"},
		Column{"calculation", Ratio, "share of the time in normal mode, waiting included"},
	)
	rates, waiting, err := b.machine(ctx)
	if err != nil {
		return err
	}
	panel := figure.Panel{
		Title: "gain of 1.1 times the frequency, modelled", X: figure.Axis{Label: "nodes", Base: 2},
		Y: figure.Axis{Text: Ratio.axis}, Series: []figure.Series{{Name: "gain", Style: figure.Styles[0]}},
	}
	least, most := 2.0, 0.0
	for nodes := leastFugaku; nodes <= mostFugaku; nodes *= 2 {
		b.Progress(fmt.Sprintf("predicting %d nodes", nodes), 0, 1)
		if err := ctx.Err(); err != nil {
			return err
		}
		s := model.NewSearch(fugakuScale+bits.Len(uint(nodes))-1, 16, 0)
		p := model.Predict(s, fugaku(nodes, 1, rates, waiting))
		q := model.Predict(s, fugaku(nodes, 1, rates.Faster(boost), waiting))
		gain := q.TEPS / p.TEPS
		t.add(howModelled, nodes, s.Scale, p.TEPS, q.TEPS, gain,
			(p.Times.Traverse+p.Times.Wait)/p.Times.Total())
		panel.Series[0].Line = append(panel.Series[0].Line, figure.Point{X: float64(nodes), Y: gain})
		least, most = min(least, gain), max(most, gain)
	}
	b.panel(panel)
	b.find("modelled: boost gains %.3f to %.3f; Nakao20, figure 15a, has 1.03 to 1.12", least, most)
	if _, err := os.Stat("/sys/class/powercap"); errors.Is(err, fs.ErrNotExist) {
		b.find("power (figure 15b) is not measured: this machine has no power meter (/sys/class/powercap)")
	} else {
		b.find("power (figure 15b) is not measured: the lab does not read power meters")
	}
	return nil
}
