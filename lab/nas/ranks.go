package nas

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/ranks"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/lab/netem"
)

// Place says where ranks are: goroutines of this process that meet by TCP over loopback, or
// processes of their own that do.
type Place struct {
	Ranks int
	// Sites is the site of each rank, nil when all are at one; messages between sites take Delay
	// longer, and have Bandwidth in bytes a second together, each way. 0 is no bound, and there is
	// none between processes.
	Sites     []int
	Delay     time.Duration
	Bandwidth float64
	// Command, if not nil, makes a process that will call ServeRank.
	Command func(ctx context.Context) (*exec.Cmd, error)
	// Stage, if not nil, is told how far it is.
	Stage func(name string, done, all int)
}

// task is what all ranks do.
type task struct {
	Class Class
	Delay time.Duration `json:",omitempty"` // between sites
	// Compare or Predict is what is to be done; with neither it is to sort.
	Compare *compare `json:",omitempty"`
	Predict *predict `json:",omitempty"`
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

// read reads a task that a process was given.
func read(work json.RawMessage) (t task, err error) {
	return t, json.Unmarshal(work, &t)
}

// ServeRank is a process of a place.
func ServeRank(ctx context.Context, in io.Reader, out io.Writer) error {
	return ranks.Rank{
		Do: func(ctx context.Context, link collective.Link, given ranks.Task,
			stage func(name string, done, all int),
		) (any, error) {
			t, err := read(given.Work)
			if err != nil {
				return nil, err
			}
			return t.do(ctx, link, given.Sites, stage)
		},
		Slow: func(c net.Conn, given ranks.Task, from, to int) net.Conn {
			t, err := read(given.Work)
			if err != nil {
				return c // which Do says
			}
			return t.slow(c, given.Sites, from, to, nil)
		},
	}.Serve(ctx, in, out)
}

// run has the ranks do a task, and reads what rank 0 reports into report.
func (p Place) run(ctx context.Context, t task, report any) error {
	t.Delay = p.Delay
	var data json.RawMessage
	var err error
	if p.Command == nil {
		data, err = p.here(ctx, t)
	} else {
		o := ranks.Options{Ranks: p.Ranks, Task: ranks.Task{Sites: p.Sites}, Command: p.Command, Stage: p.Stage}
		if o.Task.Work, err = json.Marshal(t); err != nil {
			return err
		}
		data, err = ranks.Launch(ctx, o)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, report)
}

// here has goroutines do a task. When one fails the others end.
func (p Place) here(ctx context.Context, t task) (json.RawMessage, error) {
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
	return json.Marshal(first)
}
