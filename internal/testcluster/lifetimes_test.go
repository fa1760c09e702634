package testcluster

import (
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// gate blocks a Compute call until a test opens it.
type gate struct{ reached, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}, 8), make(chan struct{})} }

// await waits until a Compute call has reached the gate.
func (g *gate) await(t testing.TB) {
	t.Helper()
	select {
	case <-g.reached:
	case <-time.After(patience):
		t.Fatal("no Compute call came to the gate")
	}
}

// gated gives every vertex Value plus its input id in superstep 0. In superstep At, the first
// vertices wait at the gate of Value; first is their number.
type gated struct {
	At    uint64 `param:"at"`
	Value uint64 `param:"value"`
	first pregel.VertexID
	gates map[uint64]*gate
}

func (gated) Combiner() pregel.Combiner[uint64] { return combiners.Min[uint64]() }

func (p gated) Compute(v *pregel.Vertex[uint64, uint64], _ uint64) {
	if g := p.gates[p.Value]; g != nil && v.ID() < p.first && uint64(v.Superstep()) == p.At {
		g.reached <- struct{}{}
		<-g.open
	}
	if v.Superstep() > 0 {
		v.VoteToHalt()
		return
	}
	for e := range v.Edges() { // reads the edges
		if uint64(e.To) >= v.NumVertices() {
			panic(fmt.Sprint("an edge leads to vertex ", e.To))
		}
	}
	v.Set(p.Value + v.Label())
}

func (p gated) spec(at, value int, graph string) *job.Spec {
	s := &job.Spec{
		Program:    "gated",
		Parameters: map[string]string{"at": fmt.Sprint(at), "value": fmt.Sprint(value)},
		Graph:      graph, KeepResult: true,
	}
	if graph == "" {
		s.Source = &job.Source{Input: fmt.Sprint("star:vertices=", gatedVertices)}
	}
	return s
}

// gatedVertices is a number of vertices for which the arrays of a graph and of a job are mappings. A
// star is dealt vertex by vertex: the first vertices are on different workers.
const gatedVertices = 40_000

// observed reports a worker's sessions and ended commands.
type observed chan string

func (o observed) tell(text string) {
	select {
	case o <- text:
	default:
	}
}

func (o observed) Session(attached bool)          { o.tell(fmt.Sprint("session: ", attached)) }
func (observed) Leaving()                         {}
func (o observed) Stuck(what string)              { o.tell("stuck: " + what) }
func (observed) Registered(string, uint64)        {}
func (observed) Superstep(float64, []*bsp.Report) {}
func (o observed) Command(name string, _ time.Duration, _ *control.Report, err error) {
	o.tell(fmt.Sprint(name, ": ", err))
}

// await waits until a text is reported, after earlier ones.
func (o observed) await(t testing.TB, want string) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case got := <-o:
			if got == want {
				return
			}
		case <-late:
			t.Fatalf("the worker did not tell of %q", want)
		}
	}
}

// TestRunOutlivesItsSession breaks a worker's connections twice while Compute runs. The worker
// attaches again, and the job continues.
func TestRunOutlivesItsSession(t *testing.T) {
	t.Parallel()
	const value = 1 << 40
	p := gated{first: 1, gates: map[uint64]*gate{value: newGate()}}
	worker := make(observed, 1000)
	c := Start(t, 0, master.Config{}, engine.Register("gated", pregel.Erase(p)))
	c.Worker.Observe = worker
	c.StartWorker("w0")
	c.Await(1)
	j := c.submitSpec(t, p.spec(0, value, ""))
	p.gates[value].await(t)
	for range 2 {
		c.Break("w0")
		worker.await(t, "session: false")
		worker.await(t, "session: true")
	}
	close(p.gates[value].open)
	if j, _ = c.watch(t, j.Id, nil); j.State != control.JobState_JOB_STATE_DONE || j.Epoch != 1 ||
		j.Supersteps == 0 {
		t.Fatalf("the job: %s: %s, attempt %d", j.State.Word(), j.Reason, j.Epoch)
	}
	values := c.result(t, j.Id)
	for v := range uint64(gatedVertices) {
		if values[v] != fmt.Sprint(value+v) {
			t.Fatalf("vertex %d: found %s, expected %d", v, values[v], value+v)
		}
	}
}

