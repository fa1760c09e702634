package nas

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/lab/netem"
)

// Place describes the ranks, which are goroutines of this process connected by TCP over loopback.
type Place struct {
	Ranks int
	// Sites has the site of each rank, nil if all are at one site. Messages between sites have an
	// additional Delay. Together they have Bandwidth in bytes per second in each direction; 0 means
	// no limit.
	Sites     []int
	Delay     time.Duration
	Bandwidth float64
	// Stage, if not nil, is called with the progress.
	Stage func(name string, done, all int)
}

// task is the work of all ranks.
type task struct {
	Class Class
	Delay time.Duration // between sites
	// Compare or Predict is the task. If both are nil, the task is FT or IS.
	Compare *compare
	Predict *predict
	FT      bool
}

// stager receives a rank's progress.
type stager func(name string, done, all int)

// do performs the task on a rank.
func (t task) do(
	ctx context.Context, link collective.Link, sites []int, stage stager,
) (any, error) {
	switch {
	case t.Compare != nil:
		return t.Compare.do(ctx, t.Class, link, sites, stage)
	case t.Predict != nil:
		return t.Predict.do(ctx, t.Class, link, sites, stage)
	case t.FT:
		stage("transforming", 0, 1)
		return transform(ctx, t.Class, link, sites)
	}
	stage("sorting", 0, 1)
	return sortKeys(ctx, t.Class, link, sites)
}

// slow slows down connections between sites: it adds the delay, and sends on the wire of the
// sender's site.
func (t task) slow(c net.Conn, sites []int, from, to int, wires map[int]*netem.Wire) net.Conn {
	if len(sites) <= max(from, to) || sites[from] == sites[to] || t.Delay == 0 && wires == nil {
		return c
	}
	return netem.Lag(c, t.Delay, wires[sites[from]])
}

// run runs a task on all ranks and returns rank 0's report. When one fails, the others end.
func (p Place) run(ctx context.Context, t task) (any, error) {
	t.Delay = p.Delay
	var wires map[int]*netem.Wire // from each site
	if p.Bandwidth > 0 {
		wires = map[int]*netem.Wire{}
		for _, site := range p.Sites {
			wires[site] = netem.NewWire(p.Bandwidth)
		}
	}
	w, err := netem.Join(ctx, p.Ranks, mesh.Options{},
		func(c net.Conn, from, to int) net.Conn { return t.slow(c, p.Sites, from, to, wires) })
	if err != nil {
		return nil, err
	}
	defer w.Close()
	stage := p.Stage
	if stage == nil {
		stage = func(string, int, int) {}
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	var first any
	for i, s := range w.Sessions {
		all.Go(func() {
			told := stage
			if i > 0 {
				told = func(string, int, int) {}
			}
			report, err := t.do(working, s.Link(), p.Sites, told)
			if err != nil {
				cancel(fmt.Errorf("rank %d: %w", i, err))
			}
			if i == 0 {
				first = report
			}
		})
	}
	all.Wait()
	if working.Err() != nil {
		return nil, context.Cause(working)
	}
	return first, nil
}
