package testcluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

func scale(n uint32) *job.Graph500 {
	return &job.Graph500{Scale: n, EdgeFactor: 16, Seed1: 2, Seed2: 3, Roots: 6, SSSP: true}
}

func (c *Cluster) graph500(
	t testing.TB, spec *job.Graph500, o job.Options, rows, columns uint32,
) *control.Job {
	t.Helper()
	return c.submitSpec(t,
		&job.Spec{Program: trace.Graph500, Graph500: spec, Options: o, Rows: rows, Columns: columns})
}

// TestGraph500 runs the benchmark on clusters: its roots and the edges it counts are those of one
// process. That the levels and the distances are, too, validation sees to. Two workers do it in all
// ways, others in some.
func TestGraph500(t *testing.T) {
	spec := scale(8)
	spec.Roots = 2
	want, err := graph500.Run(t.Context(), graph500.LocalConfig{Config: graph500.Config{
		Generator: generate.Kronecker{Scale: 8, EdgeFactor: 16, Seed1: 2, Seed2: 3}, Roots: 2,
		SSSP: true, Grid: graph.Of(1),
	}, Tell: func(string, int, int, *trace.Search) {}})
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 2, 4} {
		c := Start(t, workers, master.Config{})
		for i, way := range []struct {
			rows, columns uint32
			delivery      string
			serial        bool
		}{
			{0, 0, "", false},
			{1, 3, "pull", false},
			{5, 1, "push", false},
			{2, 2, "", false},
			{3, 2, "whole", false},
			{2, 3, "", true},
			{3, 2, "push", true},
			{4, 1, "pull", true},
			{2, 2, "whole", true},
		} {
			if workers == 1 && i%4 != 0 || workers == 4 && i%2 == 0 ||
				testing.Short() && i%3 != workers%3 {
				continue
			}
			j := c.graph500(t, spec, job.Options{Delivery: way.delivery, Serial: way.serial},
				way.rows, way.columns)
			j, words := c.watch(t, j.Id, nil)
			if j.State != control.JobState_JOB_STATE_DONE ||
				!strings.HasPrefix(words, "queued running, loading running 0 1") {
				t.Fatalf("%d workers, %v: %v: %s; %s", workers, way, j.State.Word(), j.Reason,
					words)
			}
			r := j.Graph500
			if !slices.Equal(r.Roots, want.Roots) || len(r.Bfs.Time) != 2 ||
				len(r.Bfs.Validate) != 2 || len(r.Sssp.Translate) != 2 {
				t.Errorf("%d workers, %v: found %v, want the roots %v", workers, way, r, want.Roots)
			}
			for i, n := range want.BFS.Nedge {
				if r.Bfs.Nedge[i] != uint64(n) || r.Sssp.Nedge[i] != uint64(n) {
					t.Errorf("%d workers, %v: search %d has %d and %d edges, want %d", workers, way,
						i, r.Bfs.Nedge[i], r.Sssp.Nedge[i], n)
				}
			}
			if j.Vertices != 1<<8 || j.Edges != 16<<8 || j.LoadSeconds <= 0 || j.RunSeconds <= 0 {
				t.Errorf("%d workers, %v: %v", workers, way, j)
			}
		}
	}
}

// wrongBFS is a breadth-first search with a wrong parent at one vertex.
type wrongBFS struct {
	Source     pregel.VertexID `param:"source"`
	at, parent pregel.VertexID
}

func (wrongBFS) Combiner() pregel.Combiner[pregel.VertexID] { return combiners.Sender() }

func (p wrongBFS) Start() (pregel.VertexID, []pregel.VertexID) {
	return pregel.None, []pregel.VertexID{p.Source}
}

func (p wrongBFS) Init(v *pregel.Vertex[pregel.VertexID, pregel.VertexID]) { p.Compute(v, v.ID()) }

func (p wrongBFS) Compute(
	v *pregel.Vertex[pregel.VertexID, pregel.VertexID], parent pregel.VertexID,
) {
	if v.ID() == p.at {
		parent = p.parent
	}
	v.Set(parent)
	if parent != pregel.None {
		v.SendToAllNeighbors(v.ID())
	}
	v.Finish()
}

// TestGraph500FindsWrongSearches replaces kernel 2 by a program whose result is wrong at one
// vertex.
func TestGraph500FindsWrongSearches(t *testing.T) {
	for want, program := range map[string]wrongBFS{
		"BFS from root 458: rule 1 (cycle)":     {at: 300, parent: 300},
		"BFS from root 458: rule 4 (component)": {at: 300, parent: pregel.None},
		"BFS from root 458: invalid range":      {at: 300, parent: 1 << 40},
	} {
		c := Start(t, 3, master.Config{}, engine.Register("bfs", pregel.Erase(program)))
		j, _ := c.watch(t, c.graph500(t, scale(10), job.Options{}, 0, 0).Id, nil)
		if j.State != control.JobState_JOB_STATE_FAILED || !strings.HasPrefix(j.Reason, want) ||
			j.Graph500.GetViolation() == nil {
			t.Errorf("%s: %v: %s", want, j.State.Word(), j.Reason)
		}
		if len(j.Graph500.GetBfs().GetNedge()) != 1 {
			t.Errorf("%s: the search is not in the result: %v", want, j.Graph500)
		}
		unseen := scale(8)
		unseen.NoValidate, unseen.Roots = true, 1
		if j, _ := c.watch(t, c.graph500(t, unseen, job.Options{}, 0, 0).Id,
			nil); j.State != control.JobState_JOB_STATE_DONE {
			t.Errorf("the next job: %v: %s", j.State.Word(), j.Reason)
		}
	}
}

