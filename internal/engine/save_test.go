package engine_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// A run that continues from a checkpoint, with other partitions, ends like a run without
// interruption.

// keeping runs a program and keeps all possible checkpoints.
func keeping[V, M any](t *testing.T, g *graph.Graph, p pregel.Program[V, M], s setting,
) (store.Store, []V, *bsp.Outcome) {
	t.Helper()
	place := &memory{objects: map[string][]byte{}, running: true}
	s.o.Parts = checkpoint.NewWriter(place, "run")
	defer s.o.Parts.Close()
	k := checkpoint.NewKeeper(place, checkpoint.Policy{Every: 1, Keep: 1000}, 0,
		func(text string) { t.Error(text) }, func(checkpoint.Event) {})
	defer func() { place.running = false }()
	defer k.Close(false)
	s.o.Checkpoints = k
	s.o.Progress = func(bsp.Progress) {
		s.o.Parts.Flush()
		check(t, k.Stored(s.o.Parts.Stored()))
		check(t, k.Settle())
	}
	values, o := run(t, g, p, s)
	return place, values, o
}

// goOn continues a run from a checkpoint.
func goOn[V, M any](
	t *testing.T, g *graph.Graph, p pregel.Program[V, M], s setting, place store.Store,
	m *checkpoint.Manifest,
) ([]V, *bsp.Outcome) {
	t.Helper()
	s.o.From = &checkpoint.Reader{Store: place, Manifest: m}
	return run(t, g, p, s)
}

// resumed takes checkpoints of a run in one setting, and compares runs that continue from them in
// this and in other settings.
func resumed[V, M any](
	t *testing.T, s setting, seed uint64, kind edges.Weights, others []setting,
	program func() pregel.Program[V, M],
) {
	t.Helper()
	all := shapes(seed)
	shape := all[len(all)-2-int(seed)%2*len(all)/2] // of 300 vertices, directed or not
	graphs := shape.partitioned(kind)
	g := graphs.in(t, s)
	want, ended := run(t, g, program(), s)
	place, values, o := keeping(t, g, program(), s)
	same := func(what string, got []V, o *bsp.Outcome) {
		t.Helper()
		if o.Supersteps != ended.Supersteps || o.Messages != ended.Messages ||
			o.Ended != ended.Ended {
			t.Fatalf("%s, %v, %s: %d supersteps, %d messages, expected %d and %d", shape.name, s,
				what, o.Supersteps, o.Messages, ended.Supersteps, ended.Messages)
		}
		if reflect.DeepEqual(got, want) {
			return // otherwise they may only differ by NaN
		}
		for v := range want {
			if fmt.Sprint(got[v]) != fmt.Sprint(want[v]) {
				t.Fatalf("%s, %v, %s: vertex %d is %v, expected %v", shape.name, s, what, v, got[v],
					want[v])
			}
		}
	}
	same("with checkpoints", values, o)
	found, err := checkpoint.List(t.Context(), place)
	check(t, err)
	if len(found) == 0 && ended.Supersteps > 4 {
		t.Fatalf("%s, %v: no checkpoint of %d supersteps", shape.name, s, ended.Supersteps)
	}
	rng := rand.New(rand.NewPCG(seed, 9))
	for i, l := range found {
		check(t, l.Err)
		if i > 0 && rng.IntN(len(found)) > 0 {
			continue
		}
		got, o := goOn(t, g, program(), s, place, l.Manifest)
		same("from "+l.Name, got, o)
		other := others[rng.IntN(len(others))]
		if other.o.Deterministic = s.o.Deterministic; other.o.Deterministic {
			other.grid, other.o.Delivery, other.o.Uncombined = graph.Grid{}, delivery.ChooseAuto,
				false
		}
		got, o = goOn(t, graphs.in(t, other), program(), other, place, l.Manifest)
		same(fmt.Sprintf("from %s in %v", l.Name, other), got, o)
	}
}

func TestARunGoesOnFromACheckpoint(t *testing.T) {
	ways := rerunWays(true)
	t.Run("Sum", func(t *testing.T) {
		for i, s := range ways {
			if i%2 > 0 {
				continue
			}
			p := chaos[int64]{
				seed: uint64(i), direction: pregel.Direction(i / 2 % 4), blind: true,
				combiner: combiners.Sum[int64](),
				to:       func(_ who, h uint64) int64 { return int64(h % 100) },
				from:     func(x int64) uint64 { return uint64(x) },
			}
			form := (i/2 + i/8) % 4
			if form == 3 && p.direction == pregel.Either {
				p.direction = pregel.In
			}
			resumed(t, s, uint64(i), 0, ways,
				func() pregel.Program[uint64, int64] { return rerunForms(p)[form] })
		}
	})
	t.Run("Func", func(t *testing.T) {
		for i, s := range ways {
			if i%2 == 0 {
				continue
			}
			resumed(t, s, uint64(i), 0, ways, func() pregel.Program[uint64, string] {
				return rerunForms(chaos[string]{
					seed: uint64(i), direction: pregel.Direction(i / 2 % 4), blind: true,
					to: func(_ who, h uint64) string { return fmt.Sprint(h % 10) }, from: text,
					combiner: combiners.Func("", merge),
				})[i%3]
			})
		}
	})
	t.Run("list", func(t *testing.T) {
		for i, s := range ways {
			if s.o.Delivery == delivery.ChooseBlockPull {
				continue // list programs push there
			}
			p := chaos[int64]{
				seed: uint64(i), direction: pregel.Direction(i % 4), blind: true, apart: true,
				to:   func(_ who, h uint64) int64 { return int64(h % 100) },
				from: func(x int64) uint64 { return uint64(x) },
			}
			resumed(t, s, uint64(i), 0, rerunWays(false),
				func() pregel.Program[uint64, int64] { return pregel.List(chaosList[int64]{p}) })
		}
	})
	t.Run("columns", func(t *testing.T) {
		for i, s := range rerunWays(false) {
			resumed(t, s, uint64(i), 0, rerunWays(false),
				func() pregel.Program[string, int64] { return countingUp(pregel.Direction(i % 4)) })
		}
	})
}

