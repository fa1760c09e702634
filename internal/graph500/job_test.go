package graph500

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graph500/validate"
	"github.com/superstep-go/superstep/internal/parallel"
)

func config(t *testing.T) Config {
	team := parallel.NewTeam(2, false)
	t.Cleanup(team.Close)
	return Config{
		Generator: generate.Kronecker{Scale: 8, EdgeFactor: 16, Seed1: 2, Seed2: 3}, Roots: 8, SSSP: true, Validate: true,
		Grid: graph.Of(1), Team: team,
	}
}

func TestRunIsValid(t *testing.T) {
	for _, grid := range []graph.Grid{{Rows: 1, Columns: 1}, {Rows: 3, Columns: 1}, {Rows: 2, Columns: 2}, {Rows: 3, Columns: 2}, {Rows: 1, Columns: 7}} {
		c := config(t)
		c.Grid = grid
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Valid == nil || !*r.Valid || len(r.Roots) != 8 || len(r.BFS.Time) != 8 || len(r.SSSP.Validate) != 8 || !slices.Equal(r.BFS.Nedge, r.SSSP.Nedge) {
			t.Errorf("grid %v: report %+v", grid, r)
		}
	}
}

// TestRunFindsWrongSearches spoils what searches find.
func TestRunFindsWrongSearches(t *testing.T) {
	for name, spoil := range map[string]func(parent []uint32, dist []float32){
		"a cycle":             func(parent []uint32, _ []float32) { parent[0], parent[1] = 1, 0 },
		"a parent too large":  func(parent []uint32, _ []float32) { parent[3] = 256 },
		"a vertex forgotten":  func(parent []uint32, _ []float32) { forget(parent) },
		"distances too long":  func(_ []uint32, dist []float32) { addTo(dist, 0.5) },
		"distances too short": func(_ []uint32, dist []float32) { addTo(dist, -1e-3) },
	} {
		c := config(t)
		c.Spoil = func(_ int, parent []uint32, dist []float32) { spoil(parent, dist) }
		r, err := Run(t.Context(), c)
		var broken *validate.Violation
		if !errors.As(err, &broken) || r == nil || r.Valid == nil || *r.Valid {
			t.Errorf("%s: error %v", name, err)
		}
		c.Validate = false
		if r, err = Run(t.Context(), c); err != nil || r.Valid != nil {
			t.Errorf("%s, not judged: error %v", name, err)
		}
	}
}

// forget takes a vertex out of the tree that is not the root.
func forget(parent []uint32) {
	for x, p := range parent {
		if p != validate.Unreached && p != uint32(x) {
			parent[x] = validate.Unreached
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

// TestRunEnds interrupts every stage.
func TestRunEnds(t *testing.T) {
	for _, stage := range []string{"generating", "finding the vertices", "looking for duplicates", "building the in-edges", "sorting the lists", "BFS", "SSSP"} {
		ctx, cancel := context.WithCancel(t.Context())
		c := config(t)
		c.Team = nil // so that stages are told of in order
		seen := false
		c.Progress = func(name string, done, _ int64) {
			if name == stage && !seen {
				seen = true
				cancel()
			}
			if ctx.Err() != nil && name != stage {
				t.Errorf("%s began after %s was interrupted", name, stage)
			}
		}
		if _, err := Run(ctx, c); !seen || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: seen %t, error %v", stage, seen, err)
		}
		cancel()
	}
}
