package master

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	_ "github.com/superstep-go/superstep/internal/laxgc"
)

// waiting is a job in the simple counterpart of the queue.
type waiting struct {
	id        string
	number    int
	level     int // 1 to 3
	began     bool
	submitted time.Duration
}

// nextOf is the simple counterpart of the queue: it returns the index of the job that is next, -1
// if none waits. It simulates aging step by step.
func nextOf(all []waiting, now time.Duration) int {
	level := func(j waiting) int {
		n := j.level
		for at := j.submitted + agesAfter; at <= now && n < 3; at += agesAfter {
			n++
		}
		return n
	}
	first := func(a, b waiting) bool { // whether a is before b
		if a.began != b.began {
			return a.began
		}
		if level(a) != level(b) {
			return level(a) > level(b)
		}
		return a.number < b.number
	}
	for i, a := range all {
		if !slices.ContainsFunc(all, func(b waiting) bool { return first(b, a) }) {
			return i
		}
	}
	return -1
}

// queueTrial is a cluster of one worker and its simple counterpart.
type queueTrial struct {
	t       *testing.T
	seed    uint64
	c       *cluster
	now     time.Duration
	worker  uint64 // the worker's incarnation
	started int    // workers
	queue   []waiting
	running waiting
}

func (q *queueTrial) begin() {
	q.c = newCluster(rules{lease: 1000 * time.Hour, hold: time.Hour, running: 1, retries: 1 << 20, queue: 1 << 20, ended: 10, jobPrefix: "j", master: "m"})
}

// join starts the worker.
func (q *queueTrial) join() {
	q.started++
	n, err := q.c.register(q.now,
		&control.RegisterRequest{Name: "a", Instance: fmt.Sprint(q.started), Protocol: control.Protocol, Cores: 1})
	if err == nil {
		err = q.c.attach(q.now, "a", n, nil)
	}
	if err != nil {
		q.t.Fatal(err)
	}
	q.worker = n
}

// check compares the running jobs, immediately and after a tick.
func (q *queueTrial) check(what string) {
	q.t.Helper()
	if i := nextOf(q.queue, q.now); q.running.id == "" && i >= 0 {
		q.running = q.queue[i]
		q.queue = slices.Delete(q.queue, i, i+1)
	}
	got := ""
	for id, j := range q.c.jobs {
		if j.active() {
			got += id
		}
	}
	if got != q.running.id {
		q.t.Fatalf("seed %d, at %v, after %s: found that job %q runs, expected %q", q.seed, q.now,
			what, got, q.running.id)
	}
	q.c.take()
	q.c.takeChanged()
}

// over ends the run with err. A job that lost its worker waits again.
func (q *queueTrial) over(err error) {
	j := q.running
	if q.running = (waiting{}); err != nil {
		j.began = true
		q.queue = append(q.queue, j)
	}
	q.c.runEnded(q.now, j.id, q.c.jobs[j.id].epoch, err)
}

// restart starts another master from the jobs' records. Its clock begins at 0.
func (q *queueTrial) restart() {
	old := q.c
	q.begin()
	for _, o := range old.order {
		if !o.state.Ended() {
			q.c.restoreJob(&job{id: o.id, number: o.number, spec: o.spec, state: o.state, epoch: o.epoch, submitted: o.submitted - q.now})
		}
	}
	q.c.number, q.c.last = old.number, old.last
	q.c.known = true
	for i := range q.queue {
		q.queue[i].submitted -= q.now
	}
	if j := q.running; j.id != "" {
		j.submitted -= q.now
		j.began = true
		q.running, q.queue = waiting{}, append(q.queue, j)
	}
	q.now = 0
	q.join()
}

