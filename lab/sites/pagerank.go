package sites

import (
	"context"
	"fmt"
	"time"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	link "github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/lab/cluster"
	"github.com/superstep-go/superstep/lab/experiment"
)

// ranking has the times of PageRank on a cluster, in seconds by round.
type ranking struct{ load, run []float64 }

// pageRank loads a graph and runs PageRank on it on two clusters, in turns. Only the workers of one
// report their sites.
func pageRank(ctx context.Context, o Options) (*experiment.Table, error) {
	var found [2]ranking
	names := []string{"no", "yes"}
	c := cluster.Cluster{Workers: o.Workers, Threads: 1, Delay: o.Delay, Command: o.Command}
	unlabelled := c
	unlabelled.Unlabelled = true
	err := unlabelled.Run(ctx,
		unlabelled.Connected(func(ctx context.Context, plain *link.Connection) error {
			return c.Run(ctx,
				c.Connected(func(ctx context.Context, labelled *link.Connection) error {
					for round := range o.Repeat + 1 {
						for i, conn := range []*link.Connection{plain, labelled} {
							if err := found[i].round(ctx, conn, o, round > 0); err != nil {
								return err
							}
						}
					}
					return nil
				}))
		}))
	if err != nil {
		return nil, fmt.Errorf("pagerank: %w", err)
	}
	t := &experiment.Table{Name: "pagerank", Columns: []experiment.Column{
		{Name: "sites_known", Meaning: "whether workers say at which site they are"},
		{Name: "load", Unit: experiment.Seconds, Meaning: "of the graph, by collectives, median of the rounds"},
		{Name: "run", Unit: experiment.Seconds, Meaning: "of PageRank, median of the rounds"},
		{Name: "load_over", Unit: experiment.Ratio, Meaning: "over the load with sites of the same round, median"},
		{Name: "run_over", Unit: experiment.Ratio, Meaning: "over the run with sites of the same round, median"},
	}}
	for i, r := range found {
		t.Rows = append(t.Rows,
			[]any{names[i], collective.Median(r.load), collective.Median(r.run), over(r.load,
				found[1].load), over(r.run, found[1].run)})
	}
	return t, nil
}

func (r *ranking) round(ctx context.Context, conn *link.Connection, o Options, counts bool) error {
	began := time.Now()
	g, err := conn.Load(ctx, o.Graph, superstep.LoadOptions{})
	if err != nil {
		return err
	}
	defer g.Close()
	loaded := time.Now()
	if _, err := superstep.Run(ctx, g, algorithms.PageRank{Iterations: o.Iterations},
		superstep.Options{}); err != nil {
		return err
	}
	if counts {
		r.load, r.run = append(r.load, loaded.Sub(began).Seconds()),
			append(r.run, time.Since(loaded).Seconds())
	}
	return nil
}
