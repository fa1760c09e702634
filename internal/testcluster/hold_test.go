package testcluster

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
)

// inspect returns the master's description of a graph, or nil.
func (c *Cluster) inspect(t testing.TB, name string) *control.Graph {
	t.Helper()
	r, err := c.Client.InspectGraph(t.Context(),
		&control.InspectGraphRequest{Name: name})
	if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return r
}

// becomes waits until a graph is in a state, and returns it.
func (c *Cluster) becomes(t testing.TB, name string, state control.GraphState) *control.Graph {
	t.Helper()
	var g *control.Graph
	c.Until(fmt.Sprintf("graph %s to be %s", name, state.Word()), func() bool {
		g = c.inspect(t, name)
		return g.GetState() == state
	})
	return g
}

// components runs wcc on a graph of the catalog and returns the result.
func (c *Cluster) components(t testing.TB, graph string) map[uint64]string {
	t.Helper()
	j, _ := c.watch(t,
		c.submitSpec(t, &job.Spec{Program: "wcc", Graph: graph, KeepResult: true}).Id, nil)
	if j.State != control.JobState_JOB_STATE_DONE {
		t.Fatalf("a job on graph %s: %s: %s", graph, j.State.Word(), j.Reason)
	}
	return c.result(t, j.Id)
}

// isAsLoaded checks that a graph is ready from the same load, and that a job on it has the same
// result.
func (c *Cluster) isAsLoaded(t testing.TB, was *control.Graph, want map[uint64]string) {
	t.Helper()
	if g := c.becomes(t, was.Name, control.GraphState_GRAPH_STATE_READY); !proto.Equal(g, was) {
		t.Errorf("found %v, loaded was %v", g, was)
	}
	if got := c.components(t, was.Name); len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("found %d values, other than the %d before", len(got), len(want))
	}
}

// TestGraphOfALostWorkerThatComesBack cuts off a worker until it is lost. Its graph waits, and so
// does a job on it. When the worker returns, the job runs on the graph without a new load.
func TestGraphOfALostWorkerThatComesBack(t *testing.T) {
	t.Parallel()
	c := Start(t, 0, master.Config{Options: master.Options{Lease: 6 * time.Second}}, programs()...)
	c.Worker.Silence = 3 * time.Second
	for i := range 3 {
		c.StartWorker(fmt.Sprint("w", i))
	}
	c.Await(3)
	web := c.load(t, "web", small(), 0, 0)
	want := c.components(t, "web")
	c.load(t, "old", small(), 0, 0)
	before := c.WorkerNamed("w1").Incarnation
	c.Freeze("w1")
	const reason = "waits for worker w1, which holds a share of it"
	if g := c.becomes(t, "web", control.GraphState_GRAPH_STATE_WAITING); g.Reason != reason {
		t.Errorf("found %q", g.Reason)
	}
	j := c.submitSpec(t, &job.Spec{Program: "wcc", Graph: "web", KeepResult: true})
	if j = c.job(t, j.Id); j.State != control.JobState_JOB_STATE_QUEUED || j.Reason != "graph web "+
		reason {
		t.Errorf("the job is %s: %s", j.State.Word(), j.Reason)
	}
	c.works(t, 2)
	if _, err := c.Client.DropGraph(t.Context(),
		&control.DropGraphRequest{Name: "old"}); err != nil {
		t.Error(err)
	}
	c.load(t, "old", small(), 1, 2) // w1 still has a share of the dropped graph
	c.Thaw("w1")
	if j, _ = c.watch(t, j.Id, nil); j.State != control.JobState_JOB_STATE_DONE ||
		len(j.Workers) != 3 || !maps.Equal(c.result(t, j.Id), want) {
		t.Errorf("the job: %s on %v: %s", j.State.Word(), j.Workers, j.Reason)
	}
	c.isAsLoaded(t, web, want)
	if w := c.WorkerNamed("w1"); w.Incarnation != before || w.Reason != "" {
		t.Errorf("found %v, incarnation %d before", w, before)
	}
	c.holdsGraphs(t, "w1", 1) // not the share of the dropped graph
	if got := c.components(t, "old"); !maps.Equal(got, want) {
		t.Error("the graph that was loaded without w1 is another")
	}
}

// TestGraphOfALostWorkerThatStaysAway: when the hold time is over, the graph fails and its shares
// are freed, also that of the lost worker when it returns. The graph can be loaded again.
func TestGraphOfALostWorkerThatStaysAway(t *testing.T) {
	t.Parallel()
	const hold = 3 * time.Second // long enough to be observed
	c := Start(t, 3, master.Config{Options: master.Options{Lease: 6 * time.Second, Hold: hold}},
		programs()...)
	c.load(t, "web", small(), 0, 0)
	c.Freeze("w1")
	c.becomes(t, "web", control.GraphState_GRAPH_STATE_WAITING)
	j, _ := c.watch(t, c.submitSpec(t, &job.Spec{Program: "wcc", Graph: "web"}).Id, nil)
	const want = "worker w1, which held a share of it, did not come back within 3s: load it again"
	if j.State != control.JobState_JOB_STATE_FAILED || j.Reason != "graph web: "+want {
		t.Errorf("a job on it: %s: %s", j.State.Word(), j.Reason)
	}
	if g := c.inspect(t, "web"); g.State != control.GraphState_GRAPH_STATE_FAILED ||
		g.Reason != want || g.Bytes != 0 {
		t.Errorf("found %v", g)
	}
	c.Thaw("w1")
	c.Await(3)
	c.holdsOnly(t, 0)
	c.load(t, "web", small(), 0, 0)
	c.components(t, "web")
}

// TestMasterRestartsWithGraphs restarts the master. Graphs are ready without a new load when all
// their workers are back. Memory of jobs is freed. A graph of a lost worker fails after the hold
// time.
func TestMasterRestartsWithGraphs(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, master.Config{}, programs()...)
	web := c.load(t, "web", small(), 0, 0)
	want := c.components(t, "web")
	c.load(t, "grid", &job.Source{Input: "grid:rows=9,columns=9"}, 2, 2)
	grid := c.components(t, "grid")
	j := c.submitSpec(t, endless())
	c.Until("a job to run", func() bool { return c.job(t, j.Id).Supersteps > 1 })
	c.StopMaster()
	c.StartMaster(c.Address)
	c.isAsLoaded(t, web, want)
	c.becomes(t, "grid", control.GraphState_GRAPH_STATE_READY)
	if got := c.components(t, "grid"); !maps.Equal(got, grid) {
		t.Error("the other graph is another")
	}
	c.holdsOnly(t, 2)
	c.StopMaster()
	c.Kill("w2")
	c.Master.Hold = time.Second
	c.StartMaster(c.Address)
	for _, name := range []string{"web", "grid"} {
		if g := c.becomes(t, name,
			control.GraphState_GRAPH_STATE_FAILED); !strings.HasSuffix(g.Reason,
			", which held a share of it, did not come back within 1s: load it again") {
			t.Errorf("graph %s: %s", name, g.Reason)
		}
	}
	for _, name := range []string{"w0", "w1"} {
		c.holdsGraphs(t, name, 0)
	}
}
