package master

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	layout "github.com/superstep-go/superstep/internal/graph"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/mem"
)

// Before a graph is loaded, for the catalog or for a job, the master compares an estimate of the
// memory that each worker needs at least with the budget that the worker reported. A load that
// exceeds what the worker could have if it held nothing else is rejected with the numbers. If jobs
// or other loads hold the memory, the load waits for their end. If graphs of the catalog hold it,
// the load is rejected, and the error names these graphs, because only users free them. If the need
// is not known, the workers check it when they open the input.

// mostWays bounds the number of measured links per worker.
const mostWays = 256

// beat handles a worker's heartbeat.
func (c *cluster) beat(now time.Duration, w *worker, h *control.Heartbeat) {
	w.used, w.budget, w.counted = h.MemoryUsed, h.Budget, now
	w.stalled = min(2*time.Duration(h.StalledMilliseconds)*time.Millisecond, mostStalled*c.lease)
	c.heardOf(now, w)
	w.use(now, h)
	ways := slices.DeleteFunc(h.Ways,
		func(way *control.Way) bool { return !control.ValidName(way.Worker) })
	if len(ways) > 0 {
		w.ways = ways[:min(len(ways), mostWays)]
	}
}

// A worker's usage is kept every usageEvery, for five minutes.
const (
	usageEvery = 2 * time.Second
	mostUsage  = 150
)

// use keeps the usage that a heartbeat reports.
func (w *worker) use(now time.Duration, h *control.Heartbeat) {
	u := h.Usage
	if n := len(w.usage); u == nil || n > 0 && now.Seconds()-w.usage[n-1].AtSeconds <
		usageEvery.Seconds() {
		return
	}
	u.AtSeconds, u.MemoryUsed, u.Spilled = now.Seconds(), h.MemoryUsed, h.Budget.GetSpilled()
	w.usage = append(w.usage[max(len(w.usage)+1-mostUsage, 0):], u)
}

// shortage is why a job cannot start, or a graph cannot be loaded.
type shortage struct {
	reason string
	wait   bool // the shortage may end without user action
}

// shortOf returns the first shortage of memory for a worker's partitions of a graph, or nil.
func (c *cluster) shortOf(
	placements []*control.Placement, what string, d resolve.Demand,
) *shortage {
	for _, name := range workersOf(placements) {
		w := c.workers[name]
		if w == nil || w.budget == nil {
			continue
		}
		b, need := w.budget, d(count(placements, name), len(placements))
		lack := fmt.Sprintf("worker %s needs %s for its share of %s at least", name, mem.Text(need),
			what)
		switch most := int64(b.Room + b.Arrays + b.Spilled); {
		case need > most:
			return &shortage{reason: fmt.Sprintf("%s, and can have %s: %s", lack,
				mem.Apart(most, int64(b.Files+b.Spilled)), b.Use)}
		case need+c.coming(name) <= int64(b.Room):
			continue
		case c.changing(w):
			return &shortage{reason: fmt.Sprintf("waits for memory: %s, of its limit of %s", lack,
				mem.Text(int64(b.Limit))), wait: true}
		}
		if there := c.catalogOn(name); len(there) > 0 {
			return &shortage{reason: fmt.Sprintf("%s, and %s are free: %s; "+
				"it has shares of graphs of the catalog: %s: drop what is not needed", lack,
				mem.Apart(int64(b.Room), int64(b.Files)), b.Use, strings.Join(there, ", "))}
		}
	}
	return nil
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

// coming estimates the memory that loads in progress take on a worker. The worker's figures may not
// include it yet.
func (c *cluster) coming(name string) (bytes int64) {
	for _, j := range c.jobs {
		if j.state == control.JobState_JOB_STATE_LOADING && j.spec.Graph == "" {
			bytes += j.demand(j.site)(count(j.placements, name), len(j.placements))
		}
	}
	for _, g := range c.graphs {
		if g.state == control.GraphState_GRAPH_STATE_LOADING {
			bytes += g.demand(g.source)(count(g.placements, name), len(g.placements))
		}
	}
	return bytes
}

// changing reports whether memory on a worker will become free without user action: its users will
// end, or have ended since the worker's last report.
func (c *cluster) changing(w *worker) bool {
	for _, g := range c.graphs {
		if g.due && uses(g.placements, w.name) {
			return true
		}
	}
	return c.busy(w.name) || w.counted <= w.freed+2*c.lease/control.HeartbeatsPerLease
}

// freed notes that a job or load has ended on workers. Their last reports may still include its
// memory.
func (c *cluster) freed(placements []*control.Placement) {
	for _, name := range workersOf(placements) {
		if w := c.workers[name]; w != nil {
			w.freed = w.counted
		}
	}
}

// catalogOn returns the graphs of the catalog that have partitions on a worker.
func (c *cluster) catalogOn(name string) (names []string) {
	for _, g := range byName(c.graphs) {
		if g.state == control.GraphState_GRAPH_STATE_READY && uses(g.placements, name) {
			names = append(names, g.name)
		}
	}
	return names
}

// demand estimates the memory of the graph that the job loads at a site.
func (j *job) demand(at site) resolve.Demand {
	if kindOf(j.spec) != &programKind {
		return resolve.Unknown
	}
	return at.demand(j.spec.Source)
}

func (at site) demand(source *jobspec.Source) resolve.Demand {
	return resolve.DemandOf(source, layout.Grid{Rows: int(at.rows), Columns: int(at.columns)})
}

// A worker whose process ran out of memory would do so again with the same work. The job is
// restarted, and the graph loaded again, only if there is another worker outside the team with more
// free memory than the lost one had.

// starve notes that a worker's process ran out of memory. It marks the jobs and loads on this
// worker, and fails queued jobs that lost the worker and that no other worker has memory for.
func (c *cluster) starve(now time.Duration, w *worker) {
	for _, j := range slices.Clone(c.order) {
		switch {
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

// roomier reports whether there is a worker outside a team with more free memory than another
// worker had.
func (c *cluster) roomier(than *worker, team []*control.Placement) bool {
	for name, w := range c.workers {
		if w.free() && !uses(team, name) &&
			(w.budget == nil || than.budget == nil || w.budget.Free > than.budget.Free) {
			return true
		}
	}
	return false
}

// starved describes that a worker ran out of memory. If its reason has no numbers, the text
// includes its last report.
func starved(w *worker) string {
	text := fmt.Sprintf("worker %s was lost: %s", w.name, w.reason)
	if w.budget != nil && !strings.Contains(w.reason, "are held") {
		text += "; its last report: " + w.budget.Use
	}
	return text + "; no other worker has more memory free"
}
