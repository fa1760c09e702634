package master

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
)

// graph is an entry of the catalog: a graph that lies on workers, for many jobs.
type graph struct {
	name, owner   string
	source        *jobspec.Source
	rows, columns uint32
	placements    []*control.Placement
	state         control.GraphState
	// Rows and columns that were asked for; 0: as many partitions as there are workers.
	asked    [2]uint32
	reason   string              // why it is not there
	report   *control.LoadReport // nothing yet while it is being loaded
	load     loadID
	missing  map[string]bool // workers whose shares are not there, while it waits for them
	due      bool            // to be freed on its workers, when the runs on it have ended
	dropped  bool            // while it was being loaded: it has no record, and goes after that
	stopping bool            // the load was told to stop, for reason
	lost     bool            // because a worker was lost
	again    bool            // while it waits: it is to be loaded again, because of
	why      string
	losses   int     // loads in a row that have lost a worker
	starved  *worker // of the load, that has ended for want of memory
	far      progress
}

// place deals the partitions of a grid to the workers that are there, in turn, but for those to
// avoid where there are others; a grid of 0 is a partition each, in the grid that shape makes of
// their number.
func (c *cluster) place(rows, columns uint32, shape func(int) layout.Grid, avoid []*control.Placement) ([]*control.Placement, uint32, uint32, error) {
	var there []*worker
	for _, name := range slices.Sorted(maps.Keys(c.workers)) {
		if w := c.workers[name]; w.free() {
			there = append(there, w)
		}
	}
	if others := slices.DeleteFunc(slices.Clone(there), func(w *worker) bool { return placedOn(avoid, w.name, w.incarnation) }); len(others) > 0 {
		there = others
	}
	if len(there) == 0 {
		return nil, 0, 0, unready("there is no worker: start one with superstep worker --master ADDR")
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
	return all, rows, columns, nil
}

// checkGrid refuses a grid that cannot be; 0 by 0 is the master's choice.
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

// failed is an error of a call.
func failed(code connect.Code, format string, args ...any) error {
	return connect.NewError(code, fmt.Errorf(format, args...))
}

func invalid(format string, args ...any) error {
	return failed(connect.CodeInvalidArgument, format, args...)
}

// unready is an error of what cannot be done as things are.
func unready(format string, args ...any) error {
	return failed(connect.CodeFailedPrecondition, format, args...)
}

// absent is an error of what is not there.
func absent(format string, args ...any) error {
	return failed(connect.CodeNotFound, format, args...)
}

// loadGraph begins to load a graph. A name may be given anew when what it names failed.
func (c *cluster) loadGraph(owner, name string, from *jobspec.Source, rows, columns uint32) error {
	if !control.ValidName(name) {
		return invalid("found the graph's name %.150q, expected %s", name, control.NameRule)
	}
	if short, ok := strings.CutPrefix(name, control.CatalogPrefix); ok {
		return invalid("found the graph's name %s: %s stands before names, and is no part of them: take %q", name, control.CatalogPrefix, short)
	}
	if from.Origin() == "" {
		return invalid("graph %s: what to load is missing: a file, or a generator such as kronecker:scale=18", name)
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

// beginLoad has a graph loaded by the workers that are there, unless their memory is too short.
func (c *cluster) beginLoad(g *graph, reason string) (*shortage, error) {
	placements, rows, columns, err := c.place(g.asked[0], g.asked[1], layout.Of, nil)
	if err != nil {
		return nil, err
	}
	if lack := c.shortOf(placements, g.source.Origin(), resolve.DemandOf(g.source,
		layout.Grid{Rows: int(rows), Columns: int(columns)})); lack != nil {
		return lack, nil
	}
	c.loads++
	g.placements, g.rows, g.columns, g.load = placements, rows, columns, loadID{c.master, c.loads}
	g.state, g.reason, g.report, g.missing = control.GraphState_GRAPH_STATE_LOADING, reason,
		&control.LoadReport{}, map[string]bool{}
	g.stopping, g.lost, g.again, g.starved = false, false, false, nil
	c.graphTurned(g)
	c.emit(startLoad{g})
	return nil, nil
}

// graphLoaded ends a load, well or not.
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

// dropDue frees what waited for runs to end.
func (c *cluster) dropDue() {
	for _, name := range slices.Sorted(maps.Keys(c.graphs)) {
		if g := c.graphs[name]; g.due {
			c.dropShares(g)
		}
	}
}

// dropShares frees what workers that are there hold of a graph, as soon as no run needs it.
func (c *cluster) dropShares(g *graph) {
	g.due = false
	for _, j := range c.jobs {
		if j.active() && j.spec.Graph == g.name {
			g.due = true
			return
		}
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

// loaded returns the graphs that workers have shares of, by name: all of them, or but for those
// that are waited for.
func (c *cluster) loaded() (all []*graph) {
	for _, name := range slices.Sorted(maps.Keys(c.graphs)) {
		if g := c.graphs[name]; g.state == control.GraphState_GRAPH_STATE_READY ||
			g.state == control.GraphState_GRAPH_STATE_WAITING && !g.again {
			all = append(all, g)
		}
	}
	return all
}

// dropGraph frees a graph that no job needs. One that is being loaded is forgotten when its load,
// which is told to stop, has ended.
func (c *cluster) dropGraph(name string) (*graph, error) {
	g := c.graphs[name]
	if g == nil {
		return nil, absent("there is no graph %s", name)
	}
	for _, id := range c.order {
		j, code := c.jobs[id], connect.CodeFailedPrecondition
		if j.cancelled {
			code = connect.CodeAborted // it ends soon
		}
		if !j.state.Ended() && j.spec.Graph == name {
			return nil, failed(code, "graph %s: job %s needs it", name, id)
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

// forgetGraph takes a graph out of the catalog.
func (c *cluster) forgetGraph(g *graph) {
	delete(c.graphs, g.name)
	c.changed = append(c.changed, change{graph: g.name})
	g.state, g.reason = control.GraphState_GRAPH_STATE_FAILED, "it was dropped"
	c.emit(graphTurned{graph: g, state: g.state, reason: g.reason, gone: true})
}