// TestComputeOutlivesItsSession cancels a job and breaks its worker's connections while Compute
// runs. The worker attaches again, and the next job writes its values. Then the first Compute
// continues, but the values of the next job stay right. Built with -tags invariants, a write to
// freed memory ends the process.
func TestComputeOutlivesItsSession(t *testing.T) {
	t.Parallel()
	const first, next = 1 << 40, 2 << 40
	for _, graph := range []string{"", "web"} {
		t.Run("graph "+graph, func(t *testing.T) {
			t.Parallel()
			p := gated{first: 1, gates: map[uint64]*gate{first: newGate(), next: newGate()}}
			worker := make(observed, 1000)
			c := Start(t, 0, master.Config{}, engine.Register("gated", pregel.Erase(p)))
			c.Worker.Observe = worker
			c.StartWorker("w0")
			c.Await(1)
			if graph != "" {
				c.load(t, graph, p.spec(0, 0, "").Source, 0, 0)
			}
			broken := c.submitSpec(t, p.spec(0, first, graph))
			p.gates[first].await(t)
			c.cancel(t, broken.Id)
			c.Break("w0")
			if j, _ := c.watch(t, broken.Id, nil); j.State != control.JobState_JOB_STATE_CANCELLED {
				t.Errorf("the first job: %s: %s", j.State.Word(), j.Reason)
			}
			worker.await(t, "session: false")
			worker.await(t, "session: true")
			j := c.submitSpec(t, p.spec(1, next, graph))
			p.gates[next].await(t) // its values are written
			close(p.gates[first].open)
			worker.await(t, "run: context canceled")
			close(p.gates[next].open)
			if j, _ = c.watch(t, j.Id, nil); j.State != control.JobState_JOB_STATE_DONE {
				t.Fatalf("the next job: %s: %s", j.State.Word(), j.Reason)
			}
			values, wrong := c.result(t, j.Id), 0
			for v := range uint64(gatedVertices) {
				if values[v] != fmt.Sprint(next+v) {
					wrong++
				}
			}
			if wrong > 0 || len(values) != gatedVertices {
				t.Errorf("%d of %d values are wrong", wrong, len(values))
			}
			kept := 0
			if graph != "" {
				kept = 1
			}
			c.Until("nothing of the jobs is held", func() bool {
				jobs, graphs := c.workers["w0"].worker.Holds()
				return jobs == 0 && graphs == kept
			})
		})
	}
}

// TestAttachDuringCleanUp breaks a worker's connections when a job is cancelled. The worker
// attaches again while the master still waits for another worker to free the job. In the end no
// worker holds anything.
func TestAttachDuringCleanUp(t *testing.T) {
	t.Parallel()
	const value = 1 << 40
	p := gated{first: 2, gates: map[uint64]*gate{value: newGate()}}
	worker := make(observed, 1000)
	c := Start(t, 1, master.Config{}, engine.Register("gated", pregel.Erase(p)))
	c.Worker.Observe = worker
	c.StartWorker("w1")
	c.Await(2)
	j := c.submitSpec(t, p.spec(0, value, ""))
	p.gates[value].await(t) // one vertex on each worker
	p.gates[value].await(t) // on each worker
	c.cancel(t, j.Id)
	c.Break("w1")
	worker.await(t, "session: false")
	worker.await(t, "session: true")
	if j := c.job(t, j.Id); j.State.Ended() {
		t.Errorf("the job is %s: expected it to be cleaned up", j.State.Word())
	}
	close(p.gates[value].open)
	if j, _ = c.watch(t, j.Id, nil); j.State != control.JobState_JOB_STATE_CANCELLED {
		t.Errorf("the job: %s: %s", j.State.Word(), j.Reason)
	}
	c.Until("no worker holds anything", func() bool {
		for _, p := range c.workers {
			if jobs, graphs := p.worker.Holds(); jobs+graphs > 0 {
				return false
			}
		}
		return true
	})
}

// TestWorkerWithoutEndOfCompute stops a job whose Compute does not return, in each possible way.
// Its worker exits with the reason, and a restarted worker works.
func TestWorkerWithoutEndOfCompute(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		superstep time.Duration // limit
		state     control.JobState
		reason    string
	}{
		"cancelled":         {state: control.JobState_JOB_STATE_CANCELLED, reason: "cancelled by a client"},
		"superstep timeout": {50 * time.Millisecond, control.JobState_JOB_STATE_FAILED, "superstep 0: it took longer than 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endlessCompute(t, k.superstep, k.state, k.reason)
		})
	}
}

