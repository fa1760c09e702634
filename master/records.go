package master

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve/benchmark"
	"github.com/superstep-go/superstep/internal/trace"
)

// maxFigures bounds the stored values of an ended job's aggregators, in bytes.
const maxFigures = 256 << 10

// recordsOf encodes the changed jobs and graphs, by key; nil means that there is none any more. The
// caller holds the lock.
func (s *server) recordsOf(changed []change) map[string][]byte {
	all := map[string][]byte{}
	for _, c := range changed {
		var m proto.Message
		key, data := graphPrefix+c.graph, []byte(nil)
		if c.job != "" {
			key = jobPrefix + c.job
			if j := s.cluster.jobs[c.job]; j != nil {
				m = s.jobRecord(j)
			}
		} else if g := s.cluster.graphs[c.graph]; g != nil && !g.dropped {
			m = &control.GraphRecord{
				Load: g.asLoad(), Rows: g.asked[0], Columns: g.asked[1], State: g.state,
				Reason: g.reason, Report: g.report,
			}
		}
		if m != nil {
			var err error
			if data, err = proto.Marshal(m); err != nil { // not expected: texts were validated
				s.log.Error("a record is not encoded", "job", c.job, "graph", c.graph, "error", err)
				continue
			}
		}
		all[key] = data
	}
	return all
}

func (s *server) jobRecord(j *job) *control.JobRecord {
	about := s.describe(j)
	if j.state.Ended() {
		about = s.describeWhole(j)
		if proto.Size(&control.Job{Aggregators: about.Aggregators}) > maxFigures {
			about.Aggregators = shown(about.Aggregators)
		}
	}
	return &control.JobRecord{
		Job: about, Number: j.number, Key: j.key, Losses: j.losses, Cancelled: j.cancelled,
		ConfirmMilliseconds: uint64(j.confirm.Milliseconds()), Placements: j.placements,
		Driving: j.driving, UsedMilliseconds: uint64(j.taken(s.now()).Milliseconds()),
		Stragglers: j.stragglers,
	}
}

// asLoad returns the graph's description for workers.
func (g *graph) asLoad() *control.Load {
	return &control.Load{
		Graph: g.name, SourceJson: jobspec.Text(g.source), Rows: g.rows, Columns: g.columns,
		Placements: g.placements, Master: g.load.master, Number: g.load.number, Owner: g.owner,
	}
}

// graphOf is the inverse of asLoad.
func graphOf(l *control.Load) *graph {
	return &graph{
		name: l.Graph, owner: l.Owner, source: l.Source(), missing: map[string]bool{},
		site: site{l.Placements, l.Rows, l.Columns, idOf(l)},
	}
}

// Prefixes of the records' keys.
const (
	jobPrefix   = "jobs/"
	graphPrefix = "graphs/"
)

// errRecord is the error of an invalid record.
var errRecord = errors.New("it is invalid")

// saved is the state that earlier runs of the master stored.
type saved struct {
	jobs   []*control.JobRecord
	graphs []*control.GraphRecord
}

// take decodes the records of earlier runs.
func (s *saved) take(state map[string][]byte) error {
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if err := s.record(key, state[key]); err != nil {
			return fmt.Errorf("%.100q: %w", key, err)
		}
	}
	return nil
}

func (s *saved) record(key string, data []byte) error {
	if key, ok := strings.CutPrefix(key, jobPrefix); ok {
		r := &control.JobRecord{}
		if err := proto.Unmarshal(data, r); err != nil {
			return err
		}
		if r.Job.GetId() != key || r.Job.Spec().Program == "" ||
			r.Job.State < control.JobState_JOB_STATE_QUEUED ||
			r.Job.State > control.JobState_JOB_STATE_CANCELLED {
			return errRecord
		}
		s.jobs = append(s.jobs, r)
		return nil
	}
	r := &control.GraphRecord{}
	if err := proto.Unmarshal(data, r); err != nil {
		return err
	}
	if l := r.Load; graphPrefix+l.GetGraph() != key || l.Source().Input == "" || r.Report == nil ||
		uint64(l.Rows)*uint64(l.Columns) != uint64(len(l.Placements)) {
		return errRecord
	}
	s.graphs = append(s.graphs, r)
	return nil
}