// TestQueueAgainstTwin: jobs are submitted, end, lose their worker, are cancelled or wait, and the
// master restarts. The running job is always the one that nextOf returns.
func TestQueueAgainstTwin(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 3))
		q := &queueTrial{t: t, seed: seed}
		q.begin()
		q.join()
		for n := range 150 {
			q.now += time.Duration(rng.Int64N(int64(4 * time.Minute)))
			q.c.tick(q.now)
			q.check("a tick")
			switch what := rng.IntN(20); {
			case what < 10:
				p := control.Priority(rng.IntN(4))
				j, _, err := q.c.submit(q.now, "",
					&jobspec.Spec{Program: "bfs", Source: &jobspec.Source{Input: "file"}, Queueing: jobspec.Queueing{Priority: p.Word()}}, "", 0)
				if err != nil {
					t.Fatal(err)
				}
				q.queue = append(q.queue,
					waiting{id: j.id, number: n, level: []int{2, 1, 2, 3}[p], submitted: q.now})
				q.check("a submission")
			case what < 16 && q.running.id != "":
				q.over(nil)
				q.check("an end")
			case what < 18 && q.running.id != "":
				q.c.exited(q.now, "a", q.worker, "killed", false)
				q.over(errSessionBroke)
				q.join()
				q.check("the loss of the worker")
			case what < 19 && len(q.queue) > 0:
				i := rng.IntN(len(q.queue))
				if _, err := q.c.cancel(q.now, q.queue[i].id, "enough"); err != nil {
					t.Fatal(err)
				}
				q.queue = slices.Delete(q.queue, i, i+1)
				q.check("a cancellation")
			default:
				q.restart()
				q.check("a restart")
			}
		}
	}
}

// TestNoPriorityStarves: jobs of the highest priority arrive as fast as they run. A job of low
// priority starts after it has aged to the highest priority and all jobs before it have ended.
func TestNoPriorityStarves(t *testing.T) {
	q := &queueTrial{t: t}
	q.begin()
	q.join()
	submit := func(p control.Priority) string {
		j, _, err := q.c.submit(q.now, "",
			&jobspec.Spec{Program: "bfs", Source: &jobspec.Source{Input: "file"}, Queueing: jobspec.Queueing{Priority: p.Word()}}, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		return j.id
	}
	runs := submit(control.Priority_PRIORITY_HIGH)
	low := submit(control.Priority_PRIORITY_LOW)
	for q.c.jobs[low].state == control.JobState_JOB_STATE_QUEUED {
		if q.now > 2*agesAfter+time.Minute {
			t.Fatalf("it has waited for %v", q.now)
		}
		next := submit(control.Priority_PRIORITY_HIGH)
		q.now += time.Minute
		q.c.runEnded(q.now, runs, q.c.jobs[runs].epoch, nil)
		runs = next
	}
	if q.now < 2*agesAfter {
		t.Errorf("it began after %v", q.now)
	}
}

// TestPrioritiesOfAMaster: only operators may use the highest priority, unknown priorities are
// refused, and the next master keeps the order.
func TestPrioritiesOfAMaster(t *testing.T) {
	dir := t.TempDir()
	s, end := served(t, dir)
	submit := func(name string, roles certs.Role, p string) error {
		ctx := control.As(context.WithoutCancel(t.Context()),
			control.Caller{Name: name, Roles: roles})
		_, _, err := s.Submit(ctx, &control.SubmitJobRequest{SpecJson: jobspec.Text(&jobspec.Spec{
			Program: "wcc", Parameters: map[string]string{},
			Source:   &jobspec.Source{Input: "path:vertices=3"},
			Queueing: jobspec.Queueing{Priority: p},
		})})
		return err
	}
	if err := submit("alice", control.Using,
		"high"); connect.CodeOf(err) != connect.CodePermissionDenied ||
		!strings.Contains(err.Error(),
			"priority high is for operators, and alice is none: low and normal are for all") {
		t.Errorf("alice's: found %v", err)
	}
	for _, p := range []string{"urgent", "HIGH"} {
		if err := submit("olga", control.Using|certs.Operator,
			p); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: found %v", p, err)
		}
	}
	for _, p := range []string{"low", "normal", "high", ""} {
		if err := submit("olga", control.Using|certs.Operator, p); err != nil {
			t.Error(err)
		}
	}
	order := func() (all []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, j := range s.cluster.inTurn(s.now()) {
			all = append(all, fmt.Sprint(j.number, s.describe(j).Priority.Word()))
		}
		return all
	}
	want := []string{"3high", "2normal", "4normal", "1low"}
	if got := order(); !slices.Equal(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
	end()
	s, end = served(t, dir)
	defer end()
	if got := order(); !slices.Equal(got, want) {
		t.Errorf("the next master has %v, expected %v", got, want)
	}
}
