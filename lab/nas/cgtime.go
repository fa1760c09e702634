package nas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/superstep-go/superstep"
	link "github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/lab/experiment"
	"github.com/superstep-go/superstep/lab/netem"
)

// CGTime has the predicted and measured time of an iteration of the vertex program CG, the aim of
// Matsumoto15 (section 6).
type CGTime struct {
	Class    string            `json:"class"`
	Rows     int               `json:"rows"`
	Entries  int               `json:"entries"`
	CPUs     int               `json:"cpus"`
	Costs    Costs             `json:"costs"`
	Table    *experiment.Table `json:"table"`
	Sizes    *experiment.Table `json:"sizes"`
	Worst    float64           `json:"worst_error"`
	Verified bool              `json:"verified"`
}

// node is a process of the model: all processes have such links, and share processors or not.
type node struct {
	collective.Pair
	barrier float64 // of a superstep
	share   float64 // of a processor that a process has, at most 1
}

// values is the size of a number that is sent. A folded sum has its position with it.
const (
	valueBytes = 8
	foldBytes  = 12
)

// exchange returns the time in which a process sends a message of n bytes to each of some others,
// and receives as many.
func (d node) exchange(others int, n float64) float64 {
	if others < 1 {
		return 0
	}
	return (float64(others-1)*(d.Gap+d.Alpha*n) + d.Time(n)) / d.share
}

// iteration predicts an iteration on a grid of processes. Each process sends its rows to the others
// of its column. In a grid with several columns it then sends sums of rows to the others of its
// row.
func (c Costs) iteration(rows, entries float64, grid graph.Grid, d node) (t CGParts) {
	p := float64(grid.Partitions())
	t.SpMV = (c.spmv(rows, entries) + rows*float64(grid.Columns-1)*c.Send) / p / d.share
	t.Vectors = c.vectors(rows) / p / d.share
	t.Messages = d.exchange(grid.Rows-1, rows/p*valueBytes) +
		d.exchange(grid.Columns-1, rows/p*foldBytes)
	t.Barriers = 2 * d.barrier
	return t
}

// CGParts are the parts of the time of an iteration, in seconds.
type CGParts struct{ SpMV, Vectors, Messages, Barriers float64 }

func (t CGParts) total() float64 { return t.SpMV + t.Vectors + t.Messages + t.Barriers }

