package library_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/testcluster"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// mixed has values of many kinds, including some without an exact text form.
type mixed struct {
	Times int `param:"times" default:"3"`
	scale float64
}

type mixture struct {
	sum   float64
	Odd   bool
	Best  pregel.VertexID
	parts [2]float32
}

func (mixed) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }

func (p mixed) Compute(v *pregel.Vertex[mixture, float64], sum float64) {
	x := v.Value()
	x.sum, x.Odd, x.Best = x.sum+sum*p.scale, v.Label()%2 == 1, v.ID()/2
	switch v.Label() % 5 {
	case 0:
		x.parts[0] = float32(math.NaN())
	case 1:
		x.parts[1] = float32(math.Inf(-1))
	}
	v.Set(x)
	if v.Superstep() < p.Times {
		v.SendToAllNeighbors(1 / float64(v.Label()+3))
	}
	v.VoteToHalt()
}

// words has values with pointers.
type words struct{}

func (words) Compute(v *pregel.Vertex[[]string, string], messages []string) {
	if v.Superstep() == 0 {
		v.SendToAllNeighbors(fmt.Sprint("from ", v.Label()))
	} else if len(messages) > 0 {
		v.Set([]string{fmt.Sprint(len(messages), " to ", v.Label()), ""})
	}
	v.VoteToHalt()
}

// nothing has values without bytes.
type nothing struct{}

func (nothing) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (nothing) Compute(v *pregel.Vertex[struct{}, int64], _ int64) {
	v.Logf("here is %d", v.Label())
	v.VoteToHalt()
}

// endless never halts.
type endless struct{}

func (endless) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (endless) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	v.Set(v.Value() + 1)
}

// absent is registered only here.
type absent struct{ endless }

// hidden has values that cannot be sent.
type hidden struct{}

func (hidden) Combiner() pregel.Combiner[int64]                   { return combiners.Sum[int64]() }
func (hidden) Compute(v *pregel.Vertex[chan int, int64], _ int64) { v.VoteToHalt() }

// chatty logs a line per vertex and superstep.
type chatty struct{}

func (chatty) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (chatty) Compute(v *pregel.Vertex[int64, int64], _ int64) {
	v.Logf("vertex %d is here", v.ID())
}

func own() []pregel.Registered {
	return []pregel.Registered{
		pregel.Register("chatty", chatty{}), pregel.Register("tally", tally{}),
		pregel.Register("reader", reader{}), pregel.Register("summing", summing{}),
		pregel.Register("parents", parents{}), pregel.Register("scored", scored{}),
		pregel.Register("lengthy", lengthy{}),
		pregel.Register("mixed", mixed{scale: 1.5}), pregel.Register("words", pregel.List(words{})),
		pregel.Register("nothing", nothing{}),
		pregel.Register("endless", endless{}), pregel.Register("wrong",
			wrong{how: "panic", where: 4}), pregel.Register("hidden", hidden{}),
		pregel.Register("strong", strong{}), pregel.Register("typed", typed{}),
		pregel.Register("carrier", carrier{}), pregel.Register("choosy", choosy{}),
	}
}

// start starts a cluster with the same programs.
func start(t *testing.T, workers int) *testcluster.Cluster {
	t.Helper()
	programs, _ := builtin.With(own())
	return testcluster.Start(t, workers, master.Config{}, programs...)
}

