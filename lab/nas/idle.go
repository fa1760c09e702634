package nas

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/superstep-go/superstep"
	link "github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/pregel"
)

// Programs returns the benchmarks' programs, which a cluster needs in addition to the built-in
// ones.
func Programs() []pregel.Registered {
	return []pregel.Registered{
		pregel.Register("nas-cg", CG{}), pregel.Register("idle", Idle{}),
		pregel.Register("nas-kernel", Kernel{}),
	}
}

// Idle is a vertex program without work: one vertex stays awake, and no vertex sends. Its
// supersteps take only the time of the barrier, which all benchmarks on a Cluster pay.
type Idle struct {
	Supersteps int `param:"supersteps" default:"1000" help:"number of supersteps"`
}

// Combiner is never used.
func (Idle) Combiner() pregel.Combiner[uint64] { return combiners.Min[uint64]() }

// Compute keeps the first vertex awake.
func (Idle) Compute(v *pregel.Vertex[uint64, uint64], _ uint64) {
	if v.ID() != 0 {
		v.VoteToHalt()
	}
}

// Coordinate ends the run.
func (p Idle) Coordinate(c *pregel.Coordinator) {
	if c.Superstep >= p.Supersteps {
		c.Halt()
	}
}

// Barrier has the times of supersteps without work, in seconds.
type Barrier struct {
	Workers    int     `json:"workers"`
	Supersteps int     `json:"supersteps"`
	Delay      float64 `json:"delay_seconds,omitempty"` // between two sites, or if Apart all, each way
	Apart      bool    `json:"apart,omitempty"`         // each in a network namespace
	Median     float64 `json:"median_seconds"`
	P90        float64 `json:"p90_seconds"`
	Mean       float64 `json:"mean_seconds"` // of the whole run
}

// RunIdle runs Idle on a cluster. The first tenth of the supersteps does not count.
func RunIdle(ctx context.Context, c cluster.Cluster, supersteps int) (*Barrier, error) {
	b := &Barrier{Workers: c.Workers, Supersteps: supersteps, Delay: c.Delay.Seconds()}
	c.Programs = Programs()
	return b, c.Run(ctx, c.Connected(func(ctx context.Context, conn *link.Connection) error {
		g, err := conn.Load(ctx, "kronecker:scale=8", superstep.LoadOptions{})
		if err != nil {
			return err
		}
		defer g.Close()
		r, err := superstep.Run(ctx, g, Idle{supersteps}, superstep.Options{})
		if err != nil {
			return err
		}
		if r.Supersteps != supersteps || len(r.Seconds) != supersteps {
			return fmt.Errorf("%d supersteps ran, and the seconds of %d are known, expected %d",
				r.Supersteps, len(r.Seconds), supersteps)
		}
		counted := slices.Clone(r.Seconds[supersteps/10:])
		for _, s := range counted {
			b.Mean += s / float64(len(counted))
		}
		slices.Sort(counted)
		b.Median, b.P90 = counted[len(counted)/2], counted[len(counted)*9/10]
		return nil
	}))
}

// Text writes a line of text.
func (b *Barrier) Text(w io.Writer) error {
	place := ""
	switch {
	case b.Apart:
		place = fmt.Sprintf(" in network namespaces with %.3g s of delay each way", b.Delay)
	case b.Delay > 0:
		place = fmt.Sprintf(" at two sites with %.3g s of delay each way", b.Delay)
	}
	_, err := fmt.Fprintf(w,
		"workers: %d%s. A superstep with nothing to do takes %.0f µs (median), %.0f (9 of 10), %.0f (mean) of %d\n",
		b.Workers, place, 1e6*b.Median, 1e6*b.P90, 1e6*b.Mean, b.Supersteps)
	return err
}
