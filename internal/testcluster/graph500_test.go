package testcluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/master"
)

// searches collects what the searches of a run find, one after the other.
type searches struct {
	mu   sync.Mutex
	n    int
	all  []found // one a search
	left int     // vertices of the last that are yet to come
}

type found struct {
	parent []uint32
	dist   []float32 // nil in BFS
}

// take is a Spoil that spoils nothing.
func (s *searches) take(first int, parent []uint32, dist []float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		s.left = s.n
		s.all = append(s.all, found{parent: make([]uint32, s.n)})
		if dist != nil {
			s.all[len(s.all)-1].dist = make([]float32, s.n)
		}
	}
	last := s.all[len(s.all)-1]
	copy(last.parent[first:], parent)
	copy(last.dist[min(first, len(last.dist)):], dist)
	s.left -= len(parent)
}

// levels are those of a tree, -1 out of it.
func (f found) levels() []int {
	levels := make([]int, len(f.parent))
	for x := range levels {
		at := uint32(x)
		for f.parent[at] != at && f.parent[at] != ^uint32(0) {
			at = f.parent[at]
			levels[x]++
		}
		if f.parent[at] != at {
			levels[x] = -1
		}
	}
	return levels
}

func scale(n uint32) *control.Graph500 {
	return &control.Graph500{Scale: n, EdgeFactor: 16, Seed1: 2, Seed2: 3, Roots: 6, Sssp: true, Validate: true}
}

func (c *Cluster) graph500(t testing.TB, spec *control.Graph500, o *control.RunOptions, rows, columns uint32) *control.Job {
	t.Helper()
	return c.submitSpec(t, &control.JobSpec{Program: control.Graph500Program, Graph500: spec, Options: o, Rows: rows, Columns: columns})
}

// TestGraph500 runs the benchmark on clusters: its roots, the edges it counts, the levels and the distances are those of
// one process.
func TestGraph500(t *testing.T) {
	spec := scale(10)
	config := graph500.Config{
		Generator: generate.Kronecker{Scale: 10, EdgeFactor: 16, Seed1: 2, Seed2: 3}, Roots: 6, SSSP: true, Validate: true, Grid: graph.Of(1),
	}
	alone := searches{n: 1 << 10}
	config.Spoil = alone.take
	want, err := graph500.Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 2, 4} {
		c := Run(t, workers, 1, master.Options{})
		for _, way := range []struct {
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
			together := searches{n: len(alone.all[0].parent)}
			spoil := together.take
			c.Spoil.Store(&spoil)
			j := c.graph500(t, spec, &control.RunOptions{Delivery: way.delivery, Serial: way.serial}, way.rows, way.columns)
			j, words := c.watch(t, j.Id, nil)
			if j.State != control.JobState_JOB_STATE_DONE || !strings.HasPrefix(words, "queued loading running 0 1") {
				t.Fatalf("%d workers, %v: %v: %s; %s", workers, way, j.State.Word(), j.Reason, words)
			}
			r := j.Graph500
			if !slices.Equal(r.Roots, want.Roots) || len(r.Bfs.Time) != 6 || len(r.Bfs.Validate) != 6 || len(r.Sssp.Translate) != 6 {
				t.Errorf("%d workers, %v: found %v, want the roots %v", workers, way, r, want.Roots)
			}
			for i, n := range want.BFS.Nedge {
				if r.Bfs.Nedge[i] != uint64(n) || r.Sssp.Nedge[i] != uint64(n) {
					t.Errorf("%d workers, %v: search %d has %d and %d edges, want %d", workers, way, i, r.Bfs.Nedge[i], r.Sssp.Nedge[i], n)
				}
			}
			for i, f := range together.all {
				if f.dist == nil && !slices.Equal(f.levels(), alone.all[i].levels()) || !slices.Equal(f.dist, alone.all[i].dist) {
					t.Errorf("%d workers, %v: search %d finds other levels, or distances", workers, way, i)
				}
			}
			if len(together.all) != len(alone.all) || int(j.Vertices) != together.n || j.Edges != 16<<10 || j.LoadSeconds <= 0 || j.RunSeconds <= 0 {
				t.Errorf("%d workers, %v: %d searches of %v", workers, way, len(together.all), j)
			}
		}
	}
}

