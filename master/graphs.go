package master

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// graph is an entry of the catalog: a graph loaded on workers for any number of jobs.
type graph struct {
	name, owner string
	source      *jobspec.Source
	site
	state control.GraphState
	// Requested rows and columns; 0: one partition per worker.
	asked    [2]uint32
	reason   string              // why it is not ready
	report   *control.LoadReport // empty while loading
	missing  map[string]bool     // while waiting: workers whose partitions are missing
	due      bool                // to be freed on the workers once no run uses it
	dropped  bool                // while loading: has no record, and is removed when the load ends
	stopping bool                // the load was told to stop, for reason
	lost     bool                // because a worker was lost
	again    bool                // while waiting: to be loaded again, because of why
	why      string
	losses   int     // consecutive loads that lost a worker
	starved  *worker // worker that ran out of memory in the last load
	far      progress
}

// place assigns the partitions of a grid to the available workers in turn. It avoids the workers of
// avoid if there are others. If rows is 0, it makes one partition per worker, in the grid that
// shape returns for their number.
func (c *cluster) place(
	rows, columns uint32, shape func(int) layout.Grid, avoid []*control.Placement,
) (site, error) {
	var there []*worker
	for _, w := range byName(c.workers) {
		if w.free() {
			there = append(there, w)
		}
	}
	avoided := func(w *worker) bool { return placedOn(avoid, w.name, w.incarnation) }
	if others := slices.DeleteFunc(slices.Clone(there), avoided); len(others) > 0 {
		there = others
	}
	if len(there) == 0 {
		return site{}, unready("there is no worker: start one with superstep worker --master ADDR")
	}
	if rows == 0 {
		g := shape(min(len(there), layout.MaxPartitions))
		rows, columns = uint32(g.Rows), uint32(g.Columns)
	}
	var all []*control.Placement
	for i := range rows * columns {
		w := there[int(i)%len(there)]
		all = append(all, &control.Placement{
			Partition: i, Worker: w.name, Address: w.about.DataAddress, Incarnation: w.incarnation,
			Site: w.about.Site,
		})
	}
	return site{placements: all, rows: rows, columns: columns}, nil
}

// checkGrid rejects an impossible grid. 0 by 0 lets the master choose.
func checkGrid(rows, columns uint32) error {
	if uint64(rows)*uint64(columns) > layout.MaxPartitions {
		return invalid("found a grid of %dx%d, expected at most %d partitions", rows, columns,
			layout.MaxPartitions)
	}
	if (rows == 0) != (columns == 0) {
		return invalid("found a grid of %dx%d, expected both sides to be 1 or more", rows, columns)
	}
	return nil
}

