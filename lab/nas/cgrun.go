package nas

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/superstep-go/superstep"
	link "github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/lab/cluster"
)

// tolerance is the maximum relative error of zeta.
const tolerance = 1e-10

// CGResult is a run of CG.
type CGResult struct {
	Class      string  `json:"class"`
	Rows       int     `json:"rows"`
	Entries    int     `json:"entries"`
	Iterations int     `json:"iterations"`
	Grid       string  `json:"grid"`
	Workers    int     `json:"workers"` // processes; 0 if it ran in this process
	Threads    int     `json:"threads"` // in total
	Delay      float64 `json:"delay_seconds,omitempty"`
	Zeta       float64 `json:"zeta"`
	Published  float64 `json:"published_zeta"`
	Error      float64 `json:"relative_error"`
	Norm       float64 `json:"rnorm"` // the length of the last system's residual
	Verified   bool    `json:"verified"`
	Supersteps int     `json:"supersteps"`
	Sent       int     `json:"messages_sent"` // values sent between partitions
	Bytes      int     `json:"bytes_sent"`
	Seconds    float64 `json:"seconds"`
	MFLOPS     float64 `json:"mflops"`
}

// CGPlace is where CG runs.
type CGPlace struct {
	Grid    superstep.Grid
	Threads int
	// Cluster, if not nil, has the workers. Then Threads is the number of each worker.
	Cluster *cluster.Cluster
}

// RunCG makes the matrix of a class and runs CG on it, after an iteration that does not count, as
// in NPB. A wrong zeta is not an error but in the result.
func RunCG(ctx context.Context, class Class, at CGPlace) (r *CGResult, err error) {
	matrix := MakeA(class.CG)
	o := superstep.LoadOptions{Grid: at.Grid, Directed: true, Weights: superstep.Float64}
	r = &CGResult{Rows: matrix.Rows(), Entries: len(matrix.Values), Grid: at.Grid.String(), Threads: at.Threads}
	if at.Cluster == nil {
		o.Threads = at.Threads
		g, err := superstep.FromEdges(ctx, matrix.Edges(), o)
		if err != nil {
			return nil, err
		}
		defer g.Close()
		return r, r.run(ctx, class, g, superstep.Options{Threads: at.Threads})
	}
	r.Delay = at.Cluster.Delay.Seconds()
	r.Workers, r.Threads = at.Cluster.Workers, at.Cluster.Workers*at.Cluster.Threads
	dir, err := os.MkdirTemp("", "nas-cg")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "matrix.wel")
	if err := matrix.writeFile(file); err != nil {
		return nil, err
	}
	o.Format = "wel"
	c := *at.Cluster
	c.Programs, c.Files = Programs(), dir
	return r, c.Run(ctx, c.Connected(func(ctx context.Context, conn *link.Connection) error {
		g, err := conn.Load(ctx, file, o)
		if err != nil {
			return err
		}
		defer g.Close()
		return r.run(ctx, class, g, superstep.Options{})
	}))
}

// run runs CG on the graph of the matrix.
func (r *CGResult) run(
	ctx context.Context, class Class, g *superstep.Graph, o superstep.Options,
) error {
	c := class.CG
	if _, err := superstep.Run(ctx, g, CG{1, c.Shift}, o); err != nil {
		return err
	}
	begin := time.Now()
	res, err := superstep.Run(ctx, g, CG{c.Iterations, c.Shift}, o)
	if err != nil {
		return err
	}
	whole := time.Since(begin).Seconds()
	for _, s := range res.Seconds {
		r.Seconds += s
	}
	// the client was too slow, and the master has dropped the times of some supersteps
	if math.IsNaN(r.Seconds) {
		r.Seconds = whole
	}
	r.Class, r.Iterations, r.Published = class.Name, c.Iterations, c.Zeta
	r.Supersteps, r.Sent, r.Bytes = res.Supersteps, res.MessagesSent, res.BytesSent
	r.judge(Zeta.Value(res), Norm.Value(res))
	r.MFLOPS = c.Operations() / r.Seconds / 1e6
	return nil
}

// judge compares zeta with the published value.
func (r *CGResult) judge(zeta, norm float64) {
	r.Zeta, r.Norm = zeta, norm
	r.Error = math.Abs(zeta-r.Published) / r.Published
	r.Verified = r.Error <= tolerance // false for NaN
}

// Text writes the result as text.
func (r *CGResult) Text(w io.Writer) error {
	place := "this process"
	if r.Workers > 0 {
		place = fmt.Sprintf("%d worker processes", r.Workers)
	}
	if r.Delay > 0 {
		place += fmt.Sprintf(" at two sites with %.3g s of delay each way", r.Delay)
	}
	_, err := fmt.Fprintf(w, `NAS CG, class %s: %d rows, %d entries, %d iterations of %d
grid %s in %s, %d threads: %d supersteps, %d values and %d bytes between partitions
zeta %.13f, published %.13f, relative error %.1e: %s; rnorm %.2e
%.4g s, %.5g MFLOPS
`, r.Class, r.Rows, r.Entries, r.Iterations, innerIterations, r.Grid, place, r.Threads, r.Supersteps, r.Sent, r.Bytes,
		r.Zeta, r.Published, r.Error, verdict(r.Verified), r.Norm, r.Seconds, r.MFLOPS)
	return err
}

func verdict(verified bool) string {
	if verified {
		return "verified"
	}
	return "WRONG"
}

// writeFile writes the matrix as a list of edges with weights. Reading gives exactly the same
// weights.
func (m *Matrix) writeFile(name string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	for _, e := range m.Edges() {
		fmt.Fprintln(w, e.From, e.To, e.Weight) // the shortest form that reads back exactly
	}
	return w.Flush()
}
