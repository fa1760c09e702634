package master

import (
	"fmt"
	"maps"
	"slices"

	"github.com/superstep-go/superstep/internal/control"
)

// loseGraph takes the loss of a share of a graph: it is loaded again, from its source, on the workers that are there, or given up.
func (c *cluster) loseGraph(g *graph, worker, what string) {
	reason := fmt.Sprintf("worker %s, which held a share of it, %s", worker, what)
	if c.retries == 0 {
		c.giveUp(g, reason+": load it again")
		return
	}
	c.loadAgain(g, reason)
}

// loseGraphs takes the loss of a worker's shares of graphs.
func (c *cluster) loseGraphs(w *worker, what string) {
	for _, g := range c.loaded() {
		if uses(g.placements, w.name) {
			c.loseGraph(g, w.name, what)
		}
	}
}

// giveUp fails a graph, and frees what workers hold of it.
func (c *cluster) giveUp(g *graph, reason string) {
	g.state, g.reason, g.again = control.GraphState_GRAPH_STATE_FAILED, reason, false
	g.report.Bytes = 0 // the shares are freed
	c.graphTurned(g)
	c.dropShares(g)
}

// loadAgain frees what workers hold of a graph, and has it loaded again when that is done and a worker is there.
func (c *cluster) loadAgain(g *graph, reason string) {
	g.state, g.reason, g.again = control.GraphState_GRAPH_STATE_WAITING, reason+toLoadAgain, true
	g.report.Bytes, g.why = 0, reason
	c.graphTurned(g)
	c.dropShares(g)
	g.missing = map[string]bool{}
}

// toLoadAgain ends the reason of a graph that waits for that.
const toLoadAgain = "; it is to be loaded again"

// reload begins to load the graphs that have lost a share. While a worker is about to come back, which does not take longer than a lease, they
// wait for it.
func (c *cluster) reload() {
	for _, w := range c.workers {
		if w.state == control.WorkerState_WORKER_STATE_REGISTERED && !w.attached {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.graphs)) {
		if g := c.graphs[name]; g.again && !g.due {
			why := g.why
			if why != "" {
				why += "; it is loaded again"
			}
			lack, err := c.beginLoad(g, why)
			switch {
			case err != nil || lack == nil: // it is loaded, or there is no worker
			case !lack.wait:
				c.giveUp(g, lack.reason)
			case g.reason != lack.reason:
				g.reason = lack.reason
				c.graphTurned(g)
			}
		}
	}
}
