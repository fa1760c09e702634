package master

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// change is a job or a graph that an event has changed, so that the next run of the master would
// find something else.
type change struct{ job, graph string }

// takeChanged returns what has changed since the last call.
func (c *cluster) takeChanged() []change {
	all := c.changed
	c.changed = nil
	seen := map[change]bool{}
	return slices.DeleteFunc(all, func(x change) bool {
		before := seen[x]
		seen[x] = true
		return before
	})
}

// restoreGraph enters a graph of an earlier run of the master: its workers may come back with their
// shares.
func (c *cluster) restoreGraph(g *graph) {
	c.graphs[g.name] = g
	switch g.state {
	case control.GraphState_GRAPH_STATE_FAILED:
		return
	case control.GraphState_GRAPH_STATE_LOADING:
		c.expect(g.placements)
		g.placements = nil // who has a share frees it
		c.loadAgain(g, "the master was started anew while it was being loaded")
	case control.GraphState_GRAPH_STATE_WAITING:
		c.expect(g.placements)
		if len(g.placements) == 0 || strings.HasSuffix(g.reason, toLoadAgain) {
			g.placements = nil
			c.loadAgain(g, strings.TrimSuffix(g.reason, toLoadAgain))
			return
		}
		fallthrough
	default:
		c.expect(g.placements)
		for _, p := range g.placements {
			g.missing[p.Worker] = true
		}
		g.report.Bytes, g.report.Seconds = 0, 0 // as the shares are offered
		g.settle()
	}
}

// restoreJob enters a job of an earlier run of the master, after those that were submitted before
// it.
func (c *cluster) restoreJob(j *job) {
	c.jobs[j.id] = j
	c.order = append(c.order, j.id)
	c.numbers = max(c.numbers, j.number)
	if j.key != "" {
		c.keys[j.key] = j.id
	}
	if j.state.Ended() {
		c.jobsEnd++
		return
	}
	if j.confirm > 0 {
		j.confirmBy = j.confirm
	}
	if j.driving && j.active() && !j.cancelled {
		c.expect(j.placements)
		j.takenUp, j.driven = true, 0
		c.turned(j)
		c.emit(startJob{j})
		return
	}
	c.queued = append(c.queued, j.id)
	if j.active() {
		c.expect(j.placements)
		if !j.cancelled {
			j.reason = "the master was started anew; the job begins again"
		}
		j.state, j.placements = control.JobState_JOB_STATE_QUEUED, nil
	}
	if j.cancelled {
		c.end(0, j, control.JobState_JOB_STATE_CANCELLED, j.reason)
		return
	}
	c.changed = append(c.changed, change{job: j.id})
	c.turned(j)
}

// restored says that all graphs of earlier runs are entered.
func (c *cluster) restored() { c.known = true }

// expect waits for workers to come back, before anything begins.
func (c *cluster) expect(placements []*control.Placement) {
	for _, p := range placements {
		c.expected[p.Worker] = true
	}
}

// settling says for which workers of before the restart nothing begins yet; empty if for none.
func (c *cluster) settling(now time.Duration) string {
	maps.DeleteFunc(c.expected, func(name string, _ bool) bool {
		w := c.workers[name]
		return now > c.settle || w != nil && w.attached
	})
	if len(c.expected) == 0 {
		return ""
	}
	return fmt.Sprintf("waits for %s%s", strings.Join(slices.Sorted(maps.Keys(c.expected)), ", "),
		toComeBack)
}

// toComeBack is how the reason ends for which jobs wait until the workers of before are back.
const toComeBack = " to come back to the master, which was started anew"

// settled says that nothing is waited for any more, to jobs that wait on for no other reason than
// that others run; a master before this one may have said so.
func (c *cluster) settled() {
	for _, id := range c.queued {
		if j := c.jobs[id]; strings.HasSuffix(j.reason, toComeBack) {
			c.wait(j, "")
		}
	}
}

// withdraw forgets a job that has just been submitted.
func (c *cluster) withdraw(now time.Duration, j *job) {
	c.unqueue(j)
	c.order = slices.DeleteFunc(c.order, func(id string) bool { return id == j.id })
	delete(c.keys, j.key)
	delete(c.jobs, j.id)
	c.changed = append(c.changed, change{job: j.id})
	c.schedule(now)
}
