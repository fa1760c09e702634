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

// Place says where ranks are, goroutines of this process that meet by TCP over loopback.
type Place struct {
	Ranks int
	// Sites is the site of each rank, nil when all are at one; messages between sites take Delay
	// longer, and have Bandwidth in bytes a second together, each way. 0 is no bound.
	Sites     []int
	Delay     time.Duration
	Bandwidth float64
	// Stage, if not nil, is told how far it is.
	Stage func(name string, done, all int)
}

// task is what all ranks do.
type task struct {
	Class Class
	Delay time.Duration // between sites
	// Compare or Predict is what is to be done; with neither it is to sort.
	Compare *compare
	Predict *predict
}

// stager is told how far a rank is.
type stager func(name string, done, all int)

// do does the task on a rank.
func (t task) do(ctx context.Context, link collective.Link, sites []int, stage stager) (any, error) {
	switch {
	case t.Compare != nil:
		return t.Compare.do(ctx, t.Class, link, sites, stage)
	case t.Predict != nil:
		return t.Predict.do(ctx, t.Class, link, sites, stage)
	}
	stage("sorting", 0, 1)
	return sortKeys(ctx, t.Class, link, sites)
}

// slow makes connections between sites lag, and send on the wire of the site they are from.
func (t task) slow(c net.Conn, sites []int, from, to int, wires map[int]*netem.Wire) net.Conn {
	if len(sites) <= max(from, to) || sites[from] == sites[to] || t.Delay == 0 && wires == nil {
		return c
	}
	return netem.Lag(c, t.Delay, wires[sites[from]])
}

// run has the ranks do a task, and returns what rank 0 reports. When one fails the others end.
func (p Place) run(ctx context.Context, t task) (any, error) {
	t.Delay = p.Delay
	var wires map[int]*netem.Wire // from each site
	if p.Bandwidth > 0 {
		wires = map[int]*netem.Wire{}
		for _, site := range p.Sites {
			wires[site] = netem.NewWire(p.Bandwidth)
		}
	}
	w, err := netem.Join(ctx, p.Ranks, mesh.Options{}, func(c net.Conn, from, to int) net.Conn { return t.slow(c, p.Sites, from, to, wires) })
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
