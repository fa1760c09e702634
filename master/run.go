package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// run is an attempt of a job.
type run struct {
	server *server
	job    *job // for its id, spec, epoch and placements, which an attempt does not change
	id     string
	epoch  uint32
	spec   *jobspec.Spec
	team   []*control.Placement // one placement per worker

	// Guarded by the server's lock.
	peaks []uint64          // of memory, by member of the team
	heard map[string]uint64 // by worker: serial before which everything was received
	moved error             // if not nil, the attempt ends when the next checkpoint is stored
	// For moves away from a slow worker. Only the goroutine that receives the run's reports uses
	// these fields.
	pace *pace // nil if the run may not move
	// When the attempt began, and how long the workers took to start running it.
	since      time.Duration
	begins     time.Duration
	checkpoint float64 // duration of the last checkpoint in seconds; 0 if there was none
	announced  *batch  // batch of the last change of state while it is not on disk, or nil
}

// newRun makes the run of an attempt. The caller holds the server's lock.
func newRun(s *server, j *job) *run {
	r := &run{
		server: s, job: j, id: j.id, epoch: j.epoch, spec: j.spec,
		team: onePerWorker(j.placements), heard: map[string]uint64{},
	}
	if !j.takenUp {
		j.forgetFigures()
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
	r.peaks = make([]uint64, len(r.team))
	if g := s.cluster.graphs[j.spec.Graph]; g != nil {
		a := &j.figures
		a.Vertices, a.Edges, a.Arcs, a.Directed, a.Named = g.report.Vertices, g.report.Edges,
			g.report.Arcs, g.report.Directed, g.report.Named
		a.Fingerprint, a.Ids = g.report.Fingerprint, g.report.Ids
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

// forgetFigures removes the figures of an attempt that has ended.
func (j *job) forgetFigures() {
	searched := j.figures.Graph500
	proto.Reset(&j.figures)
	j.figures.Graph500 = searched
}

// saw updates the peak memory of a worker of the team.
func (r *run) saw(i int, report *control.Report) {
	r.set(func(a *control.Job) {
		if report != nil && report.PeakMemory > r.peaks[i] {
			a.PeakMemory += report.PeakMemory - r.peaks[i]
			r.peaks[i] = report.PeakMemory
		}
	})
}

// heardOf returns the serial before which everything was received from a worker.
func (r *run) heardOf(worker string) uint64 {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	return r.heard[worker]
}

// set changes the figures.
func (r *run) set(f func(*control.Job)) {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	f(&r.job.figures)
}

// coordinate runs the job to its end and passes the outcome to the state machine.
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
			delete(s.runs, r.id)
		}
		s.cluster.runEnded(s.now(), r.id, r.epoch, err)
	})
}

// ending reports whether the master is stopping and the next one will continue the current runs.
// Then a run has not ended.
func (s *server) ending() bool { return s.durable() && s.ctx.Err() != nil }

func (r *run) advance(state control.JobState) {
	s := r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cluster.advance(r.id, r.epoch, state)
	r.announced = s.settle()
}

// storeResult requests the result from all workers at once and writes one part per worker. After
// ctx ends it does not wait for the disk.
func (r *run) storeResult(ctx context.Context, v *control.Values) error {
	files, all := r.server.results, make([]atomic.Pointer[control.Sum], len(r.team))
	dir := files.attempt(r.id, r.epoch)
	quota := &quotaOf{owner: r.job.owner}
	quota.most = r.server.cluster.quotas.of(quota.owner).ResultBytes
	_, err := r.each(ctx, order{
		what: "values", command: &control.Command{Body: &control.Command_Values{Values: v}},
		take: func(ctx context.Context, i int, from io.Reader) error {
			sum, err := files.put(ctx, dir, i, io.TeeReader(from, quota))
			all[i].Store(sum)
			return cmp.Or(quota.exceeded(), err)
		},
		fits: func(i int, _ *control.Report) bool { return all[i].Load() != nil },
	})
	total := uint64(0)
	var sums []*control.Sum
	for i := 0; i < len(all) && err == nil; i++ {
		sums = append(sums, all[i].Load())
		total += sums[i].Bytes
	}
	if err == nil {
		err = r.shareResult(ctx, dir)
	}
	if err != nil {
		files.remove(dir)
	} else {
		files.removeEarlier(dir)
	}
	r.set(func(a *control.Job) { a.ResultBytes, a.ResultParts = total, sums })
	return err
}

// quotaOf counts the bytes of a result. Its Write fails if the owner may not store as many. Several
// goroutines write.
type quotaOf struct {
	owner string
	most  int64 // 0: any number
	taken atomic.Int64
}

func (q *quotaOf) Write(data []byte) (int, error) {
	q.taken.Add(int64(len(data)))
	return len(data), q.exceeded()
}

func (q *quotaOf) exceeded() error {
	if q.most == 0 || q.taken.Load() <= q.most {
		return nil
	}
	return fmt.Errorf("result: it is larger than all results of %s may be: the quota is "+
		"result-bytes=%d", q.owner, q.most)
}

// shareResult copies the parts of a result to the shared place. If that fails, only this master has
// the result.
func (r *run) shareResult(ctx context.Context, dir string) error {
	files := r.server.results
	err := files.publishParts(ctx, dir, len(r.team))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	r.say(fmt.Sprintf("warning: if another master leads, it does not have the result: %s",
		control.Text(err.Error(), control.MaxText)))
	if err := files.unshare(ctx, sharedResults+dir+"/"); err != nil {
		r.server.log.Warn("a part of a result stays where masters share their state", "job", r.id,
			"error", err)
	}
	return nil
}

// cleanUp makes the workers free the job's memory. After a failure it cancels the run first.
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