// TestGraph500FindsWrongSearches spoils the results on one of the workers.
func TestGraph500FindsWrongSearches(t *testing.T) {
	c := Run(t, 3, 1, master.Options{})
	for name, spoil := range map[string]func(first int, parent []uint32, dist []float32){
		"BFS from root 458: rule 1 (cycle)": func(first int, parent []uint32, _ []float32) {
			if parent[0] != ^uint32(0) && parent[1] != ^uint32(0) {
				parent[0], parent[1] = uint32(first+1), uint32(first)
			}
		},
		"BFS from root 458: rule 4 (component)": func(first int, parent []uint32, _ []float32) { forget(first, parent) },
		"SSSP from root 458: rule 3 (edge)":     func(_ int, _ []uint32, dist []float32) { addTo(dist, 0.5) },
		"SSSP from root 458: rule 3 (edge) ":    func(_ int, _ []uint32, dist []float32) { addTo(dist, -1e-3) },
	} {
		on := func(first int, parent []uint32, dist []float32) {
			if first > 0 && first < 400 {
				spoil(first, parent, dist)
			}
		}
		c.Spoil.Store(&on)
		j, _ := c.watch(t, c.graph500(t, scale(10), nil, 0, 0).Id, nil)
		if j.State != control.JobState_JOB_STATE_FAILED || !strings.HasPrefix(j.Reason, name) || j.Graph500.GetViolation() == nil {
			t.Errorf("%s: %v: %s", name, j.State.Word(), j.Reason)
		}
		if len(j.Graph500.GetBfs().GetNedge()) == 0 {
			t.Errorf("%s: the search is not in the result: %v", name, j.Graph500)
		}
	}
	c.Spoil.Store(nil)
	if j, _ := c.watch(t, c.graph500(t, scale(8), nil, 0, 0).Id, nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("the next job: %v: %s", j.State.Word(), j.Reason)
	}
}

// forget takes a vertex out of the tree that is not the root.
func forget(first int, parent []uint32) {
	for x, p := range parent {
		if p != ^uint32(0) && p != uint32(first+x) {
			parent[x] = ^uint32(0)
			return
		}
	}
}

// addTo changes the distances of every other vertex that is reached and is not the root.
func addTo(dist []float32, x float32) {
	for i := range dist {
		if dist[i] > 0 && i%2 == 0 {
			dist[i] += x
		}
	}
}

func TestGraph500Refusals(t *testing.T) {
	c := Run(t, 1, 1, master.Options{})
	for want, change := range map[string]func(s *control.JobSpec){
		"found 0, expected 1 or more": func(s *control.JobSpec) { s.Graph500.Roots = 0 },
		"scale":                       func(s *control.JobSpec) { s.Graph500.Scale = 99 },
		"expected at most 31":         func(s *control.JobSpec) { s.Graph500.Scale = 32 },
		"delivery":                    func(s *control.JobSpec) { s.Options = &control.RunOptions{Delivery: "pigeon"} },
		"has the program graph500, its own graph":  func(s *control.JobSpec) { s.Graph = "g" },
		"has the program graph500, its own graph,": func(s *control.JobSpec) { s.Program = "bfs" },
		"a grid": func(s *control.JobSpec) { s.Rows, s.Columns = 1, 0 },
	} {
		spec := &control.JobSpec{Program: control.Graph500Program, Graph500: scale(8)}
		change(spec)
		_, err := c.Client.SubmitJob(t.Context(), connect.NewRequest(&control.SubmitJobRequest{Spec: spec}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, want %q", err, want)
		}
	}
}

// TestGraph500Ends ends runs in each of their stages: by a client, and by the loss of a worker.
func TestGraph500Ends(t *testing.T) {
	c := Run(t, 3, 1, master.Options{})
	lost := 2
	for _, stage := range []string{"generating", "constructing", "BFS", "SSSP"} {
		for _, how := range []string{"cancelled", "failed"} {
			id := c.graph500(t, scale(11), nil, 0, 0).Id
			name := fmt.Sprint("w", lost)
			acted := false
			began := time.Now()
			j, _ := c.watch(t, id, func(e *control.JobEvent) {
				if acted || e.GetStage().GetStage() != stage || stage == "BFS" && e.GetStage().Done == 0 {
					return
				}
				acted = true
				if how == "failed" {
					c.Kill(name)
				} else if _, err := c.Client.CancelJob(t.Context(), connect.NewRequest(&control.CancelJobRequest{Id: id, Reason: "enough"})); err != nil {
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
	if j, _ := c.watch(t, c.graph500(t, scale(8), nil, 0, 0).Id, nil); j.State != control.JobState_JOB_STATE_DONE {
		t.Errorf("the next job: %v: %s", j.State.Word(), j.Reason)
	}
}
