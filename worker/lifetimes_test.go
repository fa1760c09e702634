package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/pregel"
)

// gated gives every vertex Value plus its input id. If Value has a gate, each vertex first waits
// there.
type gated struct {
	Value uint64           `param:"value"`
	gates map[uint64]*gate // by value
}

// gate blocks Compute until the test opens it.
type gate struct{ reached, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}, 1), make(chan struct{})} }

func (g *gate) wait() {
	select {
	case g.reached <- struct{}{}:
	default:
	}
	<-g.open
}

func (gated) Combiner() pregel.Combiner[uint64] { return combiners.Min[uint64]() }

func (p gated) Compute(v *pregel.Vertex[uint64, uint64], _ uint64) {
	if g := p.gates[p.Value]; g != nil {
		g.wait()
	}
	sum := uint64(0)
	for e := range v.Edges() {
		sum += uint64(e.To) // reads the edges
	}
	v.Set(p.Value + v.Label() + sum - sum)
}

// holding is an executor that receives commands from a test, as from a master.
type holding struct {
	*executor
	t          *testing.T
	placements []*control.Placement
	meetings   uint64
}

// vertices is the number of vertices of the tests' graph. Its arrays and those of a job are large
// enough to be mappings.
const vertices = 40_000

func newHolding(t *testing.T, gates map[uint64]*gate) *holding {
	t.Helper()
	l := listen(t)
	x := newExecutor(&Config{Options: Options{Name: "x"}, Worker: daemon.Worker{Process: daemon.Process{Token: clusterToken, Registry: engine.Registry{engine.Register("gated", pregel.Erase(gated{gates: gates}))}}, Listener: l}})
	h := &holding{executor: x, t: t}
	h.register(1)
	h.placements = []*control.Placement{{Worker: "x", Address: l.Addr().String(), Incarnation: 1}}
	return h
}

func (h *holding) register(incarnation uint64) {
	h.t.Helper()
	if err := h.registered(incarnation, false); err != nil {
		h.t.Fatal(err)
	}
	for _, p := range h.placements {
		p.Incarnation = incarnation
	}
}

func (h *holding) task(job string, epoch uint32) task {
	return task{
		job: job, epoch: epoch, progress: func(string, int64, int64) {},
		superstep: new(atomic.Int64),
		observe:   func(float64, []*bsp.Report) {},
	}
}

func (h *holding) load(ctx context.Context, graph string) error {
	if err := h.meet(ctx, graph); err != nil {
		return err
	}
	_, err := h.executor.load(ctx, h.task("", 0), &control.Load{
		Graph: graph, SourceJson: jobspec.Text(&jobspec.Source{Input: fmt.Sprint("path:vertices=",
			vertices)}), Rows: 1, Columns: 1, Placements: h.placements,
	})
	return err
}

// meet connects the worker to its peers, for a graph or job.
func (h *holding) meet(ctx context.Context, what string) error {
	h.meetings++
	return h.connectPeers(ctx, task{},
		&control.Meet{Attempt: h.meetings, Graph: what, Placements: h.placements})
}

// run runs a job of one superstep.
func (h *holding) run(ctx context.Context, t task, graph string, value uint64) error {
	_, err := h.tells(ctx, t, graph, value, func(*control.Report) error { return nil })
	return err
}

// tells is run, and passes reports to tell.
func (h *holding) tells(
	ctx context.Context, t task, graph string, value uint64, tell func(*control.Report) error,
) (*control.DriveReport, error) {
	if err := h.meet(ctx, resolve.OwnGraph(t.job)); err != nil {
		return nil, err
	}
	return h.does(ctx, t,
		&control.Run{Rows: 1, Columns: 1, SpecJson: jobspec.Text(&jobspec.Spec{
			Graph: graph, Program: "gated",
			Parameters: map[string]string{"value": fmt.Sprint(value)},
			Options:    jobspec.Options{MaxSupersteps: 1},
		})}, tell)
}

func (h *holding) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// check compares a job's values with the expected ones.
func (h *holding) check(t task, value uint64) {
	h.t.Helper()
	var text bytes.Buffer
	h.must(h.values(h.t.Context(), t, &control.Values{},
		func(data []byte) error { _, err := text.Write(data); return err }))
	wrong, lines := 0, 0
	for line := range strings.Lines(text.String()) {
		name, found, _ := strings.Cut(strings.TrimSpace(line), " ")
		label, _ := strconv.ParseUint(name, 10, 64)
		if lines++; found != fmt.Sprint(value+label) {
			wrong++
		}
	}
	if wrong > 0 || lines != vertices {
		h.t.Errorf("%d of %d values are wrong", wrong, lines)
	}
}

