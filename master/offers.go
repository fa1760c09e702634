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

// loadID identifies a load of a graph, and its partitions on workers.
type loadID struct {
	master string // the run of the master that requested it
	number uint64 // increases from load to load, also across runs
}

func (l loadID) String() string { return fmt.Sprintf("%s-%d", l.master, l.number) }

func idOf(l *control.Load) loadID { return loadID{l.GetMaster(), l.GetNumber()} }

// offered handles the list of graph partitions that a worker holds when it attaches. A graph that
// waited for the worker gets its partition back. A graph whose partition the worker no longer holds
// is loaded again, or fails: see loseGraph. The worker then gets a list of graphs, and frees
// partitions of all others.
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
		i := slices.IndexFunc(offers, func(o *control.Offer) bool {
			return o.GetLoad().GetGraph() == g.name && idOf(o.GetLoad()) == g.load
		})
		if i < 0 {
			c.loseGraph(g, w.name, "no longer has it")
			continue
		}
		if !w.met { // the graph was loaded before the master's restart
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

// unmet reports whether workers may still offer any graph: the master has just started, and no
// worker has attached yet.
func (c *cluster) unmet(now time.Duration) bool {
	for _, w := range c.workers {
		if w.met {
			return false
		}
	}
	return now <= c.hold && !c.known
}

// adopt enters a graph that an earlier run of the master loaded and that a worker offers when it
// first attaches. The graph waits for its other workers. If a name has two graphs, the later load
// counts. adopt ignores a graph that cannot become complete, because one of its workers has
// attached without it or was restarted.
func (c *cluster) adopt(w *worker, o *control.Offer) {
	l, r := o.GetLoad(), o.GetReport()
	n := uint64(len(l.GetPlacements()))
	if !control.ValidName(l.GetGraph()) || l.Source().Input == "" || r == nil ||
		n > layout.MaxPartitions || uint64(l.GetRows())*uint64(l.GetColumns()) != n {
		return
	}
	g := graphOf(l)
	g.report = &control.LoadReport{
		Vertices: r.Vertices, Edges: r.Edges, Arcs: r.Arcs, Directed: r.Directed,
		Weighted: r.Weighted, Named: r.Named, Fingerprint: r.Fingerprint, Ids: r.Ids,
		Deal: r.Deal,
	}
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
		g.asked = [2]uint32{g.rows, g.columns} // not the default, so it was requested
	}
	g.settle()
	c.graphs[g.name] = g
}

// settle sets the graph's state: ready if no partition is missing, otherwise waiting.
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

// expireGraphs gives up waiting for workers after the hold time.
func (c *cluster) expireGraphs(now time.Duration) {
	for _, g := range c.loaded() {
		for _, name := range slices.Sorted(maps.Keys(g.missing)) {
			w := c.workers[name]
			// Workers not seen since the master's start have the hold time too.
			if w != nil && (w.live() || now <= w.deadline) || w == nil && now <= c.hold {
				continue
			}
			c.loseGraph(g, name, fmt.Sprintf("did not come back within %v", c.hold))
			break
		}
	}
}

// loseGraph handles the loss of a partition of a graph: the graph is loaded again from its source,
// or fails if c.retries is 0.
func (c *cluster) loseGraph(g *graph, worker, what string) {
	reason := fmt.Sprintf("worker %s, which held a share of it, %s", worker, what)
	if c.retries == 0 {
		c.giveUp(g, reason+": load it again")
		return
	}
	c.loadAgain(g, reason)
}

// loseGraphs handles the loss of all partitions of a worker.
func (c *cluster) loseGraphs(w *worker, what string) {
	for _, g := range c.loaded() {
		if uses(g.placements, w.name) {
			c.loseGraph(g, w.name, what)
		}
	}
}

// giveUp fails a graph and frees its partitions.
func (c *cluster) giveUp(g *graph, reason string) {
	g.state, g.reason, g.again = control.GraphState_GRAPH_STATE_FAILED, reason, false
	g.report.Bytes = 0 // the partitions are freed
	c.graphTurned(g)
	c.dropShares(g)
}

// loadAgain frees the partitions of a graph, and marks it to be loaded again after that.
func (c *cluster) loadAgain(g *graph, reason string) {
	g.state, g.reason, g.again = control.GraphState_GRAPH_STATE_WAITING, reason+toLoadAgain, true
	g.report.Bytes, g.why = 0, reason
	c.graphTurned(g)
	c.dropShares(g)
	g.missing = map[string]bool{}
}

// toLoadAgain ends the reason of a graph that waits to be loaded again.
const toLoadAgain = "; it is to be loaded again"

// reload starts loading the graphs marked by loadAgain. It waits while a registered worker has no
// session, which lasts at most a lease.
func (c *cluster) reload() {
	for _, w := range c.workers {
		if w.state == control.WorkerState_WORKER_STATE_REGISTERED && !w.attached {
			return
		}
	}
	for _, g := range byName(c.graphs) {
		if g.again && !g.due {
			why := g.why
			if why != "" {
				why += "; it is loaded again"
			}
			lack, err := c.beginLoad(g, why)
			switch {
			case err != nil || lack == nil: // loading, or there is no worker
			case !lack.wait:
				c.giveUp(g, lack.reason)
			case g.reason != lack.reason:
				g.reason = lack.reason
				c.graphTurned(g)
			}
		}
	}
}