func TestGraph500Refusals(t *testing.T) {
	c := Start(t, 1, master.Config{})
	for want, change := range map[string]func(s *job.Spec){
		"found 0, expected 1 or more": func(s *job.Spec) { s.Graph500.Roots = 0 },
		"scale":                       func(s *job.Spec) { s.Graph500.Scale = 99 },
		"expected at most 31":         func(s *job.Spec) { s.Graph500.Scale = 32 },
		"delivery":                    func(s *job.Spec) { s.Options = job.Options{Delivery: "pigeon"} },
		"expected the program graph500 without graph":  func(s *job.Spec) { s.Graph = "g" },
		"expected the program graph500 without graph,": func(s *job.Spec) { s.Program = "bfs" },
		"a grid": func(s *job.Spec) { s.Rows, s.Columns = 1, 0 },
	} {
		spec := &job.Spec{Program: trace.Graph500, Graph500: scale(8)}
		change(spec)
		_, err := c.Client.SubmitJob(t.Context(),
			&control.SubmitJobRequest{SpecJson: job.Text(spec)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, want %q", err, want)
		}
	}
}

// TestGraph500GoesOn loses a worker in each stage, and another one replaces it. Finished searches
// keep their times, the others follow, and the result has the reason why the graph was built again.
func TestGraph500GoesOn(t *testing.T) {
	c := Start(t, 3, master.Config{Options: master.Options{Retries: 9}})
	spec := scale(12)
	whole, _ := c.watch(t, c.graph500(t, spec, job.Options{}, 0, 0).Id, nil)
	stages := []string{"generating", "constructing", "BFS", "SSSP"}
	lost := 0
	before := make([]*control.Graph500Result, len(stages))
	id := c.graph500(t, spec, job.Options{}, 0, 0).Id
	j, _ := c.watch(t, id, func(e *control.JobEvent) {
		if lost == len(stages) || e.GetStage().GetStage() != stages[lost] || lost >= 2 &&
			e.GetStage().Done == 0 {
			return
		}
		if before[lost] = c.job(t, id).Graph500; len(before[lost].GetRestarts()) < lost {
			return // the attempt that lost a worker has not ended yet
		}
		c.Kill(fmt.Sprint("w", 2+lost))
		lost++
		c.StartWorker(fmt.Sprint("w", 2+lost))
	})
	r, want := j.Graph500, whole.Graph500
	if j.State != control.JobState_JOB_STATE_DONE || lost != len(stages) ||
		len(r.Restarts) != lost || r.Violation != nil {
		t.Fatalf("%v after %d losses: %s; %v", j.State.Word(), lost, j.Reason, r)
	}
	if !slices.Equal(r.Roots, want.Roots) || !slices.Equal(r.Bfs.Nedge, want.Bfs.Nedge) ||
		!slices.Equal(r.Sssp.Nedge, want.Sssp.Nedge) {
		t.Errorf("found %v, expected the edges of %v", r, want)
	}
	for i, was := range before[2:] {
		bfs, sssp := was.GetBfs().GetTime(), was.GetSssp().GetTime()
		if len(bfs)+len(sssp) == 0 || !slices.Equal(r.Bfs.Time[:len(bfs)], bfs) ||
			!slices.Equal(r.Sssp.Time[:len(sssp)], sssp) {
			t.Errorf("found the times %v, expected those of before loss %d, %v", r, 3+i, was)
		}
	}
	for i, text := range r.Restarts {
		none := strings.Contains(text, "; the graph was made again after 0 BFS and 0 SSSP searches")
		if !strings.Contains(text, fmt.Sprint("w", 2+i)) || none != (i < 2) ||
			!strings.HasSuffix(text, " SSSP searches") {
			t.Errorf("restart %d: %q", i, text)
		}
	}
}

// TestGraph500Ends ends runs in each stage, by a client and by the loss of a worker.
func TestGraph500Ends(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, master.Config{})
	lost := 2
	for _, stage := range []string{"generating", "constructing", "BFS", "SSSP"} {
		for _, how := range []string{"cancelled", "failed"} {
			id := c.graph500(t, scale(11), job.Options{}, 0, 0).Id
			name := fmt.Sprint("w", lost)
			acted := false
			began := time.Now()
			j, _ := c.watch(t, id, func(e *control.JobEvent) {
				if acted || e.GetStage().GetStage() != stage || stage == "BFS" &&
					e.GetStage().Done == 0 {
					return
				}
				acted = true
				if how == "failed" {
					c.Kill(name)
				} else if _, err := c.Client.CancelJob(t.Context(),
					&control.CancelJobRequest{Id: id, Reason: "enough"}); err != nil {
					t.Error(err)
				}
			})
			want := "enough"
			if how == "failed" {
				want = name
			}
			if j.State.Word() != how || !strings.Contains(j.Reason, want) {
				t.Errorf("%s while %s: %v: %s", how, stage, j.State.Word(), j.Reason)
			}
			if took := time.Since(began); took > prompt {
				t.Errorf("%s while %s: ended after %v", how, stage, took)
			}
			if how == "failed" {
				lost++
				c.StartWorker(fmt.Sprint("w", lost))
				c.Await(3)
			}
		}
	}
	if j, _ := c.watch(t, c.graph500(t, scale(8), job.Options{}, 0, 0).Id,
		nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("the next job: %v: %s", j.State.Word(), j.Reason)
	}
}