// restore continues with the state of earlier runs. It is called before any event.
func (s *server) restore(from *saved) {
	since := func(t *timestamppb.Timestamp) time.Duration { return t.AsTime().Sub(s.start) }
	for _, r := range from.graphs {
		g := graphOf(r.Load)
		g.asked, g.state, g.reason, g.report = [2]uint32{r.Rows, r.Columns}, r.State, r.Reason,
			r.Report
		s.cluster.restoreGraph(g)
	}
	slices.SortFunc(from.jobs,
		func(a, b *control.JobRecord) int { return cmp.Compare(a.Number, b.Number) })
	shown := benchmark.Observe(s.options.Registry,
		func() trace.Journal { return s.options.History })
	for _, r := range from.jobs {
		about := r.Job
		j := &job{
			id: about.Id, number: r.Number, key: r.Key, owner: about.Owner, spec: about.Spec(),
			state: about.State, reason: about.Reason, epoch: about.Epoch, threads: about.Threads,
			site:   site{placements: r.Placements, rows: about.Rows, columns: about.Columns},
			losses: r.Losses, cancelled: r.Cancelled, driving: r.Driving,
			confirm:    time.Duration(r.ConfirmMilliseconds) * time.Millisecond,
			submitted:  since(about.Submitted),
			used:       time.Duration(r.UsedMilliseconds) * time.Millisecond,
			stragglers: r.Stragglers, over: about.State.Ended(),
		}
		if about.Started != nil {
			j.started = since(about.Started)
		}
		if proto.Merge(&j.figures, about); !j.state.Ended() && !(j.driving && j.active()) {
			j.forgetFigures()
		}
		if j.state.Ended() {
			j.ended = since(about.Ended)
			if j.state == control.JobState_JOB_STATE_DONE {
				j.stored = about.ResultParts
			}
		}
		s.cluster.restoreJob(j)  // cancels a job whose cancellation had begun
		if about.State.Ended() { // otherwise note adds it
			e := &control.JobEvent{Time: about.Ended, Body: &control.JobEvent_Job{Job: about}}
			s.journals[j.id] = newJournal(s.firstEvent)
			s.journals[j.id].append(e, true)
			s.past = append(s.past, j)
			if s.options.History != nil { // restored jobs are not counted again
				shown.Event(j.id, s.shownEvent(s.ctx, j.owner, e))
			}
		}
	}
	if s.state.Found() {
		s.cluster.known = true
	}
}

// change names a job or graph whose stored record an event has changed.
type change struct{ job, graph string }

// takeChanged returns the changes since the last call, without duplicates.
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

// restoreGraph enters a graph of an earlier run of the master. Its workers may come back with their
// partitions.
func (c *cluster) restoreGraph(g *graph) {
	c.graphs[g.name] = g
	if g.state == control.GraphState_GRAPH_STATE_FAILED {
		return
	}
	c.expect(g.placements)
	waiting := g.state == control.GraphState_GRAPH_STATE_WAITING
	switch {
	case g.state == control.GraphState_GRAPH_STATE_LOADING:
		g.placements = nil // workers free their partitions unasked
		c.loadAgain(g, "the master restarted while it was being loaded")
	case waiting && (len(g.placements) == 0 || strings.HasSuffix(g.reason, toLoadAgain)):
		g.placements = nil
		c.loadAgain(g, strings.TrimSuffix(g.reason, toLoadAgain))
	default:
		for _, p := range g.placements {
			g.missing[p.Worker] = true
		}
		g.report.Bytes, g.report.Seconds = 0, 0 // added up again as partitions are offered
		g.settle()
	}
}

// restoreJob enters a job of an earlier run of the master. Jobs are restored in the order of
// submission.
func (c *cluster) restoreJob(j *job) {
	c.jobs[j.id] = j
	c.order = append(c.order, j)
	c.numbers = max(c.numbers, j.number)
	if j.key != "" {
		c.keys[submission{j.owner, j.key}] = j.id
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
	if j.active() {
		c.expect(j.placements)
		if !j.cancelled {
			j.reason = "the master restarted; the job begins again"
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

// expect adds workers whose return is awaited before jobs start.
func (c *cluster) expect(placements []*control.Placement) {
	for _, p := range placements {
		c.expected[p.Worker] = true
	}
}

// settling returns why nothing may start yet, naming the workers from before the restart that are
// not back; empty if none is awaited.
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

// toComeBack ends the reason of jobs that wait for workers after a restart.
const toComeBack = " to come back to the master, which restarted"
