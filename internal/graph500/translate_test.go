package graph500

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// TestTranslationIsThatOfEachVertex compares a result in input ids, on any number of ranks, with a
// translation vertex by vertex. In every second search some parents are replaced by arbitrary
// vertices, which may not be ghosts, and some are removed.
func TestTranslationIsThatOfEachVertex(t *testing.T) {
	for _, generator := range []generate.Kronecker{
		{Scale: 6, EdgeFactor: 1, Seed1: 4, Seed2: 3},
		{Scale: 9, EdgeFactor: 16, Seed1: 2, Seed2: 3},
		{Scale: 11, EdgeFactor: 2, Seed1: 7, Seed2: 1},
	} {
		var order []uint32
		ranks(t, 1, Config{Generator: generator, Owner: []int{0}, Roots: 1},
			func(s *Rank, _ []Root) error {
				order = slices.Clone(s.g.Order)
				return nil
			})
		for _, owner := range [][]int{{0}, {0, 0, 0}, {0, 1}, {1, 0, 1, 0}, {0, 1, 2, 3}, {2, 2, 0, 1, 0}} {
			c := config(t)
			c.Generator = generator
			search := searched(t, c, len(owner))
			for i, grid := range []graph.Grid{graph.Of(len(owner)), graph.Squarest(len(owner)), graph.Squarest(len(owner))} {
				var once sync.Mutex
				run := Config{Generator: generator, Roots: 2, SSSP: true, Grid: grid, Owner: owner}
				if i > 0 {
					run.hubs = i * i * i // few
				}
				errs := ranks(t, slices.Max(owner)+1, run, func(s *Rank, roots []Root) error {
					if s.ranks() == 1 {
						s.Team = parallel.NewTeam(2, false)
						defer s.Team.Close()
					}
					for i, root := range roots {
						for _, sssp := range []bool{false, true} {
							once.Lock()
							found := search(sssp, root.ID)
							once.Unlock()
							if i > 0 {
								found = strange(found, pregel.VertexID(len(owner)),
									pregel.VertexID(len(order)))
							}
							if _, err := s.Judge(t.Context(), root.Vertex, found); err != nil {
								return err
							}
							if err := s.compare(found, order); err != nil {
								return fmt.Errorf("root %d, SSSP %t: %w", root.Vertex, sssp, err)
							}
						}
					}
					return nil
				})
				for rank, err := range errs {
					if err != nil {
						t.Errorf("%+v, owners %v, grid %v: rank %d: %v", generator,
							owner, grid, rank, err)
					}
				}
			}
		}
	}
}

// strange replaces the parents of some vertices.
func strange(found Found, parts, n pregel.VertexID) Found {
	change := func(id, parent pregel.VertexID) pregel.VertexID {
		switch {
		case id%97 == 5:
			return 1 << 40
		case id%31 == 3:
			return pregel.None
		case id%7 == 1:
			return id * 12345 % n
		}
		return parent
	}
	if found.parents != nil {
		parents := found.parents
		found.parents = func(partition int) []pregel.VertexID {
			all := slices.Clone(parents(partition))
			for i := range all {
				all[i] = change(pregel.VertexID(i)*parts+pregel.VertexID(partition), all[i])
			}
			return all
		}
		return found
	}
	hops := found.hops
	found.hops = func(partition int) []hop {
		all := slices.Clone(hops(partition))
		for i := range all {
			all[i].From = change(pregel.VertexID(i)*parts+pregel.VertexID(partition), all[i].From)
		}
		return all
	}
	return found
}

// compare compares the translated results of this rank's range with a translation vertex by vertex.
func (s *Rank) compare(found Found, order []uint32) error {
	first, end := s.span()
	for id, v := range order {
		if int(v) < first || int(v) >= end {
			continue
		}
		partition, local := id%len(s.Owner), id/len(s.Owner)
		var h hop
		if found.hops != nil {
			h = found.hops(partition)[local]
		} else {
			h.From = found.parents(partition)[local]
		}
		parent, wantDist := h.From, float32(-1)
		want := uint32(validate.Unreached)
		if parent < pregel.VertexID(len(order)) {
			want = order[parent]
		} else if parent != pregel.None {
			want = noVertex
		}
		if found.hops != nil {
			if want != validate.Unreached || h.Dist <= math.MaxFloat32 {
				wantDist = h.Dist
			}
			if d := s.dist[int(v)-first]; d != wantDist {
				return fmt.Errorf("vertex %d has distance %v, want %v", v, d, wantDist)
			}
		}
		if got := s.parent[int(v)-first]; got != want {
			return fmt.Errorf("vertex %d has parent %d, want %d", v, got, want)
		}
	}
	return nil
}
