package master

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// run is one attempt at a job, as its kind coordinates it.
type run struct {
	server *server
	job    *job // its id, spec, epoch and placements, which do not change in an attempt
	id     string
	epoch  uint32
	spec   *jobspec.Spec
	team   []*control.Placement // one a worker

	mu    sync.Mutex
	about control.Job       // the figures
	peaks []uint64          // of the memory of each worker of the team
	heard map[string]uint64 // before which serial all was heard, by worker
	moved error             // why the attempt ends as soon as a checkpoint is stored, or nil
	// Of a run that may move away from a slow worker; who hears of the run alone uses them.
	pace *pace // nil if it may not
	// When the attempt began, and how long it took until the workers ran it by themselves.
	since      time.Duration
	begins     time.Duration
	checkpoint float64 // seconds that the last checkpoint took; 0 if there was none
	announced  *batch  // the last state that it advanced to, until it is on the disk; or nil
	// aggregators are those of the figures, with their values.
	aggregators []*control.Aggregator
}

// newRun is called under the server's lock.
func newRun(s *server, j *job) *run {
	r := &run{server: s, job: j, id: j.id, epoch: j.epoch, spec: j.spec, team: onePerWorker(j.placements)}
	if j.takenUp {
		proto.Merge(&r.about, j.about)
	}
	if s.cluster.slowFor > 0 && j.spec.Checkpoints != "" && j.spec.Graph == "" {
		threads := map[string]int{}
		for _, p := range r.team {
			if w := s.cluster.workers[p.Worker]; w != nil {
				threads[p.Worker] = int(w.about.Cores)
			}
		}
		r.pace, r.since = newPace(threads), s.now()
	}
	r.peaks, r.heard = make([]uint64, len(r.team)), map[string]uint64{}
	if g := s.cluster.graphs[j.spec.Graph]; g != nil {
		r.about.Vertices, r.about.Edges, r.about.Arcs, r.about.Directed = g.report.Vertices,
			g.report.Edges, g.report.Arcs, g.report.Directed
		r.about.Named = g.report.Named
	}
	return r
}

func onePerWorker(placements []*control.Placement) []*control.Placement {
	var all []*control.Placement
	seen := map[string]bool{}
	for _, p := range placements {
		if !seen[p.Worker] {
			seen[p.Worker] = true
			all = append(all, p)
		}
	}
	return all
}

// figures copies what is known of the run, without what GetJob alone has.
func (r *run) figures() *control.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := proto.CloneOf(&r.about)
	a.Panic = nil
	return a
}

// complete adds to the figures what GetJob alone has: how the program panicked, if it did, and the
// values of its aggregators.
func (r *run) complete(a *control.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.Panic, a.Stack, a.Aggregators = r.about.Panic, r.about.Panic.GetStack(), r.aggregators
}

// saw notes the memory that a worker of the team has used.
func (r *run) saw(i int, report *control.Report) {
	if report == nil || report.PeakMemory <= r.peaks[i] {
		return
	}
	r.set(func(a *control.Job) {
		a.PeakMemory += report.PeakMemory - r.peaks[i]
		r.peaks[i] = report.PeakMemory
	})
}

// heardOf is before which serial all was heard of a worker.
func (r *run) heardOf(worker string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heard[worker]
}

func (r *run) set(f func(*control.Job)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.about)
}

