package model

import (
	"fmt"
	"io"
	"iter"
	"text/tabwriter"
)

// Published is a published run with the parameters to predict it.
type Published struct {
	Name    string   `json:"name"` // machine and paper
	Scale   int      `json:"scale"`
	Grid    Grid     `json:"grid"`
	Threads int      `json:"threads"` // per process
	PerNode int      `json:"processes_per_node"`
	Network string   `json:"network"`
	Schemes []Scheme `json:"schemes"` // the schemes of its code
	TEPS    float64  `json:"teps"`
}

// Runs are published runs that are compared with predictions.
var Runs = []Published{
	{"TSUBAME 2.0, 2D top-down (Ueno11)", 36, Grid{32, 32}, 12, 2, "infiniband-qdr", []Scheme{Pairs}, 22.8e9},
	{"Fugaku, hybrid (Nakao20)", 40, Grid{320, 288}, 48, 1, "tofu-d", []Scheme{Push, Pull}, 70980e9},
}

// Machine returns the published machine with threads like those of this machine.
func (r *Published) Machine(rates Rates, w Waiting) Machine {
	n, err := ParseNetwork(r.Network)
	if err != nil {
		panic(err) // Runs has only known networks
	}
	return Machine{Grid: r.Grid, Threads: r.Threads, PerNode: r.PerNode, Rates: rates, Network: n, Waiting: w}
}

// Comparisons are comparisons of published runs with predictions, and the crossing of replicated
// bitmaps and two dimensions.
type Comparisons struct {
	Runs     []Compared `json:"runs"`
	Crossing []Crossing `json:"crossing"`
	Waiting  Waiting    `json:"waiting"` // measured here
}

// Compared is a published run with predictions for such a machine, assuming threads like those of
// this machine: if nobody waits, with contention, and with skew, too.
type Compared struct {
	Published
	Alone     float64 `json:"predicted_without_waiting"`
	Contended float64 `json:"predicted_with_contention"`
	Predicted float64 `json:"predicted"`
	Seconds   float64 `json:"seconds"`
	Times     Times   `json:"times"`
}

// Crossing has the bytes that a node receives in a search on this number of nodes, with scale 26
// per node (Ueno11): with replicated bitmaps of all frontiers, and in a grid that expands bitmaps
// and folds pairs of vertex and parent.
type Crossing struct {
	Nodes      int     `json:"nodes"`
	Grid       Grid    `json:"grid"`
	Replicated float64 `json:"replicated"`
	Square     float64 `json:"square"`
}

// Beside predicts published runs with the rates of this machine's threads, and with their waiting.
func Beside(r Rates, w Waiting, runs iter.Seq[Published]) *Comparisons {
	c := &Comparisons{Waiting: w}
	for run := range runs {
		s := NewSearch(run.Scale, 16, 0)
		predict := func(w Waiting) *Prediction {
			return Predict(s, run.Machine(r, w), run.Schemes...)
		}
		p := predict(w)
		c.Runs = append(c.Runs, Compared{
			run, predict(Waiting{}).TEPS, predict(Waiting{Contention: w.Contention}).TEPS, p.TEPS,
			p.Seconds, p.Times,
		})
	}
	for log := range 12 {
		nodes := 1 << log
		grid := Grid{1 << (log / 2), 1 << (log - log/2)} // Ueno11: 2x2, 2x4, ... 16x32
		c.Crossing = append(c.Crossing,
			Crossing{nodes, grid, received(26+log, grid, CSR), received(26+log, grid, Pairs)})
	}
	return c
}

// received returns the bytes that a node receives in a search.
func received(scale int, g Grid, scheme Scheme) float64 {
	sum := 0.0
	for _, l := range NewSearch(scale, 16, 0).Levels {
		sum += l.Traffic(scale, g, scheme).Total().Bytes
	}
	return sum / g.Partitions()
}

// Text writes both tables.
func (c *Comparisons) Text(w io.Writer) error {
	fmt.Fprintf(w, `Published runs, and predictions for such machines with threads like those measured here. Ratios are
predicted over published speed: if nobody waits; with contention (a thread beside another of its node
is slower by %.3f); and with skew, too (%.2f of what the degrees tell about the busiest process).

`, c.Waiting.Contention, c.Waiting.Skew)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t,
		"run\tSCALE\tprocesses\tthreads\tpublished\tpredicted\talone\tcontention\tboth")
	for _, r := range c.Runs {
		fmt.Fprintf(t, "%s\t%d\t%dx%d\t%d\t%sTEPS\t%sTEPS\t%.2f\t%.2f\t%.2f\n", r.Name, r.Scale, r.Grid.Rows,
			r.Grid.Columns, r.Threads, si(r.TEPS), si(r.Predicted), r.Alone/r.TEPS,
			r.Contended/r.TEPS, r.Predicted/r.TEPS)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w,
		"\nBytes that a node receives in a search, SCALE 26 a node (Ueno11 crosses at 512 nodes):\n\n")
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "nodes\tgrid\treplicated\t2D\t\n")
	for _, x := range c.Crossing {
		fmt.Fprintf(t, "%d\t%dx%d\t%s\t%s\t\n", x.Nodes, x.Grid.Rows, x.Grid.Columns,
			bytes(x.Replicated), bytes(x.Square))
	}
	return t.Flush()
}