// TimeCG predicts the time of an iteration for each number of worker processes on this machine, and
// measures it. The costs of operations are measured on one worker, with matrices of half the rows.
func TimeCG(
	ctx context.Context, class Class, c cluster.Cluster, ranks []int, rounds int, stage func(string),
) (t *CGTime, err error) {
	matrix, half := MakeA(class.CG), class.CG
	half.Rows /= 2
	thin := half
	thin.Nonzeros = max(half.Nonzeros/2, 1)
	dir, err := os.MkdirTemp("", "cg-time")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := func(name string) string { return filepath.Join(dir, name+".wel") }
	for name, m := range map[string]*Matrix{"cg": matrix, "thin": MakeA(thin), "thick": MakeA(half)} {
		if err := m.writeFile(file(name)); err != nil {
			return nil, err
		}
	}
	t = &CGTime{
		Class: class.Name, Rows: class.CG.Rows, Entries: len(matrix.Values),
		CPUs: runtime.NumCPU(), Verified: true,
		Table: &experiment.Table{Name: "cg-time", Columns: []experiment.Column{
			{Name: "workers", Meaning: "P, processes on this machine"},
			{Name: "spmv", Unit: experiment.Seconds, Meaning: "product with the matrix, predicted"},
			{Name: "axpy_dot", Unit: experiment.Seconds, Meaning: "four AXPYs and two dot products, predicted"},
			{Name: "messages", Unit: experiment.Seconds, Meaning: "of the vector, predicted"},
			{Name: "barriers", Unit: experiment.Seconds, Meaning: "of two supersteps: measured without messages, minus the work"},
			{Name: "predicted", Unit: experiment.Seconds, Meaning: "an iteration"},
			{Name: "measured", Unit: experiment.Seconds, Meaning: "an iteration, first decile; median of the rounds"},
			{Name: "error", Meaning: "|measured - predicted| / measured"},
		}},
	}
	c.Programs, c.Files, c.Threads = Programs(), dir, 1
	load := func(ctx context.Context, conn *link.Connection, name string) (*superstep.Graph, error) {
		return conn.Load(ctx, file(name), superstep.LoadOptions{
			Format: "wel", Directed: true, Weights: superstep.Float64,
		})
	}
	c.Workers = 1
	stage("measuring operations")
	err = c.Run(ctx, c.Connected(func(ctx context.Context, conn *link.Connection) error {
		thin, err := load(ctx, conn, "thin")
		if err != nil {
			return err
		}
		defer thin.Close()
		thick, err := load(ctx, conn, "thick")
		if err != nil {
			return err
		}
		defer thick.Close()
		return t.Costs.measure(ctx, thin, thick, rounds)
	}))
	if err != nil {
		return nil, err
	}
	for _, p := range ranks {
		stage(fmt.Sprintf("measuring %d workers", p))
		d := node{share: min(1, float64(t.CPUs)/float64(p))}
		if d.Pair, err = loopback(ctx, p); err != nil {
			return nil, err
		}
		c.Workers = p
		var measured []float64
		err := c.Run(ctx, c.Connected(func(ctx context.Context, conn *link.Connection) error {
			g, err := load(ctx, conn, "cg")
			if err != nil {
				return err
			}
			defer g.Close()
			var vectors []float64
			for range rounds {
				kernel := Kernel{Supersteps: 200, Axpy: true, Dot: true}
				r, err := superstep.Run(ctx, g, kernel, superstep.Options{})
				if err != nil {
					return err
				}
				vectors = append(vectors, steady(r.Seconds))
				cg, err := superstep.Run(ctx, g, CG{class.CG.Iterations, class.CG.Shift},
					superstep.Options{})
				if err != nil {
					return err
				}
				measured = append(measured, iterationTime(cg.Seconds))
				found := CGResult{Published: class.CG.Zeta}
				found.judge(Zeta.Value(cg), Norm.Value(cg))
				t.Verified = t.Verified && found.Verified
			}
			work := t.Costs.vectors(float64(t.Rows)) / 2 / float64(p) / d.share
			d.barrier = max(collective.Median(vectors)-work, 0)
			return nil
		}))
		if err != nil {
			return nil, fmt.Errorf("%d workers: %w", p, err)
		}
		t.add(p, d, collective.Median(measured))
	}
	return t, t.compare()
}

// add adds the row of a number of workers.
func (t *CGTime) add(p int, d node, measured float64) {
	x := t.Costs.iteration(float64(t.Rows), float64(t.Entries), graph.Of(p), d)
	e := math.Abs(measured-x.total()) / measured
	t.Worst = max(t.Worst, e)
	t.Table.Rows = append(t.Table.Rows, []any{
		p, x.SpMV, x.Vectors, x.Messages, x.Barriers, x.total(), measured,
		fmt.Sprintf("%.0f %%", 100*e),
	})
}

