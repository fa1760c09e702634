package worker

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// waiting is an executor whose commands wait for their contexts.
type waiting struct {
	nobody
	began chan string
}

func (w waiting) Prepare(ctx context.Context, _ Task, _ *control.Prepare) (*control.PrepareReport, error) {
	w.began <- "prepare"
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (w waiting) Superstep(ctx context.Context, _ Task, _ *control.Superstep) (*control.SuperstepReport, error) {
	w.began <- "superstep"
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (w waiting) Drop(context.Context, Task, string) error {
	w.began <- "drop"
	return nil
}

// TestCancelStopsWhatWaits cancels a job with a command under way and others waiting: neither goes on, what frees is done,
// each is answered, and nothing is kept.
func TestCancelStopsWhatWaits(t *testing.T) {
	x := waiting{began: make(chan string, 8)}
	w := &worker{Options: Options{Executor: x}}
	w.defaults()
	near, far := net.Pipe()
	lane := control.NewLane(far)
	s := newSession(w, control.NewLane(near), nil)
	out := make(chan *control.FromWorker, 16)
	go func() {
		defer close(out)
		for {
			m := &control.FromWorker{}
			if lane.Receive(m) != nil {
				return
			}
			out <- m
		}
	}()
	id := uint64(0)
	add := func(c *control.Command) {
		id++
		c.Id, c.Job, c.Epoch = id, "j", 1
		s.queue.add(t.Context(), c)
	}
	next := func(from <-chan string) string {
		select {
		case text := <-from:
			return text
		case <-time.After(time.Minute):
			t.Fatal("nothing happened for a minute")
			return ""
		}
	}
	add(&control.Command{Body: &control.Command_Prepare{Prepare: &control.Prepare{}}})
	if what := next(x.began); what != "prepare" {
		t.Fatal(what)
	}
	add(&control.Command{Body: &control.Command_Superstep{Superstep: &control.Superstep{}}})
	add(&control.Command{Body: &control.Command_Drop{Drop: &control.Drop{}}})
	add(&control.Command{Body: &control.Command_Cancel{Cancel: &control.Cancel{Reason: "enough"}}})
	if what := next(x.began); what != "drop" {
		t.Errorf("after the cancel began a %s", what)
	}
	answers := map[uint64]string{}
	for range 4 {
		select {
		case m := <-out:
			r := m.GetReport()
			answers[r.Id] = r.GetFailure().GetMessage()
		case <-time.After(time.Minute):
			t.Fatalf("answered were %v", answers)
		}
	}
	if answers[1] != "enough" || answers[2] != "enough" || answers[3] != "" || answers[4] != "" || len(answers) != 4 {
		t.Errorf("found %v", answers)
	}
	add(&control.Command{Body: &control.Command_Cancel{Cancel: &control.Cancel{Reason: "again"}}})
	<-out
	s.lane.Close()
	w.commands.Wait()
	if len(s.queue.jobs) != 0 {
		t.Errorf("%d jobs are kept", len(s.queue.jobs))
	}
}

// mute is an executor whose answers cannot be encoded.
type mute struct{ nobody }

func (mute) Benchmark(context.Context, Task, *control.BenchmarkStep) (*control.BenchmarkReport, error) {
	return &control.BenchmarkReport{Violation: &control.Violation{Text: "\xff"}}, nil
}

func (mute) Load(context.Context, Task, *control.Load) (*control.LoadReport, error) {
	return nil, &LostError{Worker: "\xff", Err: errors.New("gone")}
}

// TestEveryCommandIsAnswered: an answer that cannot be encoded becomes one that says so.
func TestEveryCommandIsAnswered(t *testing.T) {
	w := &worker{Options: Options{Executor: mute{}}}
	w.defaults()
	near, far := net.Pipe()
	lane := control.NewLane(far)
	s := newSession(w, control.NewLane(near), nil)
	defer s.lane.Close()
	for i, c := range []*control.Command{
		{Body: &control.Command_Benchmark{Benchmark: &control.BenchmarkStep{}}}, {Body: &control.Command_Load{Load: &control.Load{}}},
	} {
		c.Id, c.Job, c.Epoch = uint64(i+1), "j", 1
		s.queue.add(t.Context(), c)
		m := &control.FromWorker{}
		watch := time.AfterFunc(30*time.Second, func() { lane.Close() })
		if err := lane.Receive(m); err != nil {
			t.Fatal(err)
		}
		watch.Stop()
		r := m.GetReport()
		if r.GetId() != c.Id || r.GetJob() != "j" || !strings.Contains(r.GetFailure().GetMessage(), "the worker's answer cannot be sent: ") {
			t.Errorf("found %v", r)
		}
	}
	w.commands.Wait()
}

// deaf is an executor whose supersteps end when a test says so, whatever they are told.
type deaf struct {
	nobody
	began chan struct{}
	end   chan struct{}
}

func (d deaf) Superstep(context.Context, Task, *control.Superstep) (*control.SuperstepReport, error) {
	close(d.began)
	<-d.end
	return nil, nil
}

// TestCommandThatDoesNotStop tells a superstep to stop that does not: the worker gives up, and says why. One that stops in
// time is no reason to.
func TestCommandThatDoesNotStop(t *testing.T) {
	for _, stops := range []bool{false, true} {
		x := deaf{began: make(chan struct{}), end: make(chan struct{})}
		limit := 20 * time.Millisecond
		if stops {
			limit = time.Hour
		}
		w := &worker{Options: Options{Executor: x, StopTimeout: limit}}
		w.defaults()
		q := &queue{session: &session{worker: w}}
		ctx, stop := context.WithCancelCause(t.Context())
		c := &control.Command{Job: "j", Body: &control.Command_Superstep{Superstep: &control.Superstep{Superstep: 3}}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			returned := q.watch(ctx, c)
			_, _ = q.do(ctx, c)
			returned()
		}()
		<-x.began
		stop(errors.New("enough"))
		if !stops {
			err := <-w.stuck
			if want := "job j: superstep 3 has not stopped 20ms after it was told to (enough): the process ends, to be started anew"; err.Error() != want {
				t.Errorf("found %v, expected %s", err, want)
			}
		}
		close(x.end)
		<-done
		select {
		case err := <-w.stuck:
			t.Errorf("stops %t: found %v", stops, err)
		default:
		}
	}
}