// TestALoadWhoseMeetingIsOver: a worker that attaches again closes the connections for a load. The
// load fails with errUnmet, and the report to the master says so.
func TestALoadWhoseMeetingIsOver(t *testing.T) {
	h := newHolding(t, nil)
	defer h.close()
	h.must(h.connectPeers(t.Context(), task{}, &control.Meet{Graph: "g", Placements: h.placements}))
	h.retain(nil, nil)()
	_, err := h.executor.load(t.Context(), h.task("", 0),
		&control.Load{Graph: "g", SourceJson: jobspec.Text(&jobspec.Source{Input: "path:vertices=9"}), Rows: 1, Columns: 1, Placements: h.placements})
	if !errors.Is(err, errUnmet) ||
		!(&queue{session: &session{worker: &worker{}}}).failure(err).Unmet {
		t.Errorf("error %v, failure %v", err,
			(&queue{session: &session{worker: &worker{}}}).failure(err))
	}
	h.must(h.load(t.Context(), "g")) // after connecting again
}

// TestCommandsOutliveWhatTheyUse: a job and its graph are removed in each possible way during a
// superstep. Another job allocates memory and writes its values. Then the first superstep continues
// to write. Built with -tags invariants, a write to freed memory ends the process.
func TestCommandsOutliveWhatTheyUse(t *testing.T) {
	const first, next = 1 << 40, 2 << 40
	for _, way := range []struct {
		name   string
		forget func(h *holding, job task)
	}{
		{"attached again", func(h *holding, _ task) { h.retain(nil, nil)() }},
		{"lapsed", func(h *holding, _ task) { h.reset(); h.register(2) }},
		{"another session drops", func(h *holding, job task) {
			h.drop(job, "")
			h.drop(job, "graph")
		}},
		{"the graph alone is dropped", func(h *holding, job task) { h.drop(job, "graph") }},
		{"the job's next attempt", func(h *holding, job task) {
			job.epoch++
			h.must(h.meet(h.t.Context(), resolve.OwnGraph(job.job)))
			a, err := h.together(h.t.Context(), job, "")
			h.must(err)
			a.Release()
			h.drop(job, "")
		}},
		{"the graph is loaded anew", func(h *holding, _ task) { h.must(h.load(h.t.Context(), "graph")) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			g := newGate()
			h := newHolding(t, map[uint64]*gate{first: g})
			defer h.close()
			job, after := h.task("first", 1), h.task("next", 1)
			h.must(h.load(t.Context(), "graph"))
			session, end := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- h.run(session, job, "graph", first)
			}()
			<-g.reached
			over := errors.New("the session is over")
			end(over)
			way.forget(h, job)
			h.must(h.load(t.Context(), "another"))
			h.must(h.run(t.Context(), after, "another", next))
			close(g.open)
			select {
			case err := <-ended:
				// whichever stopped the run first
				if !errors.Is(err, over) && !errors.Is(err, errDropped) {
					t.Errorf("the first superstep ended with %v, expected %v or %v", err, over,
						errDropped)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the first superstep did not end")
			}
			h.check(after, next)
		})
	}
}

// countedContext counts the calls of Err, and ends at the first.
type countedContext struct {
	context.Context
	stop  context.CancelCauseFunc
	asked int
}

func (c *countedContext) Err() error {
	c.asked++
	c.stop(errStopped)
	return c.Context.Err()
}

var errStopped = errors.New("stopped")

// TestSortingStops: a command is cancelled while it sorts the vertices of a result. It returns
// soon, and the worker continues.
func TestSortingStops(t *testing.T) {
	h := newHolding(t, nil)
	defer h.close()
	of := h.task("sorting", 1)
	h.must(h.load(t.Context(), "graph"))
	h.must(h.run(t.Context(), of, "graph", 0))
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	a, j, err := h.job(of)
	h.must(err)
	defer a.Release()
	counted := &countedContext{Context: ctx, stop: stop}
	emitted := false
	err = j.values(counted, &control.Values{Sorted: true}, func(string, int64, int64) {},
		func([]byte) error { emitted = true; return nil })
	if !errors.Is(err, errStopped) || counted.asked == 0 || emitted {
		t.Errorf("error %v after %d looks at the context; emitted: %t", err, counted.asked,
			emitted)
	}
}
