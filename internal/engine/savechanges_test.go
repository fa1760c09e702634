package engine_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// A run that continues from a checkpoint with a changed graph, with other partitions, ends like the
// toy.
func TestAChangedGraphGoesOnFromACheckpoint(t *testing.T) {
	seeds := 3
	switch {
	case soak:
		seeds = 5
	case raced:
		seeds = 2
	}
	for seed := range seeds {
		changedGoesOn(t, uint64(seed))
	}
}

func changedGoesOn(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 10))
	s, kind := smallShape(seed, rng)
	c := changer{
		rounds: 3 + rng.IntN(4), direction: pregel.Direction(rng.IntN(4)),
		messages: combiners.Sum[uint64](),
		create:   rng.IntN(2) == 0, spread: rng.IntN(3) == 0,
	}
	var p pregel.Program[uint64, uint64] = c
	if seed%2 == 0 {
		p = chooser{c}
	}
	way := someWay(rng, c.spread)
	g := s.loadAs(t, way, kind)
	defer g.Close()
	toy := newToy(s, g.IDs, p)
	toy.seed, toy.unweighted, toy.spread = seed, kind == edges.Unweighted, c.spread
	toy.run()
	outcome := bsp.Outcome{Supersteps: toy.outcome.Supersteps, Messages: toy.outcome.Messages, Ended: toy.outcome.Ended, Left: &record.GraphSize{}}
	way.o.Seed = seed
	place, _, _ := keeping(t, g, p, way)
	found, err := checkpoint.List(t.Context(), place)
	check(t, err)
	if len(found) == 0 && outcome.Supersteps > 4 {
		t.Fatalf("seed %d, %s, %v: no checkpoint of %d supersteps", seed, s.name, way,
			outcome.Supersteps)
	}
	for _, l := range found {
		check(t, l.Err)
		if rng.IntN(len(found)) > 2 {
			continue
		}
		for _, other := range []setting{way, someWay(rng, c.spread)} {
			if other.o.Deterministic = way.o.Deterministic; other.o.Deterministic &&
				(!other.grid.Flat() || other.o.Uncombined || other.o.Delivery != 0) {
				continue
			}
			other.o.Seed = seed
			other.o.From = &checkpoint.Reader{Store: place, Manifest: l.Manifest}
			where := fmt.Sprintf("seed %d, %T, %s, %v, %v, from %s in %v", seed, p, s.name, kind,
				way, l.Name, other)
			goesOnAsToy(t, where, s, kind, p, other, toy, outcome)
		}
	}
}

// goesOnAsToy checks that a continued run ends like a toy, and that the next run of the job, which
// starts from the beginning, does so too.
func goesOnAsToy(
	t *testing.T, where string, s shape, kind edges.Weights, p pregel.Program[uint64, uint64],
	way setting, toy *toy[uint64, uint64], want bsp.Outcome,
) {
	t.Helper()
	g := s.loadAs(t, way, kind)
	defer g.Close()
	way.o.Team = parallel.NewTeam(way.threads, false)
	defer way.o.Team.Close()
	j, err := engine.NewJob(t.Context(), g, pregel.Erase(p), way.o)
	check(t, err)
	defer j.Close()
	for run := range 2 {
		o, err := j.Run(t.Context())
		if err != nil {
			t.Fatalf("%s, run %d: %v", where, run, err)
		}
		if o.Supersteps != want.Supersteps || o.Messages != want.Messages || o.Ended != want.Ended {
			t.Fatalf("%s, run %d: %+v, want %+v", where, run, o, want)
		}
		left := &record.GraphSize{Vertices: uint64(toy.n - len(toy.changes.absent)), Arcs: toy.stored}
		if want.Left == nil {
			left = nil
		}
		if !reflect.DeepEqual(o.Left, left) {
			t.Fatalf("%s, run %d: the outcome tells of %+v, want %+v", where, run, o.Left, left)
		}
		wantValues(t, fmt.Sprintf("%s, run %d", where, run), j, toy)
		if changed := j.TakeGraph(); changed != nil {
			wantGraph(t, where, changed, toy, kind)
			changed.Close()
		}
	}
}

func smallShape(seed uint64, rng *rand.Rand) (shape, edges.Weights) {
	all := shapes(seed)
	s := all[rng.IntN(len(all))]
	if s.n > 400 {
		s = all[rng.IntN(5)]
	}
	kind := edges.Weights(rng.IntN(3))
	if kind == edges.Unweighted {
		s.weights = nil
	}
	return s, kind
}

// someWay returns a random setting. spread selects grids in which vertices do not have all their
// edges.
func someWay(rng *rand.Rand, spread bool) setting {
	ways := settings()
	if spread {
		ways = grids()
	}
	return ways[rng.IntN(len(ways))]
}
