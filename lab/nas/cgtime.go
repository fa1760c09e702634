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

	"github.com/superstep-go/superstep"
	link "github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/lab/experiment"
	"github.com/superstep-go/superstep/record"
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
	Parts    *experiment.Table `json:"parts"`
	Sizes    *experiment.Table `json:"sizes"`
	Worst    float64           `json:"worst_error"`
	Verified bool              `json:"verified"`
}

func timeTable() *experiment.Table {
	return &experiment.Table{Name: "cg-time", Columns: []experiment.Column{
		{Name: "workers", Meaning: "P, processes on this machine"},
		{Name: "spmv", Unit: experiment.Seconds, Meaning: "product with the matrix, predicted"},
		{Name: "axpy_dot", Unit: experiment.Seconds, Meaning: "four AXPYs and two dot products, predicted"},
		{Name: "messages", Unit: experiment.Seconds, Meaning: "of the vector, predicted"},
		{Name: "barriers", Unit: experiment.Seconds, Meaning: "of two supersteps, predicted"},
		{Name: "predicted", Unit: experiment.Seconds, Meaning: "an iteration"},
		{Name: "measured", Unit: experiment.Seconds, Meaning: "an iteration, first decile; median of the rounds"},
		{Name: "error", Meaning: "|measured - predicted| / measured"},
	}}
}

// TimeCG predicts the time of an iteration for each number of worker processes on this machine, and
// measures it. Each term is measured alone:
//
//   - SpMV, AXPY and dot product on a matrix of the size of a worker's part, in as many processes at
//     once as the machine has processors,
//   - a barrier in supersteps without messages,
//   - messages in supersteps with hardly any entries, with vectors of half and twice the length.
func TimeCG(
	ctx context.Context, class Class, c cluster.Cluster, ranks []int, rounds int, stage func(string),
) (t *CGTime, err error) {
	dir, err := os.MkdirTemp("", "cg-time")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c.Programs, c.Files, c.Threads = Programs(), dir, 1
	t = &CGTime{
		Class: class.Name, Rows: class.CG.Rows, CPUs: runtime.NumCPU(), Verified: true,
		Table: timeTable(), Parts: partsTable(),
	}
	b := &timer{CGTime: t, cluster: c, size: class.CG, rounds: rounds, most: ranks[len(ranks)-1]}
	if err := b.files(ranks); err != nil {
		return nil, err
	}
	stage("measuring operations")
	if err := b.costs(ctx); err != nil {
		return nil, err
	}
	for _, p := range ranks {
		stage(fmt.Sprintf("measuring %d workers", p))
		if err := b.measure(ctx, p); err != nil {
			return nil, fmt.Errorf("%d workers: %w", p, err)
		}
	}
	return t, t.compare()
}

// timer measures the terms and the program.
type timer struct {
	*CGTime
	cluster cluster.Cluster
	size    CGSize
	rounds  int
	most    int                     // the greatest number of workers
	alone   [len(lengths)]stepTimes // supersteps of one worker
}

// lengths are those of the vectors in the measurement of messages, relative to the class.
var lengths = [...]float64{.5, 2}

// files writes the matrices: the class's, those of parts, those with hardly any entries, and two
// with half the rows.
func (b *timer) files(ranks []int) error {
	whole := MakeA(b.size)
	b.Entries = len(whole.Values)
	files := map[string]*Matrix{"cg": whole}
	for _, p := range ranks {
		part := b.size
		part.Rows /= p
		files[partFile(p)] = MakeA(part)
	}
	for i, length := range lengths {
		files[bandFile(i)] = band(int(float64(b.size.Rows)*length), b.most)
	}
	thick := b.size
	thick.Rows /= 2
	thin := thick
	thin.Nonzeros = max(thick.Nonzeros/2, 1)
	files["thin"], files["thick"] = MakeA(thin), MakeA(thick)
	for name, m := range files {
		if err := m.writeFile(b.path(name)); err != nil {
			return err
		}
	}
	return nil
}

func partFile(p int) string { return fmt.Sprintf("part%d", p) }
func bandFile(i int) string { return fmt.Sprintf("band%d", i) }

func (b *timer) path(name string) string { return filepath.Join(b.cluster.Files, name+".wel") }

// on runs a function on a cluster of some workers.
func (b *timer) on(
	ctx context.Context, workers int, do func(ctx context.Context, conn *link.Connection) error,
) error {
	c := b.cluster
	c.Workers = workers
	return c.Run(ctx, c.Connected(do))
}

// with calls a function with a graph of a matrix.
func (b *timer) with(
	ctx context.Context, conn *link.Connection, name string, do func(*superstep.Graph) error,
) error {
	g, err := conn.Load(ctx, b.path(name), superstep.LoadOptions{
		Format: "wel", Directed: true, Weights: superstep.Float64,
	})
	if err != nil {
		return err
	}
	defer g.Close()
	return do(g)
}

// costs measures the costs of operations, and the supersteps of one worker.
func (b *timer) costs(ctx context.Context) error {
	return b.on(ctx, 1, func(ctx context.Context, conn *link.Connection) error {
		err := b.with(ctx, conn, "thin", func(thin *superstep.Graph) error {
			return b.with(ctx, conn, "thick", func(thick *superstep.Graph) error {
				return b.Costs.measure(ctx, thin, thick, b.rounds)
			})
		})
		if err != nil {
			return err
		}
		b.alone, err = b.waits(ctx, conn)
		return err
	})
}

// measure measures the terms of a number of workers and then the program, and adds a row.
func (b *timer) measure(ctx context.Context, p int) error {
	together := min(p, b.CPUs)
	once, err := b.workAtOnce(ctx, together, partFile(p))
	if err != nil {
		return err
	}
	turns := float64(p) / float64(together)
	x := CGParts{SpMV: once.spmv * turns, Vectors: once.vectors * turns}
	var measured []float64
	var trace []record.Superstep
	err = b.on(ctx, p, func(ctx context.Context, conn *link.Connection) error {
		waits, err := b.waits(ctx, conn)
		if err != nil {
			return err
		}
		x.Messages, x.Barriers = b.communication(p, waits)
		return b.with(ctx, conn, "cg", func(g *superstep.Graph) error {
			for range b.rounds {
				cg, err := superstep.Run(ctx, g, CG{b.size.Iterations, b.size.Shift},
					superstep.Options{KeepTrace: true})
				if err != nil {
					return err
				}
				measured, trace = append(measured, iterationTime(cg.Seconds)), cg.Trace
				found := CGResult{Published: b.size.Zeta}
				found.judge(Zeta.Value(cg), Norm.Value(cg))
				b.Verified = b.Verified && found.Verified
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	b.add(p, x, collective.Median(measured))
	addParts(b.Parts, p, trace)
	return nil
}

// add adds the row of a number of workers.
func (t *CGTime) add(p int, x CGParts, measured float64) {
	e := math.Abs(measured-x.total()) / measured
	t.Worst = max(t.Worst, e)
	t.Table.Rows = append(t.Table.Rows, []any{
		p, x.SpMV, x.Vectors, x.Messages, x.Barriers, x.total(), measured,
		fmt.Sprintf("%.0f %%", 100*e),
	})
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
	fmt.Fprintf(w, "\nparts of an iteration in a run, by its record, means of the fastest fifth\n")
	if err := t.Parts.Text(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nwhich is the faster one by the number of rows, with %.0f entries each; predicted, for machines of one process each\n",
		float64(t.Entries)/float64(t.Rows))
	return t.Sizes.Text(w)
}
