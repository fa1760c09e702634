package engine_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// A run of a plan continues from a checkpoint in any of its phases, with the graph and columns of
// the earlier phases. It ends like toys that run one after the other.
func TestAPlanGoesOnFromACheckpoint(t *testing.T) {
	rounds := 3
	if raced {
		rounds = 2
	}
	for seed := range rounds {
		planGoesOn(t, uint64(seed))
	}
}

func planGoesOn(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	s, kind := smallShape(seed, rng)
	spread := rng.IntN(3) == 0
	changes := func() changer {
		return changer{
			rounds: 1 + rng.IntN(3), direction: pregel.Direction(rng.IntN(4)),
			messages: combiners.Sum[uint64](), spread: spread,
			create: rng.IntN(2) == 0,
		}
	}
	some := func(n int) (list []pregel.Program[uint64, uint64]) {
		for range n {
			switch c := changes(); rng.IntN(5) {
			case 0:
				list = append(list, c)
			case 1:
				list = append(list, chooser{c})
			case 2:
				list = append(list, unseen{c})
			default:
				list = append(list, seer{c})
			}
		}
		return list
	}
	p := phases{some(1 + rng.IntN(3)), some(rng.IntN(3))}
	last := pregel.Program[uint64, uint64](composed{changes(), p})
	if rng.IntN(2) == 0 {
		last = composedSeer{seer{changes()}, p}
	}
	way := someWay(rng, spread)
	g := s.loadAs(t, way, kind)
	defer g.Close()
	toy, want := p.toyOf(0, last, func(p pregel.Program[uint64, uint64]) *toy[uint64, uint64] {
		toy := newToy(s, g.IDs, p)
		toy.seed, toy.unweighted, toy.spread = seed, kind == edges.Unweighted, spread
		return toy
	})
	way.o.Seed = seed
	place, _, whole := keeping(t, g, last, way)
	want.Left = whole.Left // phases that do not change the graph do not set it
	found, err := checkpoint.List(t.Context(), place)
	check(t, err)
	if len(found) < want.Supersteps/3 {
		t.Fatalf("seed %d, %s, %v: %d checkpoints of %d supersteps", seed, s.name, way, len(found),
			want.Supersteps)
	}
	for _, l := range found {
		check(t, l.Err)
		if rng.IntN(len(found)) > 1 {
			continue
		}
		for _, other := range []setting{way, someWay(rng, spread)} {
			if other.o.Deterministic = way.o.Deterministic; other.o.Deterministic &&
				(!other.grid.Flat() || other.o.Uncombined || other.o.Delivery != 0) {
				continue
			}
			other.o.Seed = seed
			other.o.From = &checkpoint.Reader{Store: place, Manifest: l.Manifest}
			where := fmt.Sprintf("seed %d, %T after %T and twice %T, %s, %v, %v, from %s in %v",
				seed, last, p.once, p.twice, s.name, kind, way, l.Name, other)
			goesOnAsToy(t, where, s, kind, last, other, toy, want)
		}
	}
}

// Float sums are equal to the bit only in deterministic runs, which are flat and push combined
// messages.
func TestPlannedAlgorithmsGoOnFromACheckpoint(t *testing.T) {
	grids, flat := rerunWays(true), rerunWays(false)
	each := func(name string, ways []setting, run func(t *testing.T, s setting, seed uint64)) {
		t.Run(name, func(t *testing.T) {
			for i, s := range ways {
				if (i+len(name))%3 > 0 { // other settings for each algorithm
					continue
				}
				run(t, s, uint64(i))
			}
		})
	}
	exact := func(s setting) setting {
		s.o = engine.Options{Deterministic: true, Experiment: delivery.Experiment{Serial: s.threads%2 == 0}}
		return s
	}
	each("SCC", grids, func(t *testing.T, s setting, seed uint64) {
		resumed(t, s, seed, 0, grids,
			func() pregel.Program[pregel.VertexID, pregel.VertexID] { return algorithms.SCC{} })
	})
	each("Closeness", grids, func(t *testing.T, s setting, seed uint64) {
		resumed(t, s, seed, 0, grids, func() pregel.Program[algorithms.Nearness, uint64] { return algorithms.Closeness{Samples: 150} })
	})
	each("Betweenness", flat, func(t *testing.T, s setting, seed uint64) {
		resumed(t, exact(s), seed, 0, flat,
			func() pregel.Program[float64, float64] { return algorithms.Betweenness{Samples: 3} })
	})
	each("MSF", flat, func(t *testing.T, s setting, seed uint64) {
		resumed(t, s, 2*seed+1, edges.Float64, flat,
			func() pregel.Program[algorithms.Branch, bool] { return algorithms.MSF{} })
	})
	// Louvain is omitted: its hundreds of phases take half a minute with a checkpoint each.
}

// A checkpoint of a plan is rejected if the plan is a different one.
func TestAPlanThatTakesAnotherWayIsRefused(t *testing.T) {
	s := shapes(1)[8] // of 70 vertices
	way := setting{parts: 2, threads: 1}
	g := s.loadAs(t, way, edges.Unweighted)
	c := changer{rounds: 2, messages: combiners.Sum[uint64]()}
	of := func(all ...pregel.Program[uint64, uint64]) pregel.Program[uint64, uint64] {
		return composedSeer{seer{c}, phases{once: all}}
	}
	place, _, _ := keeping(t, g, of(seer{c}, seer{c}), way)
	found, err := checkpoint.List(t.Context(), place)
	check(t, err)
	if len(found) < 6 {
		t.Fatalf("found %d checkpoints", len(found))
	}
	for _, l := range found {
		check(t, l.Err)
		way.o.From = &checkpoint.Reader{Store: place, Manifest: l.Manifest}
		phase := len(l.Manifest.Plan.Ran)
		for want, p := range map[string]pregel.Program[uint64, uint64]{
			"another path|is of program seer":      of(unseen{c}, unseen{c}),
			"now the plan has run 0|is of program": of(),
			"is from another plan than that of":    composed{c, phases{}},
		} {
			j, err := engine.NewJob(t.Context(), g, pregel.Erase(p), way.o)
			check(t, err)
			_, err = j.Run(t.Context())
			if j.Close(); err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
				t.Errorf("from %s, after %d phases: %v, expected %q", l.Name, phase, err, want)
			}
		}
	}
}
