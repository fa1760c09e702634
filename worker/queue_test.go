package worker

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
)

// newLane returns one side of a session.
func newLane(conn net.Conn) *control.Lane { return control.NewLane(conn, bufio.NewReader(conn)) }

// masterEnd is the master's end of a session. The test sends commands through it.
type masterEnd struct {
	t       *testing.T
	w       *worker
	session *session
	lane    *control.Lane
	id      uint64
}

// commanded returns a registered worker and the end to command it.
func commanded(t *testing.T, o Config) *masterEnd {
	t.Helper()
	o.Name, o.Token, o.Listener = "x", clusterToken, listen(t)
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.executor.close)
	if err := w.executor.registered(1, false); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	m := &masterEnd{t: t, w: w, session: newSession(w, newLane(near)), lane: newLane(far)}
	t.Cleanup(func() {
		m.session.lane.Close()
		m.lane.Close()
		w.commands.Wait()
	})
	return m
}

// add sends the worker a command for a job.
func (m *masterEnd) add(c *control.Command) {
	m.id++
	c.Id, c.Job, c.Epoch = m.id, "j", 1
	m.session.queue.add(m.t.Context(), c)
}

// report returns the worker's next report.
func (m *masterEnd) report() *control.Report {
	m.t.Helper()
	watch := time.AfterFunc(time.Minute, func() { m.lane.Close() })
	defer watch.Stop()
	answer := &control.FromWorker{}
	if err := m.lane.Receive(answer); err != nil {
		m.t.Fatal(err)
	}
	return answer.GetReport()
}

// connecting returns a command to connect to another worker.
func connecting(to, address string) *control.Command {
	return &control.Command{Body: &control.Command_Meet{Meet: &control.Meet{Graph: "g", Placements: []*control.Placement{
		{Worker: "x", Incarnation: 1}, {Partition: 1, Worker: to, Address: address, Incarnation: 2},
	}}}}
}

// TestCancelStopsWhatWaits cancels a job while one command runs and others wait. Neither continues,
// commands that free memory are executed, each command is answered, and nothing remains.
func TestCancelStopsWhatWaits(t *testing.T) {
	began := make(chan struct{})
	m := commanded(t,
		Config{Worker: daemon.Worker{Silence: time.Hour, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			close(began)
			<-ctx.Done()
			return nil, ctx.Err()
		}}})
	m.add(connecting("y", "127.0.0.1:1"))
	select {
	case <-began:
	case <-time.After(time.Minute):
		t.Fatal("it does not connect")
	}
	m.add(&control.Command{Body: &control.Command_Run{Run: &control.Run{}}})
	m.add(&control.Command{Body: &control.Command_Drop{Drop: &control.Drop{}}})
	m.add(
		&control.Command{Body: &control.Command_Cancel{Cancel: &control.Cancel{Reason: "enough"}}})
	answers := map[uint64]string{}
	for range 4 {
		r := m.report()
		answers[r.Id] = r.GetFailure().GetMessage()
	}
	if answers[1] == "" || answers[2] != "enough" || answers[3] != "" || answers[4] != "" ||
		len(answers) != 4 {
		t.Errorf("found %v", answers)
	}
	m.add(&control.Command{Body: &control.Command_Cancel{Cancel: &control.Cancel{Reason: "again"}}})
	m.report()
	m.session.lane.Close()
	m.w.commands.Wait()
	if len(m.session.queue.jobs) != 0 {
		t.Errorf("%d jobs are kept", len(m.session.queue.jobs))
	}
}

// TestEveryCommandIsAnswered: a command is answered even if it panics, or if its answer cannot be
// encoded.
func TestEveryCommandIsAnswered(t *testing.T) {
	m := commanded(t, Config{Worker: daemon.Worker{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no way") }}})
	for want, c := range map[string]*control.Command{
		"a bug in superstep: ":                 {Body: &control.Command_Save{}},
		"the worker's answer cannot be sent: ": connecting("\xff", "127.0.0.1:1"),
		"that this version does not know":      {},
	} {
		m.add(c)
		if r := m.report(); r.GetId() != c.Id || r.GetJob() != "j" ||
			!strings.Contains(r.GetFailure().GetMessage(), want) {
			t.Errorf("found %v, expected %s", r, want)
		}
	}
}

// TestCommandThatDoesNotStop: a cancelled command does not stop. The worker exits with this reason.
// If it stops in time, the worker continues.
func TestCommandThatDoesNotStop(t *testing.T) {
	for _, stops := range []bool{false, true} {
		o := Config{Options: Options{StopTimeout: 20 * time.Millisecond}, Worker: daemon.Worker{Process: daemon.Process{Token: clusterToken}}}
		if stops {
			o.StopTimeout = time.Hour
		}
		w, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		q := &queue{session: &session{worker: w}}
		ctx, stop := context.WithCancelCause(t.Context())
		c := &control.Command{Job: "j", Body: &control.Command_Run{Run: &control.Run{}}}
		task := q.task(c)
		task.superstep.Store(3 + 1)
		returned := q.watch(ctx, c, task)
		stop(errors.New("enough"))
		if !stops {
			err := <-w.stuck
			if want := "job j: superstep 3 has not stopped 20ms after it was cancelled (enough): the process ends"; err.Error() != want {
				t.Errorf("found %v, expected %s", err, want)
			}
		}
		returned()
		select {
		case err := <-w.stuck:
			t.Errorf("stops %t: found %v", stops, err)
		default:
		}
	}
}

// TestASessionKeepsItsRegistration: a worker registers again while a command of the previous
// session still answers. The answer has the previous registration. The race detector finds no
// shared access.
func TestASessionKeepsItsRegistration(t *testing.T) {
	m := commanded(t, Config{})
	m.session.incarnation = 1
	m.w.commands.Go(func() {
		_ = m.session.report(t.Context(), &control.Report{})
	})
	m.w.known = registration{incarnation: 2}
	answer := &control.FromWorker{}
	if err := m.lane.Receive(answer); err != nil || answer.Incarnation != 1 {
		t.Fatal(answer.Incarnation, err)
	}
}
