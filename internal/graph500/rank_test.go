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
	"github.com/superstep-go/superstep/internal/testcluster/memlink"
	"github.com/superstep-go/superstep/pregel"
)

// searched returns a function that searches the whole graph from a root.
func searched(
	t *testing.T, c LocalConfig, partitions int,
) func(sssp bool, root pregel.VertexID) Found {
	in, err := generate.Input(t.Context(), c.Generator, generate.Options{Weights: edges.Float32})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	in.Vertices = 0
	g, err := build.Local(t.Context(), in,
		graph.Options{Partitions: partitions, Duplicates: graph.LeastDuplicate, DropLoops: true, Weights: edges.Float32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return func(sssp bool, root pregel.VertexID) Found {
		program := pregel.Erase(algorithms.BFS{Source: root})
		if sssp {
			program = pregel.Erase(algorithms.SSSPTree[float32]{Source: root})
		}
		job, err := engine.NewJob(t.Context(), g, program, engine.Options{})
		var found Found
		if err == nil {
			_, err = job.Run(t.Context())
		}
		if err == nil {
			found, err = FoundBy(job)
		}
		if err != nil {
			t.Error(err)
		}
		return found
	}
}

// ranks runs a function on every rank of a group, and returns the errors.
func ranks(t *testing.T, n int, c Config, run func(s *Rank, roots []Root) error) []error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	memory := memlink.New(n, nil)
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
			s := NewRank(g, 40, c)
			defer s.Close()
			_, err = s.Generate(ctx)
			var roots []Root
			if err == nil {
				_, roots, err = s.Construct(ctx)
			}
			if err == nil {
				err = run(s, roots)
			}
			errs[rank] = err
		})
	}
	all.Wait()
	return errs
}

// TestSharesAgreeWithRun: any number of ranks and partitions finds the same roots and edge counts
// as one process.
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
		errs := ranks(t, n,
			Config{Generator: c.Generator, Roots: c.Roots, SSSP: true, Validate: true, Owner: owner}, func(s *Rank, roots []Root) error {
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
							return fmt.Errorf("root %d, SSSP %t: %d edges, want %d: %w", r.Vertex,
								sssp, j.Nedge, want.BFS.Nedge[i], err)
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

// TestSharesFindWrongResults validates corrupted results on one rank and on three.
func TestSharesFindWrongResults(t *testing.T) {
	c := config(t)
	type id = pregel.VertexID
	search := searched(t, c, 3)
	for want, change := range map[string]func(v, parent id, dist float32) (id, float32){
		"rule 1 (cycle)": func(v, parent id, dist float32) (id, float32) {
			if v == 17 || v == 18 {
				return 17 + 18 - v, dist
			}
			return parent, dist
		},
		"rule 4 (component)": func(v, parent id, dist float32) (id, float32) {
			if v == 170 {
				return pregel.None, float32(math.Inf(1))
			}
			return parent, dist
		},
		"rule 3 (edge)": func(v, parent id, dist float32) (id, float32) {
			if dist > 0 && v%2 == 0 {
				dist += 0.5
			}
			return parent, dist
		},
		"rule 3 (edge) ": func(v, parent id, dist float32) (id, float32) {
			if dist > 0 && v%2 == 0 {
				dist -= 1e-3
			}
			return parent, dist
		},
		"invalid range: the parent of vertex": func(v, parent id, dist float32) (id, float32) {
			if v == 17 {
				return 1 << 40, dist
			}
			return parent, dist
		},
		"invalid range: the parent of ": func(v, parent id, dist float32) (id, float32) {
			if v == 17 {
				return 1 << 8, dist
			}
			return parent, dist
		},
		"invalid reached: vertex": func(v, parent id, dist float32) (id, float32) {
			if v == 18 {
				return pregel.None, dist
			}
			return parent, dist
		},
		"invalid range: the distance": func(v, parent id, dist float32) (id, float32) {
			if v == 19 {
				return parent, float32(math.Inf(1))
			}
			return parent, dist
		},
	} {
		for _, owner := range [][]int{{0, 1, 2}, {0, 0, 0}} {
			for _, validated := range []bool{true, false} {
				config := Config{Generator: c.Generator, Roots: 1, SSSP: true, Validate: validated, Owner: owner}
				errs := ranks(t, slices.Max(owner)+1, config, func(s *Rank, roots []Root) error {
					f := search(true, roots[0].ID)
					hops := f.hops
					f.hops = func(partition int) []hop {
						all := slices.Clone(hops(partition))
						for i, h := range all {
							v := id(i*len(owner) + partition)
							all[i].From, all[i].Dist = change(v, h.From, h.Dist)
						}
						return all
					}
					_, err := s.Judge(t.Context(), roots[0].Vertex, f)
					return err
				})
				for rank, err := range errs {
					var broken *validate.Violation
					if errors.As(err, &broken) != validated || validated &&
						!strings.HasPrefix(err.Error(), strings.TrimSpace(want)) || err != nil &&
						err.Error() != errs[0].Error() {
						t.Errorf("owners %v, judged %t: rank %d: %v, want %q", owner, validated,
							rank, err, want)
					}
				}
			}
		}
	}
}

// TestSharesOfLittle has fewer tuples than ranks, and a graph with only loops.
func TestSharesOfLittle(t *testing.T) {
	for seed := range uint64(8) {
		g := generate.Kronecker{Scale: 1, EdgeFactor: 1, Seed1: seed, Seed2: 3}
		c := config(t)
		c.Generator, c.SSSP = g, false
		want, wantErr := Run(t.Context(), c)
		errs := ranks(t, 3, Config{Generator: g, Roots: 8, Validate: true, Owner: []int{0, 1, 2}},
			func(_ *Rank, roots []Root) error {
				if len(roots) != len(want.Roots) {
					return fmt.Errorf("roots %v, want %v", roots, want.Roots)
				}
				return nil
			})
		for rank, err := range errs {
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("seed %d: rank %d: %v, one process: %v", seed, rank, err, wantErr)
			}
		}
	}
}
