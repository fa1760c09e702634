package master

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/mem"
)

// Before a graph is loaded, for the catalog or for a job, the master compares what each worker is
// sure to need for it with what the worker has said of its budget of memory. What no worker could
// have, were nothing else there, is refused with the numbers. What is held by jobs and loads, which
// end, is waited for. What graphs of the catalog hold, which nobody frees by himself, is refused
// too, and these are named. Of what nothing is known the workers judge by themselves when they open
// it.

// mostWays bounds the ways to others that are known of a worker.
const mostWays = 256

// beat takes what a worker says of itself.
func (c *cluster) beat(now time.Duration, w *worker, h *control.Heartbeat) {
	w.used, w.budget, w.counted = h.MemoryUsed, h.Budget, now
	w.stalled = min(2*time.Duration(h.StalledMilliseconds)*time.Millisecond, mostStalled*c.lease)
	c.heardOf(now, w)
	if ways := slices.DeleteFunc(h.Ways, func(way *control.Way) bool { return !control.ValidName(way.Worker) }); len(ways) > 0 {
		w.ways = ways[:min(len(ways), mostWays)]
	}
}

// shortage is why a job does not begin, or a graph is not loaded.
type shortage struct {
	reason string
	wait   bool // it may end
}

// shortOf returns the first worker's lack of memory for its share of what is to be loaded, or nil.
func (c *cluster) shortOf(placements []*control.Placement, what string, d resolve.Demand) *shortage {
	for _, name := range workersOf(placements) {
		w := c.workers[name]
		if w == nil || w.budget == nil {
			continue
		}
		b, need := w.budget, d.Bytes(count(placements, name), len(placements))
		lack := fmt.Sprintf("worker %s needs %s for its share of %s at least", name, mem.Text(need),
			what)
		switch most := int64(b.Room + b.Arrays + b.Spilled); {
		case need > most:
			return &shortage{reason: fmt.Sprintf("%s, and can have %s: %s", lack,
				mem.Apart(most, int64(b.Files+b.Spilled)), held(b))}
		case need+c.coming(name) <= int64(b.Room):
			continue
		case c.changing(w):
			return &shortage{reason: fmt.Sprintf("waits for memory: %s, of its limit of %s", lack,
				mem.Text(int64(b.Limit))), wait: true}
		}
		if there := c.catalogOn(name); len(there) > 0 {
			return &shortage{reason: fmt.Sprintf("%s, and %s are free: %s; of the catalog it has shares of %s: drop what is not needed",
				lack, mem.Apart(int64(b.Room), int64(b.Files)), held(b), strings.Join(there, ", "))}
		}
	}
	return nil
}

// held words what a worker's budget has given out.
func held(b *control.Budget) string {
	use := mem.Use{Limit: int64(b.Limit), Memory: int64(b.Arrays), Heap: int64(b.Heap), Spilled: int64(b.Spilled)}
	for _, k := range b.Kinds {
		use.Kinds = append(use.Kinds,
			mem.Held{Kind: k.Kind, Memory: int64(k.Memory), Spilled: int64(k.Spilled)})
	}
	return use.String()
}

// count returns how many of the partitions a worker has.
func count(placements []*control.Placement, worker string) (n int) {
	for _, p := range placements {
		if p.Worker == worker {
			n++
		}
	}
	return n
}

// coming is what loads under way will take on a worker, of which its figures may know nothing yet.
func (c *cluster) coming(name string) (bytes int64) {
	for _, j := range c.jobs {
		if j.state == control.JobState_JOB_STATE_LOADING && j.spec.Graph == "" {
			bytes += j.demand(j.rows, j.columns).Bytes(count(j.placements, name), len(j.placements))
		}
	}
	for _, g := range c.graphs {
		if g.state == control.GraphState_GRAPH_STATE_LOADING {
			bytes += g.demand().Bytes(count(g.placements, name), len(g.placements))
		}
	}
	return bytes
}

// changing reports whether a worker's memory will be free without anybody's doing: what takes it
// ends, or has ended, and the worker has not said so yet.
func (c *cluster) changing(w *worker) bool {
	for _, g := range c.graphs {
		if g.due && uses(g.placements, w.name) {
			return true
		}
	}
	return c.busy(w.name) || w.counted <= w.freed+2*c.lease/control.HeartbeatsPerLease
}

// freed notes that something has ended that took memory of workers, of which what they have said
// last may know nothing.
func (c *cluster) freed(placements []*control.Placement) {
	for _, name := range workersOf(placements) {
		if w := c.workers[name]; w != nil {
			w.freed = w.counted
		}
	}
}

// catalogOn returns the graphs of the catalog that a worker has shares of.
func (c *cluster) catalogOn(name string) (names []string) {
	for _, graph := range slices.Sorted(maps.Keys(c.graphs)) {
		if g := c.graphs[graph]; g.state == control.GraphState_GRAPH_STATE_READY &&
			uses(g.placements, name) {
			names = append(names, graph)
		}
	}
	return names
}

// demand is what is known of the memory that the graph which the job brings takes in a grid.
func (j *job) demand(rows, columns uint32) resolve.Demand {
	if kindOf(j.spec) != &programKind {
		return resolve.Demand{}
	}
	return resolve.DemandOf(j.spec.Source, layout.Grid{Rows: int(rows), Columns: int(columns)})
}

func (g *graph) demand() resolve.Demand {
	return resolve.DemandOf(g.source, layout.Grid{Rows: int(g.rows), Columns: int(g.columns)})
}

// A worker that has ended for want of memory ends so again with the same work. Its job begins
// again, and a graph is loaded again, only where a worker is there that the team did not have and
// that has more memory free than the lost one had to give.

// starve notes that a worker's process has ended for want of memory: for what runs on it, and for
// jobs that wait since they lost it and would begin again.
func (c *cluster) starve(now time.Duration, w *worker) {
	for _, id := range slices.Clone(c.order) {
		switch j := c.jobs[id]; {
		case j.active() && placedOn(j.placements, w.name, w.incarnation):
			j.starved = w
		case j.state == control.JobState_JOB_STATE_QUEUED &&
			placedOn(j.team, w.name, w.incarnation) && !c.roomier(w, j.team):
			c.end(now, j, control.JobState_JOB_STATE_FAILED, starved(w))
		}
	}
	for _, g := range c.graphs {
		if g.state == control.GraphState_GRAPH_STATE_LOADING &&
			placedOn(g.placements, w.name, w.incarnation) {
			g.starved = w
		}
	}
}

// roomier reports whether a worker is there that a team did not have, with more memory free than
// another one's limit left to arrays.
func (c *cluster) roomier(than *worker, team []*control.Placement) bool {
	for name, w := range c.workers {
		if w.free() && !uses(team, name) &&
			(w.budget == nil || than.budget == nil || w.budget.Free > than.budget.Free) {
			return true
		}
	}
	return false
}

// starved words that a worker has ended for want of memory, with what it said last if its reason
// has no numbers.
func starved(w *worker) string {
	text := fmt.Sprintf("worker %s was lost: %s", w.name, w.reason)
	if w.budget != nil && !strings.Contains(w.reason, "are held") {
		text += "; it said last: " + held(w.budget)
	}
	return text + "; no other worker has more memory free"
}
