package model

import (
	"fmt"
	"io"
	"iter"
	"math"
	"text/tabwriter"
)

// Published is a published run with the parameters to predict it.
type Published struct {
	Name    string   `json:"name"` // machine and paper
	Scale   int      `json:"scale"`
	Grid    Grid     `json:"grid"`
	Threads int      `json:"threads"` // per process
	Network string   `json:"network"`
	Schemes []Scheme `json:"schemes"` // the schemes of its code
	TEPS    float64  `json:"teps"`
}

// Runs are published runs that are compared with predictions.
var Runs = []Published{
	{"TSUBAME 2.0, 2D top-down (Ueno11)", 36, Grid{16, 32}, 24, "infiniband-qdr", []Scheme{Push}, 22.8e9},
	{"Fugaku, hybrid (Nakao20)", 40, Grid{320, 288}, 48, "tofu-d", []Scheme{Push, Pull}, 70980e9},
}

// Comparisons are comparisons of published runs with predictions, and the crossing of replicated
// bitmaps and two dimensions.
type Comparisons struct {
	Runs     []Compared `json:"runs"`
	Crossing []Crossing `json:"crossing"`
}

// Compared is a published run with the prediction of this engine on such a machine, assuming
// threads like those of this machine.
type Compared struct {
	Published
	Predicted float64 `json:"predicted"`
	Seconds   float64 `json:"seconds"`
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

// Beside predicts published runs with the rates of this machine's threads.
func Beside(r Rates, runs iter.Seq[Published]) *Comparisons {
	c := &Comparisons{}
	for run := range runs {
		n, err := ParseNetwork(run.Network)
		if err != nil {
			panic(err) // Runs has only known networks
		}
		p := Predict(NewSearch(run.Scale, 16, 0), Machine{run.Grid, run.Threads, r, n},
			run.Schemes...)
		c.Runs = append(c.Runs, Compared{run, p.TEPS, p.Seconds})
	}
	for log := range 12 {
		nodes := 1 << log
		grid := Grid{1 << (log / 2), 1 << (log - log/2)} // Ueno11: 2x2, 2x4, ... 16x32
		c.Crossing = append(c.Crossing,
			Crossing{nodes, grid, replicated(26+log, nodes), ueno(26+log, grid)})
	}
	return c
}

// replicated returns the bytes that a node receives if every level's frontier is sent to all nodes
// as bits.
func replicated(scale, nodes int) float64 {
	levels := float64(len(NewSearch(scale, 16, 0).Levels))
	return levels * math.Exp2(float64(scale)) / 8 * float64(nodes-1) / float64(nodes)
}

// ueno returns the bytes that a node receives in Ueno11's 2D search: every level's frontier of its
// processor column as bits, and a pair of 16 bytes for each edge from the frontier in a block,
// because the code does not combine.
func ueno(scale int, g Grid) float64 {
	bits, pairs := 0.0, 0.0
	r, c := float64(g.Rows), float64(g.Columns)
	for _, l := range NewSearch(scale, 16, 0).Levels {
		bits += math.Exp2(float64(scale)) / 8 / c * (r - 1) / r
		pairs += l.Edges / g.Partitions() * (c - 1) / c
	}
	return bits + 16*pairs
}

// Text writes both tables.
func (c *Comparisons) Text(w io.Writer) error {
	fmt.Fprint(w,
		"Published runs, and this engine's prediction for such a machine with threads like those measured here, as a bound: in the\nmodel nobody waits for another.\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "run\tSCALE\tprocesses\tthreads\tpublished\tpredicted\tratio")
	for _, r := range c.Runs {
		fmt.Fprintf(t, "%s\t%d\t%dx%d\t%d\t%sTEPS\t%sTEPS\t%.2f\n", r.Name, r.Scale, r.Grid.Rows,
			r.Grid.Columns, r.Threads, si(r.TEPS), si(r.Predicted), r.Predicted/r.TEPS)
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