func endlessCompute(t *testing.T, superstep time.Duration, state control.JobState, reason string) {
	const value = 1 << 40
	p := gated{first: 1, gates: map[uint64]*gate{value: newGate()}}
	c := Start(t, 0,
		master.Config{Options: master.Options{Lease: 2 * time.Second}},
		engine.Register("gated", pregel.Erase(p)))
	c.Worker.StopTimeout = 100 * time.Millisecond
	worker := make(observed, 1000)
	c.Worker.Observe = worker
	stuck := c.StartWorker("w0")
	c.Await(1)
	spec := p.spec(0, value, "")
	spec.Options = job.Options{SuperstepTimeout: job.Duration(superstep)}
	j := c.submitSpec(t, spec)
	p.gates[value].await(t)
	if state == control.JobState_JOB_STATE_CANCELLED {
		c.cancel(t, j.Id)
	}
	want := fmt.Sprintf("job %s: superstep 0 has not stopped 100ms after it was cancelled (%s", j.Id,
		reason)
	if err := stuck.Wait(t); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the worker ended with %v, expected %s...", err, want)
	}
	worker.await(t, fmt.Sprintf("stuck: job %s: superstep 0 was cancelled, but does not stop (%s)",
		j.Id, reason))
	if w := c.WorkerNamed("w0"); w == nil || w.State != control.WorkerState_WORKER_STATE_LOST ||
		!strings.HasPrefix(w.Reason, want) {
		t.Errorf("the master has the worker as %v, expected the reason %s...", w, want)
	}
	c.Kill("w0") // as when its process ends
	if j, _ = c.watch(t, j.Id, nil); j.State != state || j.Reason != reason {
		t.Errorf("the job: %s: %s", j.State.Word(), j.Reason)
	}
	close(p.gates[value].open)
	c.StartWorker("w1")
	c.Until("the new worker is there",
		func() bool { w := c.WorkerNamed("w1"); return w != nil && w.Attached })
	c.Until("the old worker is gone",
		func() bool { w := c.WorkerNamed("w0"); return w == nil || !w.Attached })
	if j, _ = c.watch(t, c.submitSpec(t, p.spec(9, 1, "")).Id,
		nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("the next job: %s: %s", j.State.Word(), j.Reason)
	}
}

func (c *Cluster) job(t testing.TB, id string) *control.Job {
	t.Helper()
	r, err := c.Client.GetJob(t.Context(), &control.GetJobRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hookedObserver calls a function after a worker has ended a command, before its answer.
type hookedObserver struct {
	observed
	after string
	do    func()
}

func (b hookedObserver) Command(name string, _ time.Duration, _ *control.Report, _ error) {
	if name == b.after {
		b.do()
	}
}

// severed is counting, and calls a function when a job gets its graph.
type severed struct {
	counting
	bound func()
}

func (s severed) Validate(g *pregel.GraphInfo) error {
	if g != nil {
		s.bound()
	}
	return nil
}

// TestFillWithoutAMaster cuts off the driving worker when it is about to read initial values, until
// reading has failed. The job starts again.
func TestFillWithoutAMaster(t *testing.T) {
	t.Parallel()
	p := gated{}
	first := engine.Register("gated", pregel.Erase(p))
	calls := atomic.Int32{}
	var c *Cluster
	counts := engine.Register("counting", pregel.Erase(severed{bound: func() {
		if calls.Add(1) == 2 { // the master's check comes first
			c.Kill("w0")
		}
	}}))
	c = Start(t, 0, master.Config{Options: master.Options{Retries: 3}}, first, counts)
	c.Worker.Observe = hookedObserver{make(observed, 1000), "run", func() { c.Thaw("w0") }}
	c.StartWorker("w0")
	c.Await(1)
	c.load(t, "web", p.spec(0, 0, "").Source, 0, 0)
	s := p.spec(0, 5, "web")
	s.Values, s.Form = pack.Describe(reflect.TypeFor[uint64](), true), first.Form()
	from, _ := c.watch(t, c.submitSpec(t, s).Id, nil)
	j, _ := c.watch(t, c.submitSpec(t, &job.Spec{
		Program: "counting", Graph: "web", KeepResult: true, Values: s.Values, Form: counts.Form(),
		Inputs: map[string]string{"passed": from.Id},
	}).Id, nil)
	if j.State != control.JobState_JOB_STATE_DONE || j.Epoch != 2 {
		t.Errorf("the job is %s: %s, in attempt %d", j.State.Word(), j.Reason, j.Epoch)
	}
}