// failed returns an error of a call.
func failed(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

func invalid(format string, args ...any) error {
	return failed(connect.CodeInvalidArgument, format, args...)
}

// unready returns an error for a call that the current state does not allow.
func unready(format string, args ...any) error {
	return failed(connect.CodeFailedPrecondition, format, args...)
}

// absent returns an error for something that does not exist.
func absent(format string, args ...any) error {
	return failed(connect.CodeNotFound, format, args...)
}

// loadGraph starts loading a graph. The name of a failed graph may be used again.
func (c *cluster) loadGraph(owner, name string, from *jobspec.Source, rows, columns uint32) error {
	if !control.ValidName(name) {
		return invalid("found the graph's name %.150q, expected %s", name, control.NameRule)
	}
	if short, ok := strings.CutPrefix(name, control.CatalogPrefix); ok {
		return invalid("found the graph's name %s, expected %s without the prefix %s", name, short,
			control.CatalogPrefix)
	}
	if from.Origin() == "" {
		return invalid("graph %s: found no source, expected a file, or a generator such as "+
			"kronecker:scale=18", name)
	}
	if g := c.graphs[name]; g != nil && (g.due || g.dropped) {
		return unready("graph %s is being freed: try again", name)
	}
	if g := c.graphs[name]; g != nil && g.state != control.GraphState_GRAPH_STATE_FAILED {
		return failed(connect.CodeAlreadyExists,
			"there is a graph %s already (%s): drop it first, or take another name",
			name, g.state.Word())
	}
	if err := checkGrid(rows, columns); err != nil {
		return err
	}
	if c.graphs[name] == nil && len(c.graphs) >= maxGraphs {
		return failed(connect.CodeResourceExhausted,
			"there are %d graphs already, also those that failed: drop some first", maxGraphs)
	}
	g := &graph{name: name, owner: owner, source: from, asked: [2]uint32{rows, columns}}
	lack, err := c.beginLoad(g, "")
	switch {
	case err != nil:
		return err
	case lack != nil && !lack.wait:
		return unready("graph %s: %s", name, lack.reason)
	case lack != nil:
		g.state, g.reason, g.again, g.report, g.missing = control.GraphState_GRAPH_STATE_WAITING,
			lack.reason, true, &control.LoadReport{}, map[string]bool{}
		c.graphTurned(g)
	}
	c.graphs[name] = g
	return nil
}

// beginLoad starts loading a graph on the available workers, or returns what memory they lack.
func (c *cluster) beginLoad(g *graph, reason string) (*shortage, error) {
	at, err := c.place(g.asked[0], g.asked[1], layout.Of, nil)
	if err != nil {
		return nil, err
	}
	if lack := c.shortOf(at.placements, g.source.Origin(), at.demand(g.source)); lack != nil {
		return lack, nil
	}
	c.loads++
	g.site, g.load = at, loadID{c.master, c.loads}
	g.state, g.reason, g.report, g.missing = control.GraphState_GRAPH_STATE_LOADING, reason,
		&control.LoadReport{}, map[string]bool{}
	g.stopping, g.lost, g.again, g.starved = false, false, false, nil
	c.graphTurned(g)
	c.emit(startLoad{g})
	return nil, nil
}

// graphLoaded handles the end of a load.
func (c *cluster) graphLoaded(now time.Duration, g *graph, report *control.LoadReport, err error) {
	if c.graphs[g.name] != g || g.state != control.GraphState_GRAPH_STATE_LOADING {
		return
	}
	g.far.clear()
	c.freed(g.placements)
	if err != nil && !g.stopping {
		g.lost, g.reason = lossOf(err), reasonOf(err)
	}
	switch {
	case g.dropped:
		c.dropShares(g)
		c.forgetGraph(g)
	case !g.stopping && err == nil:
		g.state, g.reason, g.report, g.losses = control.GraphState_GRAPH_STATE_READY, "", report, 0
		c.graphTurned(g)
	case g.lost && g.starved != nil && !c.roomier(g.starved, g.placements):
		c.giveUp(g, starved(g.starved))
	case g.lost && g.losses < c.retries:
		g.losses++
		c.loadAgain(g, g.reason)
	default:
		if g.lost && g.losses > 0 {
			g.reason += fmt.Sprintf(" (the last of %d loads, each of which has lost a worker)",
				g.losses+1)
		}
		c.giveUp(g, g.reason)
	}
	c.farewells()
	c.schedule(now)
}

// dropShares tells the workers of a graph to free their partitions, or sets due if a run still uses
// the graph.
func (c *cluster) dropShares(g *graph) {
	g.due = slices.ContainsFunc(c.order,
		func(j *job) bool { return j.active() && j.spec.Graph == g.name })
	if g.due {
		return
	}
	var live []string
	for _, p := range g.placements {
		if c.current(p.Worker, p.Incarnation) != nil && !g.missing[p.Worker] &&
			!slices.Contains(live, p.Worker) {
			live = append(live, p.Worker)
		}
	}
	if len(live) > 0 {
		c.emit(dropShare{g.name, live})
		c.freed(g.placements)
	}
}

// loaded returns the graphs with partitions on workers, sorted by name: ready graphs, and graphs
// that wait for lost workers.
func (c *cluster) loaded() (all []*graph) {
	for _, g := range byName(c.graphs) {
		if g.state == control.GraphState_GRAPH_STATE_READY ||
			g.state == control.GraphState_GRAPH_STATE_WAITING && !g.again {
			all = append(all, g)
		}
	}
	return all
}

// dropGraph frees a graph that no job needs. If it is loading, the load is stopped, and the graph
// is removed when it ends.
func (c *cluster) dropGraph(name string) (*graph, error) {
	g := c.graphs[name]
	if g == nil {
		return nil, absent("there is no graph %s", name)
	}
	for _, j := range c.order {
		code := connect.CodeFailedPrecondition
		if j.cancelled || j.stopping || j.ending {
			code = connect.CodeAborted // it ends soon
		}
		if !j.state.Ended() && j.spec.Graph == name {
			return nil, failed(code, "graph %s: job %s needs it", name, j.id)
		}
	}
	switch g.state {
	case control.GraphState_GRAPH_STATE_READY, control.GraphState_GRAPH_STATE_WAITING:
		c.dropShares(g)
	case control.GraphState_GRAPH_STATE_LOADING:
		g.dropped = true
		c.changed = append(c.changed, change{graph: g.name})
		if !g.stopping {
			g.stopping, g.reason = true, "it was dropped"
			c.emit(stopLoad{g.name, g.reason})
		}
		return g, nil
	}
	c.forgetGraph(g)
	return g, nil
}

// forgetGraph removes a graph from the catalog.
func (c *cluster) forgetGraph(g *graph) {
	delete(c.graphs, g.name)
	c.changed = append(c.changed, change{graph: g.name})
	g.state, g.reason = control.GraphState_GRAPH_STATE_FAILED, "it was dropped"
	c.emit(graphTurned{graph: g, state: g.state, reason: g.reason, gone: true})
}
