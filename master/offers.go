package master

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
)

// loadID identifies the load that a graph came from, and each share of it.
type loadID struct {
	master string // the run of the master that asked for it
	number uint64 // larger than that of any load before, of earlier runs too
}

func (l loadID) String() string { return fmt.Sprintf("%s-%d", l.master, l.number) }

func idOf(o *control.Offer) loadID { return loadID{o.GetLoad().GetMaster(), o.GetLoad().GetNumber()} }

// offered takes all the shares of graphs that a worker holds, which it tells when it attaches. A
// graph that waits for its share has it again, and one whose share it no longer has fails. What
// fits nothing is not on the list that the worker gets: it frees that.
func (c *cluster) offered(now time.Duration, w *worker, offers []*control.Offer) {
	if !w.met && !c.known && now <= c.hold {
		for _, o := range offers {
			c.adopt(w, o)
		}
	}
	for _, g := range c.loaded() {
		if !placedOn(g.placements, w.name, w.incarnation) {
			continue
		}
		i := slices.IndexFunc(offers, func(o *control.Offer) bool { return o.GetLoad().GetGraph() == g.name && idOf(o) == g.load })
		if i < 0 {
			c.loseGraph(g, w.name, "no longer has it")
			continue
		}
		if !w.met { // the graph is from before the master's restart
			share := offers[i].GetReport()
			g.report.Bytes += share.GetBytes()
			g.report.Seconds = max(g.report.Seconds, share.GetSeconds())
		}
		if g.missing[w.name] {
			delete(g.missing, w.name)
			g.settle()
			c.graphTurned(g)
		}
	}
}

// unmet reports whether the master has just started and no worker has attached to it yet: they may
// still offer any graph.
func (c *cluster) unmet(now time.Duration) bool {
	for _, w := range c.workers {
		if w.met {
			return false
		}
	}
	return now <= c.hold && !c.known
}

// adopt enters the graph of an offer that a worker makes when it first attaches to this run of the
// master: an earlier run loaded it. It waits for the shares of its other workers. Of two graphs of
// one name the one that was loaded last counts. A graph is not entered if a share of it is gone:
// one of its workers has attached without it, or was started anew.
func (c *cluster) adopt(w *worker, o *control.Offer) {
	l, r := o.GetLoad(), o.GetReport()
	n := uint64(len(l.GetPlacements()))
	if !control.ValidName(l.GetGraph()) || l.Source().Input == "" || r == nil ||
		n > layout.MaxPartitions || uint64(l.GetRows())*uint64(l.GetColumns()) != n {
		return
	}
	g := graphOf(l)
	g.report = &control.LoadReport{Vertices: r.Vertices, Edges: r.Edges, Arcs: r.Arcs, Directed: r.Directed, Weighted: r.Weighted, Named: r.Named}
	for i, p := range l.Placements {
		v := c.workers[p.Worker]
		if p.Partition != uint32(i) || v != nil && (v.met || v.incarnation != p.Incarnation) {
			return
		}
		g.missing[p.Worker] = true
	}
	if !g.missing[w.name] {
		return
	}
	if old := c.graphs[g.name]; old != nil {
		if old.state == control.GraphState_GRAPH_STATE_WAITING && old.load.number < g.load.number {
			c.giveUp(old, fmt.Sprintf("worker %s has a share of a later load of it", w.name))
		}
		if old.state != control.GraphState_GRAPH_STATE_FAILED || old.due ||
			old.load.number >= g.load.number {
			return
		}
	}
	if d := layout.Of(len(workersOf(g.placements))); g.rows != uint32(d.Rows) ||
		g.columns != uint32(d.Columns) {
		g.asked = [2]uint32{g.rows, g.columns} // it cannot be known of the others
	}
	g.settle()
	c.graphs[g.name] = g
}

// settle makes a graph ready when no share of it is missing; else it waits.
func (g *graph) settle() {
	names := slices.Sorted(maps.Keys(g.missing))
	switch len(names) {
	case 0:
		g.state, g.reason = control.GraphState_GRAPH_STATE_READY, ""
		return
	case 1:
		g.reason = fmt.Sprintf("waits for worker %s, which holds a share of it", names[0])
	default:
		g.reason = fmt.Sprintf("waits for workers %s, which hold shares of it",
			strings.Join(names, ", "))
	}
	g.state = control.GraphState_GRAPH_STATE_WAITING
}

// expireGraphs gives up the graphs that have waited for a worker for the hold time.
func (c *cluster) expireGraphs(now time.Duration) {
	for _, g := range c.loaded() {
		for _, name := range slices.Sorted(maps.Keys(g.missing)) {
			w := c.workers[name]
			// Since the master's start.
			if w != nil && (w.live() || now <= w.deadline) || w == nil && now <= c.hold {
				continue
			}
			c.loseGraph(g, name, fmt.Sprintf("did not come back within %v", c.hold))
			break
		}
	}
}

// loseGraph takes the loss of a share of a graph: it is loaded again, from its source, on the
// workers that are there, or given up.
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

// loadAgain frees what workers hold of a graph, and has it loaded again when that is done and a
// worker is there.
func (c *cluster) loadAgain(g *graph, reason string) {
	g.state, g.reason, g.again = control.GraphState_GRAPH_STATE_WAITING, reason+toLoadAgain, true
	g.report.Bytes, g.why = 0, reason
	c.graphTurned(g)
	c.dropShares(g)
	g.missing = map[string]bool{}
}

// toLoadAgain ends the reason of a graph that waits for that.
const toLoadAgain = "; it is to be loaded again"

// reload begins to load the graphs that have lost a share. While a worker is about to come back,
// which does not take longer than a lease, they wait for it.
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