// coordinate runs the job to its end, and tells the state machine of it.
func (r *run) coordinate(ctx context.Context) {
	err := r.work(ctx)
	if failed, ok := errors.AsType[*workerError](err); ok {
		r.namePanic(ctx, failed.failure)
		r.set(func(a *control.Job) { a.Panic = failed.failure.Panic })
	}
	s := r.server
	if s.ending() {
		return
	}
	s.event(func() { s.cluster.freeing(r.id, r.epoch, err) })
	r.cleanUp(err)
	s.awaitExit(ctx, err)
	if s.ending() {
		return
	}
	s.event(func() {
		if stop := s.stops[r.id]; stop != nil {
			stop(nil)
			delete(s.stops, r.id)
		}
		about := r.figures()
		if r.spec.Graph500 != nil {
			if r.job.searched = about.Graph500; about.Graph500 == nil {
				r.job.searched = &control.Graph500Result{}
			}
		}
		s.cluster.runEnded(s.now(), r.id, r.epoch, err, about.Supersteps)
		if r.job.state == control.JobState_JOB_STATE_DONE {
			r.job.stored = about.ResultParts
		}
	})
}

// ending reports whether the master stops and the next goes on with what runs: then it is not the
// end of a run.
func (s *server) ending() bool { return s.durable() && s.ctx.Err() != nil }

func (r *run) advance(state control.JobState) {
	s := r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster.advance(r.id, r.epoch, state)
	r.announced = s.settle()
}

// storeResult has every worker send its share of the job's result, and keeps these, each in a part
// of its own, all at once. It does not wait for the disk when ctx has ended.
func (r *run) storeResult(ctx context.Context, v *control.Values) error {
	parts := r.server.results.create(r.id, len(r.team))
	quota, taken := r.server.cluster.quotas.of(r.job.owner).ResultBytes, atomic.Int64{}
	_, err := r.each(ctx, order{
		what: "values", command: &control.Command{Body: &control.Command_Values{Values: v}},
		take: func(i int, chunk *control.ValuesChunk) error {
			if n := taken.Add(int64(len(chunk.Data))); quota > 0 && n > quota {
				return fmt.Errorf("result: it has more bytes than all results of %s may have: the quota is result-bytes=%d", r.job.owner, quota)
			}
			return parts[i].write(chunk.Data, chunk.Last)
		},
		fits: func(i int, _ *control.Report) bool { return parts[i].whole.Load() },
	})
	total := uint64(0)
	var sums []*control.Sum
	for i := 0; i < len(parts) && err == nil; i++ {
		sums = append(sums, parts[i].summed())
		total += sums[i].Bytes
	}
	if err == nil {
		err = r.shareResult(ctx, parts)
	}
	if err != nil {
		r.server.results.discard(r.id, parts)
	}
	r.set(func(a *control.Job) { a.ResultBytes, a.ResultParts = total, sums })
	return err
}

// shareResult stores the parts of a result where masters share their state. If it cannot be stored
// there this master alone has it.
func (r *run) shareResult(ctx context.Context, parts []*part) error {
	files := r.server.results
	err := files.publishParts(ctx, r.id, len(parts))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	r.say(fmt.Sprintf("warning: if another master leads, it does not have the result: %s",
		control.Text(err.Error(), control.MaxText)))
	if err := files.unshare(ctx, files.sharedDir(r.id)); err != nil {
		r.server.log.Warn("a part of a result stays where masters share their state", "job", r.id,
			"error", err)
	}
	return nil
}

// cleanUp frees what the workers hold of the job; after a failure they are told to stop first.
func (r *run) cleanUp(err error) {
	answers := make([][]<-chan *control.Report, len(r.team))
	tell := func(i int, w *session, c *control.Command) {
		c.Job, c.Epoch = r.id, r.epoch
		answers[i] = append(answers[i], r.server.tell(w, c))
	}
	r.server.mu.Lock()
	for i, p := range r.team {
		w := r.server.sessionOf(p)
		if w == nil {
			continue
		}
		if err != nil {
			cancel := &control.Cancel{Reason: reasonOf(err)}
			tell(i, w, &control.Command{Body: &control.Command_Cancel{Cancel: cancel}})
		}
		tell(i, w, &control.Command{Body: &control.Command_Drop{Drop: &control.Drop{}}})
	}
	r.server.mu.Unlock()
	for i, all := range answers {
		for _, answer := range all {
			r.saw(i, <-answer)
		}
	}
}