// loopback measures the mean cost of a message between ranks of this process.
func loopback(ctx context.Context, ranks int) (collective.Pair, error) {
	w, err := netem.Join(ctx, ranks, mesh.Options{}, nil)
	if err != nil {
		return collective.Pair{}, err
	}
	defer w.Close()
	models, errs := make([]*collective.Model, ranks), make([]error, ranks)
	var all sync.WaitGroup
	for i, s := range w.Sessions {
		all.Go(func() {
			models[i], errs[i] = collective.Calibrate(ctx, s.Link(), collective.Calibration{Tag: allTag})
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return collective.Pair{}, err
	}
	return meanPair(models[0]), nil
}

// networks are those of Matsumoto15 (section 4.1) and a common one. Their gap is taken as their
// latency, as Matsumoto15 does.
var networks = []struct {
	name string
	pair collective.Pair
}{
	{"TCA/PEACH2", collective.Pair{Alpha: 1 / 2.8e9, Beta: 2.1e-6, Gap: 2.1e-6}},
	{"MPI/InfiniBand", collective.Pair{Alpha: 1 / 5.4e9, Beta: 3.0e-6, Gap: 3.0e-6}},
	{"Ethernet 10G", collective.Pair{Alpha: 1 / 1.25e9, Beta: 20e-6, Gap: 20e-6}},
}

// apart returns a process on a machine of its own. Its barrier has the first worker's order and the
// reports, each by the algorithm that the model chooses.
func apart(p int, pair collective.Pair) (d node, err error) {
	m := collective.Uniform(p, pair)
	d = node{Pair: pair, share: 1}
	for _, c := range []struct {
		of    collective.Collective
		bytes int
	}{{collective.Broadcast, 256}, {collective.GatherTo, 1 << 10}} {
		_, seconds, err := m.Choose(c.of, c.bytes, 0)
		if err != nil {
			return d, err
		}
		d.barrier += seconds
	}
	return d, nil
}

// compare finds the numbers of rows from which another number of processes, network or grid is the
// faster one, with as many entries in a row as the class has.
func (t *CGTime) compare() error {
	t.Sizes = &experiment.Table{Name: "sizes", Columns: []experiment.Column{
		{Name: "processes", Meaning: "P, each on a machine of its own"},
		{Name: "network", Meaning: "between them"},
		{Name: "small", Meaning: "the faster one for few rows"},
		{Name: "large", Meaning: "the faster one for many rows"},
		{Name: "rows", Meaning: "from which the second is the faster one, predicted"},
	}}
	time := func(grid graph.Grid, pair collective.Pair) (func(rows float64) float64, error) {
		d, err := apart(grid.Partitions(), pair)
		each := float64(t.Entries) / float64(t.Rows)
		return func(rows float64) float64 {
			return t.Costs.iteration(rows, rows*each, grid, d).total()
		}, err
	}
	add := func(p int, network, a, b string, of, than func(float64) float64) {
		small, large, rows := crossing(of, than)
		names := [2]string{a, b}
		t.Sizes.Rows = append(t.Sizes.Rows, []any{p, network, names[small], names[large], rows})
	}
	for _, p := range []int{2, 4, 8, 16, 64} {
		first, err := time(graph.Of(p), networks[0].pair)
		if err != nil {
			return err
		}
		second, err := time(graph.Of(p), networks[1].pair)
		if err != nil {
			return err
		}
		add(p, "", networks[0].name, networks[1].name, first, second)
		for _, n := range networks {
			one, err := time(graph.Of(1), n.pair)
			if err != nil {
				return err
			}
			column, err := time(graph.Of(p), n.pair)
			if err != nil {
				return err
			}
			add(p, n.name, "1 process", fmt.Sprintf("%d processes", p), one, column)
			if p < 4 {
				continue
			}
			square := graph.Grid{Rows: 1 << (log2(p) - log2(p)/2), Columns: 1 << (log2(p) / 2)}
			both, err := time(square, n.pair)
			if err != nil {
				return err
			}
			add(p, n.name, graph.Of(p).String(), square.String(), column, both)
		}
	}
	return nil
}

func log2(n int) int { return int(math.Log2(float64(n))) }

// mostRows is the greatest number of rows for which times are compared.
const mostRows = 1 << 40

// crossing returns which of two functions is less for few rows and for many, and from how many rows
// on.
func crossing(first, second func(rows float64) float64) (small, large int, rows string) {
	less := func(n float64) int {
		if second(n) < first(n) {
			return 1
		}
		return 0
	}
	low, high := 1.0, float64(mostRows)
	small, large = less(low), less(high)
	if small == large {
		return small, large, "all"
	}
	for high/low > 1.001 {
		if middle := math.Sqrt(low * high); less(middle) == small {
			low = middle
		} else {
			high = middle
		}
	}
	return small, large, fmt.Sprintf("%.3g", high)
}

// Text writes the prediction as text.
func (t *CGTime) Text(w io.Writer) error {
	c := t.Costs
	fmt.Fprintf(w, `an iteration of the vertex program CG, class %s: %d rows, %d entries, on %d processors: zeta %s
operations on one thread: call %.3g ns, AXPY %.3g ns, dot %.3g ns, send %.3g ns a row; matrix %.3g ns an entry

`, t.Class, t.Rows, t.Entries, t.CPUs, verdict(t.Verified), 1e9*c.Call, 1e9*c.Axpy, 1e9*c.Dot, 1e9*c.Send, 1e9*c.Entry)
	if err := t.Table.Text(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nwhich is the faster one by the number of rows, with %.0f entries each; predicted, for machines of one process each\n",
		float64(t.Entries)/float64(t.Rows))
	return t.Sizes.Text(w)
}
