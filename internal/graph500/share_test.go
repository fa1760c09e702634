package graph500

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// searched is what the searches of a whole graph find, from whatever root is asked for.
func searched(t *testing.T, c Config, partitions int) func(sssp bool, root pregel.VertexID) Found {
	in, err := generate.Input(t.Context(), c.Generator, generate.Options{Weights: edges.Float32})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	in.Vertices = 0
	g, err := build.Local(t.Context(), in, graph.Options{Partitions: partitions, Duplicates: graph.LeastDuplicate, DropLoops: true, Weights: edges.Float32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return func(sssp bool, root pregel.VertexID) Found {
		if !sssp {
			job, err := engine.NewJob(g, algorithms.BFS{Source: root}, engine.Options{})
			if err == nil {
				_, err = job.Run(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
			return Found{Parent: job.Value}
		}
		job, err := engine.NewJob(g, algorithms.SSSPTree[float32]{Source: root}, engine.Options{})
		if err == nil {
			_, err = job.Run(t.Context())
		}
		if err != nil {
			t.Error(err)
		}
		return Found{
			Parent: func(id pregel.VertexID) pregel.VertexID { return job.Value(id).From },
			Dist:   func(id pregel.VertexID) float32 { return job.Value(id).Dist },
		}
	}
}

// ranks calls run on every rank of a group, each with a Share, and returns their errors.
func ranks(t *testing.T, n int, c ShareConfig, run func(s *Share) error) []error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	memory := collective.NewMemory(n, nil)
	errs := make([]error, n)
	var all sync.WaitGroup
	for rank := range n {
		all.Go(func() {
			g, err := collective.NewGroup(memory.Link(rank), nil, nil)
			if err != nil {
				t.Error(err)
				return
			}
			c := c
			c.Team = parallel.NewTeam(1+rank%2, false)
			defer c.Team.Close()
			s := NewShare(g, 40, c)
			defer s.Close()
			_, err = s.Generate(ctx)
			if err == nil {
				_, err = s.Construct(ctx)
			}
			if err == nil {
				err = run(s)
			}
			errs[rank] = err
		})
	}
	all.Wait()
	return errs
}

// TestSharesAgreeWithRun: any number of ranks and partitions finds the roots, and counts the edges, of one process.
func TestSharesAgreeWithRun(t *testing.T) {
	c := config(t)
	want, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range [][]int{{0}, {0, 1}, {1, 0, 1}, {0, 1, 2, 3}, {2, 2, 0, 1, 0}} {
		n := slices.Max(owner) + 1
		search := searched(t, c, len(owner))
		var once sync.Mutex
		found := map[string]Found{}
		errs := ranks(t, n, ShareConfig{Generator: c.Generator, SSSP: true, Validate: true, Owner: owner}, func(s *Share) error {
			roots, err := s.Roots(t.Context(), c.Roots)
			if err != nil {
				return err
			}
			for i, r := range roots {
				if len(roots) != len(want.Roots) || r.Vertex != want.Roots[i] {
					return fmt.Errorf("roots %v, want %v", roots, want.Roots)
				}
				for _, sssp := range []bool{false, true} {
					once.Lock()
					key := fmt.Sprint(sssp, r)
					if _, there := found[key]; !there {
						found[key] = search(sssp, r.ID)
					}
					f := found[key]
					once.Unlock()
					j, err := s.Judge(t.Context(), r.Vertex, f)
					if err != nil || j.Nedge != want.BFS.Nedge[i] {
						return fmt.Errorf("root %d, SSSP %t: %d edges, want %d: %w", r.Vertex, sssp, j.Nedge, want.BFS.Nedge[i], err)
					}
				}
			}
			return nil
		})
		for rank, err := range errs {
			if err != nil {
				t.Errorf("owners %v: rank %d: %v", owner, rank, err)
			}
		}
	}
}

// TestSharesFindWrongSearches spoils what searches find, on one rank.
func TestSharesFindWrongSearches(t *testing.T) {
	c := config(t)
	search := searched(t, c, 3)
	for name, spoil := range map[string]func(parent []uint32, dist []float32){
		"a cycle":             func(parent []uint32, _ []float32) { parent[0], parent[1] = 87, 86 },
		"a parent too large":  func(parent []uint32, _ []float32) { parent[3] = 256 },
		"a vertex forgotten":  func(parent []uint32, _ []float32) { forget(parent) },
		"distances too long":  func(_ []uint32, dist []float32) { addTo(dist, 0.5) },
		"distances too short": func(_ []uint32, dist []float32) { addTo(dist, -1e-3) },
	} {
		for _, validated := range []bool{true, false} {
			errs := ranks(t, 3, ShareConfig{
				Generator: c.Generator, SSSP: true, Validate: validated, Owner: []int{0, 1, 2},
				Spoil: func(first int, parent []uint32, dist []float32) {
					if first == 86 {
						spoil(parent, dist)
					}
				},
			}, func(s *Share) error {
				roots, err := s.Roots(t.Context(), 1)
				if err != nil {
					return err
				}
				_, err = s.Judge(t.Context(), roots[0].Vertex, search(true, roots[0].ID))
				return err
			})
			for rank, err := range errs {
				var broken *validate.Violation
				if errors.As(err, &broken) != validated || err != nil && err.Error() != errs[0].Error() {
					t.Errorf("%s, judged %t: rank %d: %v", name, validated, rank, err)
				}
			}
		}
	}
}

// TestSharesFindStrangeResults judges what no search should find: a handle of no vertex, and a distance without a parent.
func TestSharesFindStrangeResults(t *testing.T) {
	c := config(t)
	search := searched(t, c, 3)
	for name, change := range map[string]func(id, parent pregel.VertexID, dist float32) (pregel.VertexID, float32){
		"invalid range: the parent of vertex": func(id, parent pregel.VertexID, dist float32) (pregel.VertexID, float32) {
			if id == 17 {
				return 1 << 40, dist
			}
			return parent, dist
		},
		"invalid reached: vertex": func(id, parent pregel.VertexID, dist float32) (pregel.VertexID, float32) {
			if id == 18 {
				return pregel.None, dist
			}
			return parent, dist
		},
		"invalid range: the distance": func(id, parent pregel.VertexID, dist float32) (pregel.VertexID, float32) {
			if id == 19 {
				return parent, float32(math.Inf(1))
			}
			return parent, dist
		},
	} {
		errs := ranks(t, 3, ShareConfig{Generator: c.Generator, SSSP: true, Validate: true, Owner: []int{0, 1, 2}}, func(s *Share) error {
			roots, err := s.Roots(t.Context(), 1)
			if err != nil {
				return err
			}
			f := search(true, roots[0].ID)
			_, err = s.Judge(t.Context(), roots[0].Vertex, Found{
				Parent: func(id pregel.VertexID) pregel.VertexID { p, _ := change(id, f.Parent(id), f.Dist(id)); return p },
				Dist:   func(id pregel.VertexID) float32 { _, d := change(id, f.Parent(id), f.Dist(id)); return d },
			})
			return err
		})
		for rank, err := range errs {
			if err == nil || !strings.HasPrefix(err.Error(), name) {
				t.Errorf("rank %d: %v, want %q", rank, err, name)
			}
		}
	}
}

// TestSharesOfLittle: fewer tuples than ranks, and a graph of loops alone.
func TestSharesOfLittle(t *testing.T) {
	for seed := range uint64(8) {
		g := generate.Kronecker{Scale: 1, EdgeFactor: 1, Seed1: seed, Seed2: 3}
		c := config(t)
		c.Generator, c.SSSP = g, false
		want, wantErr := Run(t.Context(), c)
		errs := ranks(t, 3, ShareConfig{Generator: g, Validate: true, Owner: []int{0, 1, 2}}, func(s *Share) error {
			roots, err := s.Roots(t.Context(), 8)
			if len(roots) != len(want.Roots) {
				return fmt.Errorf("roots %v, want %v: %w", roots, want.Roots, err)
			}
			return err
		})
		for rank, err := range errs {
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("seed %d: rank %d: %v, one process: %v", seed, rank, err, wantErr)
			}
		}
	}
}