// connected returns a cluster of two workers and a connection to it.
func connected(t *testing.T) (*testcluster.Cluster, *cluster.Connection) {
	t.Helper()
	c := start(t, 2)
	conn, err := cluster.Connect(t.Context(), c.Address,
		cluster.Options{Programs: append(own(), pregel.Register("absent", absent{}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return c, conn
}

// twins runs a program in this process and on a cluster, and compares the results.
func twins[V, M any](t *testing.T, here, there *superstep.Graph, p pregel.Program[V, M]) {
	t.Helper()
	run := func(g *superstep.Graph) (text string) {
		supersteps := 0
		r, err := superstep.Run(t.Context(), g, p, superstep.Options{
			Deterministic: g.Grid().Flat(), MaxSupersteps: 30, KeepTrace: true,
			Progress: func(at superstep.Progress) {
				if at.Superstep != supersteps || at.Scheme == "" || at.Seconds <= 0 {
					t.Errorf("%T: progress %+v after %d supersteps", p, at, supersteps)
				}
				supersteps++
			},
		})
		if err != nil {
			t.Fatalf("%T: %v", p, err)
		}
		if len(r.Seconds) != r.Supersteps || supersteps != r.Supersteps {
			t.Errorf("%T: %d times and progress of %d supersteps, of %d", p, len(r.Seconds),
				supersteps, r.Supersteps)
		}
		var all strings.Builder
		fmt.Fprintln(&all, r.Supersteps, r.Converged, r.Messages)
		for _, s := range r.Trace {
			fmt.Fprintln(&all, s.Job, s.Superstep, len(s.Partitions), s.Partitions[0].Computed,
				s.Partitions[0].Messages)
		}
		for label, v := range r.All() {
			id, ok := g.Vertex(label)
			again, _ := r.At(label)
			fmt.Fprintf(&all, "%d %d %t %#v %#v %#v\n", label, id, ok, v, r.Value(id), again)
		}
		return all.String()
	}
	want, found := strings.Split(run(here), "\n"), strings.Split(run(there), "\n")
	for i := range want {
		if i >= len(found) || want[i] != found[i] {
			t.Fatalf("%T on %d vertices in %v: found %q, expected %q", p, here.NumVertices(),
				here.Grid(), found[min(i, len(found)-1)], want[i])
		}
	}
}

// TestRunOnACluster runs programs on the same graphs in this process and on a cluster.
func TestRunOnACluster(t *testing.T) {
	_, conn := connected(t)
	file := filepath.Join(t.TempDir(), "sparse.wel")
	if err := os.WriteFile(file,
		[]byte("7 1000000000000 2.5\n1000000000000 3 0.25\n3 7 1\n99 3 4\n18446744073709551614 7 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		options superstep.LoadOptions
	}{
		{"kronecker:scale=7", superstep.LoadOptions{Partitions: 3, Weights: superstep.Float64, Duplicates: superstep.MinDuplicates}},
		{"uniform:vertices=120,degree=3", superstep.LoadOptions{Grid: superstep.Grid{Rows: 2, Columns: 2}, Weights: superstep.Float32, SelfLoops: superstep.DropSelfLoops}},
		{file, superstep.LoadOptions{Partitions: 2, Undirected: true}},
		// some partitions have no vertices
		{"star:vertices=5", superstep.LoadOptions{Partitions: 8, UnitWeights: true}},
		// vertices are dealt in blocks
		{"uniform:vertices=8300,degree=2", superstep.LoadOptions{Partitions: 2, Weights: superstep.Float64}},
	} {
		here, err := superstep.Load(t.Context(), c.name, c.options)
		here = open(t, here, err)
		there, err := conn.Load(t.Context(), c.name, c.options)
		there = open(t, there, err)
		if there.NumVertices() != here.NumVertices() || there.NumEdges() != here.NumEdges() ||
			there.IsDirected() != here.IsDirected() ||
			there.Grid() != here.Grid() || there.Partitions() != here.Partitions() {
			t.Errorf("%s: found %d vertices, %d edges, directed %t, grid %v", c.name,
				there.NumVertices(), there.NumEdges(), there.IsDirected(), there.Grid())
		}
		source := pregel.VertexID(2)
		twins(t, here, there, algorithms.BFSLevels{Source: source})
		twins(t, here, there, algorithms.WCC{})
		twins(t, here, there, strong{})
		if c.options.Weights == superstep.Float32 {
			twins(t, here, there, algorithms.SSSP[float32]{Source: source})
		} else {
			twins(t, here, there, algorithms.SSSP[float64]{Source: source})
		}
		twins(t, here, there, nothing{})
		if !here.Grid().Flat() {
			// the parent that is found, and the rounding of sums, are not deterministic there
			continue
		}
		twins(t, here, there, algorithms.BFS{Source: source})
		twins(t, here, there, algorithms.PageRank{Iterations: 6})
		twins(t, here, there, &algorithms.PageRank{Damping: 0.5, Tolerance: 1e-3})
		twins(t, here, there, mixed{Times: 4, scale: 1.5})
		twins(t, here, there, pregel.List(words{}))
	}
}

// TestClusterRefuses has programs and options that a cluster refuses before the run.
func TestClusterRefuses(t *testing.T) {
	_, conn := connected(t)
	g, err := conn.Load(t.Context(), "path:vertices=9")
	g = open(t, g, err)
	refused := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
	refused("program closing is none of the cluster's", run(t, g, closing{}))
	refused(`there is no algorithm "absent"`, run(t, g, absent{}))
	refused("mixed: field scale has no param tag", run(t, g, mixed{Times: 1, scale: 2}))
	refused("hidden: values of type chan int cannot be encoded", run(t, g, hidden{}))
	refused("parameter source: the graph has no vertex",
		run(t, g, algorithms.BFS{Source: pregel.None}))
	refused("damping is 2, want a number from 0 to 1", run(t, g, algorithms.PageRank{Damping: 2}))
	refused("Threads", run(t, g, nothing{}, superstep.Options{Threads: 2}))
	refused("Place, Keep and Resume are only for runs in this process",
		run(t, g, nothing{},
			superstep.Options{Checkpoints: superstep.CheckpointOptions{Place: t.TempDir()}}))
	refused("and this master stores none", run(t, g, nothing{},
		superstep.Options{Checkpoints: superstep.CheckpointOptions{Every: 3}}))
	refused("a limit of -1 supersteps", run(t, g, nothing{}, superstep.Options{MaxSupersteps: -1}))
	refused("a limit of -1s for a superstep",
		run(t, g, nothing{}, superstep.Options{SuperstepTimeout: -1e9}))
	refused("on purpose", run(t, g, nothing{}, superstep.Options{Trace: full{}}))
	refused("only for graphs in this process", func() error { _, err := g.Repartition(t.Context(), superstep.LoadOptions{}); return err }())
	refused("only for graphs in this process",
		func() error { _, err := g.Apply(t.Context(), pregel.Delta{}); return err }())
	load := func(name string, o superstep.LoadOptions) error {
		_, err := conn.Load(t.Context(), name, o)
		return err
	}
	refused("Threads", load("path:vertices=9", superstep.LoadOptions{Threads: 2}))
	refused("Vertices", load("path:vertices=9", superstep.LoadOptions{Vertices: []uint64{1}}))
	refused("no such file", load("/no/such/file.el", superstep.LoadOptions{}))
	refused("want a whole number", load("path:vertices=x", superstep.LoadOptions{}))
	refused("there is no graph",
		func() error { _, err := conn.Graph(t.Context(), "none"); return err }())
	_, err = cluster.Connect(t.Context(), "127.0.0.1", cluster.Options{})
	refused("expected HOST:PORT", err)
	_, err = cluster.Connect(t.Context(), "127.0.0.1:1", cluster.Options{RetryFor: 1})
	refused("cannot be reached", err)
	_, err = cluster.Connect(t.Context(), "127.0.0.1:1",
		cluster.Options{Programs: []pregel.Registered{pregel.Register("two words", nothing{})}})
	refused(`program "two words"`, err)
}

func run[V, M any](t *testing.T, g *superstep.Graph, p pregel.Program[V, M], o ...superstep.Options,
) error {
	t.Helper()
	_, err := superstep.Run(t.Context(), g, p, o...)
	return err
}

// jobs returns the states of the master's jobs.
func jobs(t *testing.T, c *testcluster.Cluster) (states []string) {
	t.Helper()
	r, err := c.Client.ListJobs(t.Context(),
		&control.ListJobsRequest{Ended: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range r.Jobs {
		states = append(states, j.State.Word())
	}
	return states
}

func graphs(t *testing.T, c *testcluster.Cluster) (names []string) {
	t.Helper()
	r, err := c.Client.ListGraphs(t.Context(), &control.ListGraphsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range r.Graphs {
		names = append(names, g.Name)
	}
	return names
}

// TestCancelOnACluster ends the context of a run, and the connection of another. Both jobs are
// cancelled, and the graphs are dropped.
func TestCancelOnACluster(t *testing.T) {
	c, conn := connected(t)
	loading, done := context.WithCancel(t.Context())
	g, err := conn.Load(loading, "path:vertices=9")
	g = open(t, g, err)
	done() // the graph stays loaded
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err = superstep.Run(ctx, g, endless{},
		superstep.Options{Progress: func(superstep.Progress) { cancel(why) }})
	if !errors.Is(err, why) {
		t.Errorf("found %v, expected %v", err, why)
	}
	if found := jobs(t, c); len(found) != 1 || found[0] != "cancelled" {
		t.Errorf("the jobs are %v", found)
	}
	var closed bool
	_, err = superstep.Run(t.Context(), g, endless{},
		superstep.Options{Progress: func(superstep.Progress) {
			if !closed {
				closed = true
				go conn.Close()
			}
		}})
	if err == nil || err.Error() != "cluster: the connection is closed" {
		t.Errorf("found %v", err)
	}
	conn.Close()
	if found := jobs(t, c); len(found) != 2 || found[1] != "cancelled" {
		t.Errorf("the jobs are %v", found)
	}
	if found := graphs(t, c); len(found) != 0 {
		t.Errorf("the graphs %v are left", found)
	}
	if err := run(t, g, nothing{}); err == nil || g.NumVertices() != 0 {
		t.Errorf("found %v, %d vertices", err, g.NumVertices())
	}
	if _, err := conn.Load(t.Context(), "path:vertices=9"); err == nil ||
		err.Error() != "cluster: the connection is closed" {
		t.Errorf("found %v", err)
	}
}

// TestGraphOfTheCatalog uses a graph that another client has loaded, and does not drop it.
func TestGraphOfTheCatalog(t *testing.T) {
	c, conn := connected(t)
	_, err := c.Client.LoadGraph(t.Context(), &control.LoadGraphRequest{
		// more vertices than a list or message contains
		Name: "web", SourceJson: job.Text(&job.Source{Input: "star:vertices=70000"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := conn.Graph(t.Context(), "web")
	g = open(t, g, err)
	here, err := superstep.Load(t.Context(), "star:vertices=70000",
		superstep.LoadOptions{Partitions: 2})
	twins(t, open(t, here, err), g, algorithms.WCC{})
	var lines int
	r, err := superstep.Run(t.Context(), g, nothing{},
		superstep.Options{Log: func(string) { lines++ }})
	if err != nil || r.Supersteps != 1 || lines == 0 {
		t.Errorf("found %v, %d lines of the log", err, lines)
	}
	g.Close()
	if found := graphs(t, c); len(found) != 1 {
		t.Errorf("the graphs are %v", found)
	}
}

// TestPanicOnACluster: a panic is the program's error there, too.
func TestPanicOnACluster(t *testing.T) {
	_, conn := connected(t)
	g, err := conn.Load(t.Context(), "path:vertices=9")
	g = open(t, g, err)
	err = run(t, g, wrong{how: "panic", where: 4})
	var program *pregel.ProgramError
	if !errors.As(err, &program) || program.Vertex != 4 || !program.Known ||
		program.Superstep != 1 || program.Program != "wrong" ||
		!strings.Contains(program.Stack, "Compute") ||
		!strings.Contains(err.Error(), "on purpose") {
		t.Errorf("found %+v", err)
	}
}

// TestLogOnACluster: however many lines a program logs, each superstep is reported.
func TestLogOnACluster(t *testing.T) {
	_, conn := connected(t)
	g, err := conn.Load(t.Context(), "path:vertices=200")
	g = open(t, g, err)
	const supersteps = 60
	told := 0
	r, err := superstep.Run(t.Context(), g, chatty{}, superstep.Options{MaxSupersteps: supersteps, KeepTrace: true, Progress: func(superstep.Progress) { told++ }})
	if err != nil {
		t.Fatal(err)
	}
	if r.Supersteps != supersteps || len(r.Trace) != supersteps || told != supersteps ||
		len(r.Seconds) != supersteps {
		t.Errorf("%d supersteps, %d in the trace, %d in progress, %d times", r.Supersteps,
			len(r.Trace), told, len(r.Seconds))
	}
	for i, seconds := range r.Seconds {
		if !(seconds > 0) || r.Trace[i].Superstep != i {
			t.Errorf("superstep %d took %v, trace %d", i, seconds, r.Trace[i].Superstep)
		}
	}
}

// TestOtherVersion: a program is refused if the cluster has one of the same name with another value
// of a field that is not a parameter.
func TestOtherVersion(t *testing.T) {
	c, _ := connected(t)
	conn, err := cluster.Connect(t.Context(), c.Address,
		cluster.Options{Programs: []pregel.Registered{pregel.Register("mixed", mixed{scale: 2})}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	g, err := conn.Load(t.Context(), "path:vertices=9")
	g = open(t, g, err)
	if err := run(t, g, mixed{Times: 1, scale: 2}); err == nil ||
		!strings.Contains(err.Error(), "mixed: the cluster has another version of this program") ||
		!strings.Contains(err.Error(), "scale float64 = 1.5") {
		t.Errorf("found %v", err)
	}
}

// TestLostMaster ends a run whose master is lost.
func TestLostMaster(t *testing.T) {
	c := start(t, 1)
	conn, err := cluster.Connect(t.Context(), c.Address,
		cluster.Options{Programs: own(), RetryFor: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	g, err := conn.Load(t.Context(), "path:vertices=9")
	g = open(t, g, err)
	stopped := false
	_, err = superstep.Run(t.Context(), g, endless{},
		superstep.Options{Progress: func(superstep.Progress) {
			if !stopped {
				stopped = true
				c.StopMaster()
			}
		}})
	if err == nil || !strings.Contains(err.Error(), "lost the master") {
		t.Errorf("found %v", err)
	}
	c.StartMaster(c.Address)
}