// countingUp is a program with vertex and edge columns, which it increments and shows.
func countingUp(d pregel.Direction) pregel.Program[string, int64] {
	return columned{looker{script{func(v talker, _ int64) {
		say(v, "%d", visits.Of(v))
		visits.Set(v, visits.Of(v)+1)
		for e := range v.Edges() {
			cost.Set(e, cost.Of(e)+1)
			say(v, "%g", cost.Of(e))
		}
		if v.Superstep() == 8 {
			v.VoteToHalt()
		}
	}}, d}}
}

func TestAnAlgorithmGoesOnFromACheckpoint(t *testing.T) {
	ways := rerunWays(true)
	for i, s := range ways {
		seed := uint64(i)
		resumed(t, s, seed, edges.Float64, ways,
			func() pregel.Program[float64, float64] { return algorithms.SSSP[float64]{} })
		resumed(t, s, seed, 0, ways,
			func() pregel.Program[int64, int64] { return algorithms.BFSLevels{} })
		resumed(t, s, seed, 0, ways,
			func() pregel.Program[pregel.VertexID, pregel.VertexID] { return algorithms.WCC{} })
		if s.parts > 1 && s.grid.Rows < 2 {
			s.o = engine.Options{Deterministic: true, Experiment: delivery.Experiment{Serial: i%2 == 0}}
			resumed(t, s, seed, 0, rerunWays(false), func() pregel.Program[float64, float64] { return algorithms.PageRank{Iterations: 12} })
		}
	}
}

// steering is a program with its own state, which Coordinate changes and which determines what its
// vertices compute.
type steering struct{ turns uint8 }

func (s *steering) MarshalBinary() ([]byte, error) { return []byte{s.turns}, nil }

func (s *steering) UnmarshalBinary(b []byte) error {
	if len(b) != 1 {
		return fmt.Errorf("found %d bytes, expected 1", len(b))
	}
	s.turns = b[0]
	return nil
}

func (s *steering) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (s *steering) Coordinate(c *pregel.Coordinator) {
	s.turns = s.turns*5 + 3
	c.SetPhase(int(s.turns % 7))
}

func (s *steering) Compute(v *pregel.Vertex[int64, int64], sum int64) {
	v.Set(v.Value()*31 + sum + int64(v.Phase()))
	if v.Superstep() == 12 {
		v.VoteToHalt()
		return
	}
	v.SendToAllNeighbors(v.Value() % 1000)
}

// steered has a plan with a program that has its own state.
type steered struct{ steering }

func (s *steered) Plan() pregel.Plan { return plan.Phase[int64, int64](new(steering)) }

// TestNoCheckpointsOfAPlanWithState: such a plan cannot have checkpoints, because the state is not
// saved for each phase.
func TestNoCheckpointsOfAPlanWithState(t *testing.T) {
	p, err := engine.NewProgram(pregel.Erase[int64, int64](new(steered)))
	check(t, err)
	err = p.Checkpointable()
	if err == nil || !strings.Contains(err.Error(),
		"its runs cannot have checkpoints: it has a plan, and one of the plan's programs has its own state") {
		t.Errorf("error %v", err)
	}
}

// TestLastCheckpointOfARunAtItsLimit stores the parts of the last checkpoint after the driver has
// looked for them. They are reported with the summary, or not at all, and make a checkpoint.
func TestLastCheckpointOfARunAtItsLimit(t *testing.T) {
	for _, summary := range []bool{false, true} {
		g := shapes(1)[8].loadAs(t, setting{parts: 2, threads: 1}, edges.Unweighted)
		place := &memory{objects: map[string][]byte{}, running: true}
		w := checkpoint.NewWriter(place, "run")
		k := checkpoint.NewKeeper(place, checkpoint.Policy{Every: 4, Keep: 10}, 0,
			func(text string) { t.Error(text) }, func(checkpoint.Event) {})
		o := engine.Options{Parts: w, Host: bsp.Host{Checkpoints: k}, MaxSupersteps: 5, Summary: summary, Progress: func(bsp.Progress) { w.Flush() }}
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(algorithms.PageRank{Iterations: 100}),
			o)
		check(t, err)
		_, err = j.Run(t.Context())
		check(t, err)
		w.Flush()
		check(t, k.Stored(w.Stored()))
		w.Close()
		k.Close(false)
		place.running = false
		found, err := checkpoint.List(t.Context(), place)
		check(t, err)
		if len(found) != 1 {
			t.Errorf("summary %v: found %d checkpoints, expected that before superstep 4", summary,
				len(found))
		}
		j.Close()
	}
}

func TestAProgramsOwnStateIsKept(t *testing.T) {
	for i, s := range rerunWays(true) {
		resumed(t, s, uint64(i), 0, rerunWays(true),
			func() pregel.Program[int64, int64] { return new(steering) })
	}
}
