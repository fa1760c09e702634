package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// seer is a program that does not change the graph. Its values and columns depend on everything
// that it sees.
type seer struct{ c changer }

func (s seer) Combiner() pregel.Combiner[uint64] { return s.c.messages }
func (s seer) Traits() pregel.Traits {
	return pregel.Traits{Direction: s.c.direction, Columns: []pregel.Column{changerAge}}
}

func (s seer) Compute(v cursor, m uint64) {
	changerAge.Set(v, changerAge.Of(v)*3+digest(m)+s.c.look(v))
	if v.Set(changerAge.Of(v)); v.Superstep() < s.c.rounds {
		v.SendToAllNeighbors(v.Value() % 1000)
	} else {
		v.VoteToHalt()
	}
}

// unseen is a changer without columns.
type unseen struct{ changer }

func (u unseen) Traits() pregel.Traits {
	t := u.changer.Traits()
	t.Columns = nil
	return t
}

func (u unseen) Compute(v cursor, m uint64) {
	if v.Superstep() >= u.rounds {
		v.VoteToHalt()
		return
	}
	rng := v.Rand()
	id := func() pregel.VertexID { return pregel.VertexID(rng.Uint64N(uint64(v.Change().NextID()))) }
	switch rng.IntN(6) {
	case 0:
		if rng.IntN(6) == 0 {
			v.Change().RemoveVertex(id())
		}
	case 1:
		v.Change().AddVertex(id(), m)
	case 2:
		v.Change().AddEdge(id(), v.Change().NextID(), 1)
	case 3:
		v.Change().RemoveEdge(v.ID(), id())
	}
	v.Send(id(), m)
}

// composed is a program with phases. The phases, and the program itself, may change the graph.
type (
	composed struct {
		changer
		phases
	}
	composedSeer struct {
		seer
		phases
	}
	phases struct {
		once, twice []pregel.Program[uint64, uint64]
	}
)

func (p phases) Plan() pregel.Plan {
	all := func(list []pregel.Program[uint64, uint64]) (plans []pregel.Plan) {
		for _, p := range list {
			plans = append(plans, plan.Phase(p))
		}
		return plans
	}
	steps := all(p.once)
	if len(p.twice) > 0 {
		steps = append(steps,
			plan.Repeat(func(r *plan.Round) bool { return r.Number == 1 }, all(p.twice)...))
	}
	return plan.Sequence(steps...)
}

// toyOf runs the phases and the program with toys, one after the other, up to a limit of
// supersteps. It returns the last toy that ran.
func (p phases) toyOf(limit int, last pregel.Program[uint64,
	uint64], make func(pregel.Program[uint64, uint64]) *toy[uint64,
	uint64],
) (*toy[uint64, uint64], bsp.Outcome) {
	all := slices.Concat(p.once, p.twice, p.twice, []pregel.Program[uint64, uint64]{last})
	sum := bsp.Outcome{Ended: trace.Converged}
	var before *toy[uint64, uint64]
	for i, program := range all {
		t := make(program)
		if before != nil {
			t.after(before)
		}
		if limit > 0 {
			if t.limit = limit - sum.Supersteps; t.limit == 0 && t.n > len(t.changes.absent) {
				t.state.Properties = t.shared
				sum.Ended = trace.Limit
				clear(t.values)
				return t, sum
			}
		}
		t.run()
		before = t
		sum.Supersteps += t.outcome.Supersteps
		sum.Messages += t.outcome.Messages
		if sum.Ended = t.outcome.Ended; !sum.Ended.Complete() {
			if i < len(all)-1 {
				clear(t.values) // they have their initial values
			}
			break
		}
	}
	return before, sum
}

func TestPhasesChangeTheGraphAsTheToyDoes(t *testing.T) {
	seeds := 5
	if raced {
		seeds = 2
	}
	for seed := range seeds {
		phasesAsToy(t, uint64(seed))
	}
}

func FuzzPhases(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { phasesAsToy(t, seed) })
}

func phasesAsToy(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 9))
	all := shapes(seed)
	s := all[rng.IntN(len(all))]
	if s.n > 400 {
		s = all[rng.IntN(5)]
	}
	kind := edges.Weights(rng.IntN(3))
	if kind == edges.Unweighted {
		s.weights = nil
	}
	ways := settings()
	spread := rng.IntN(3) == 0
	if spread {
		ways = grids()
	}
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
	limit := 0
	if rng.IntN(3) == 0 {
		limit = 1 + rng.IntN(15)
	}
	rng.Shuffle(len(ways), func(i, j int) { ways[i], ways[j] = ways[j], ways[i] })
	for _, way := range ways[:3] {
		comparePhases(t, seed, s, kind, p, last, limit, way, spread)
	}
}

// comparePhases runs a program with phases in a setting, twice, and with toys, and compares values
// and graphs.
func comparePhases(
	t *testing.T, seed uint64, s shape, kind edges.Weights, p phases,
	last pregel.Program[uint64, uint64], limit int, way setting, spread bool,
) {
	t.Helper()
	g := s.loadAs(t, way, kind)
	defer g.Close()
	toy, want := p.toyOf(limit, last, func(p pregel.Program[uint64, uint64]) *toy[uint64, uint64] {
		toy := newToy(s, g.IDs, p)
		toy.seed, toy.unweighted, toy.spread = seed, kind == edges.Unweighted, spread
		return toy
	})
	way.o.Seed, way.o.MaxSupersteps = seed, limit
	if seed%2 == 0 {
		way.o.Trace = new(changes)
	}
	way.o.Team = parallel.NewTeam(way.threads, false)
	defer way.o.Team.Close()
	j, err := engine.NewJob(t.Context(), g, pregel.Erase(last), way.o)
	check(t, err)
	defer j.Close()
	where := fmt.Sprintf("seed %d, %T after %T and twice %T, limit %d, %s, %v, %v", seed, last,
		p.once, p.twice, limit, s.name, kind, way)
	for run := range 2 {
		o, err := j.Run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if o.Supersteps != want.Supersteps || o.Messages != want.Messages || o.Ended != want.Ended {
			t.Fatalf("%s, run %d: %+v, want %+v", where, run, o, want)
		}
		wantValues(t, fmt.Sprintf("%s, run %d", where, run), j, toy)
	}
	if changed := j.TakeGraph(); changed != nil {
		defer changed.Close()
		// it begins with the loaded graph
		if o, err := j.Run(t.Context()); err != nil || o.Messages != want.Messages {
			t.Fatalf("%s, after the graph was taken: %+v, %v", where, o, err)
		}
		wantGraph(t, where, changed, toy, kind)
	}
}

// marking and finding share edge marks with phases that change the graph and do not use the marks.
type (
	marking struct{ direction pregel.Direction }
	finding struct{ marking }
)

func (marking) Combiner() pregel.Combiner[uint64] { return combiners.Sum[uint64]() }
func (m marking) Traits() pregel.Traits {
	return pregel.Traits{Direction: m.direction, Columns: []pregel.Column{changerMark}}
}

func (marking) Compute(v cursor, _ uint64) {
	for e := range v.Edges() {
		changerMark.Set(e, digest(v.ID(), e.To, e.Weight))
	}
	v.VoteToHalt()
}

// Compute counts the edges with and without a mark.
func (finding) Compute(v cursor, _ uint64) {
	for e := range v.Edges() {
		switch changerMark.Of(e) {
		case 0:
			v.Set(v.Value() + 1)
		case digest(v.ID(), e.To, e.Weight):
			v.Set(v.Value() + 1<<32)
		default:
			panic(fmt.Sprintf("edge %d of vertex %d has the mark %x", e.To, v.ID(),
				changerMark.Of(e)))
		}
	}
	v.VoteToHalt()
}

type found struct {
	finding
	plan pregel.Plan
}

func (f found) Plan() pregel.Plan { return f.plan }

func TestEdgeColumnsMoveThroughPhases(t *testing.T) {
	for i, s := range shapes(13) {
		if s.n > 400 {
			continue
		}
		m := marking{pregel.Direction(i % 4)}
		u := unseen{changer{rounds: 3, direction: pregel.Direction(i / 2 % 4), messages: combiners.Sum[uint64]()}}
		f := found{finding{m}, plan.Sequence(plan.Phase(m), plan.Phase(u), plan.Phase(finding{m}),
			plan.Phase(u))}
		var first []uint64
		for _, way := range []setting{{parts: 1, threads: 1}, {parts: 1, threads: 3}, {parts: 3, threads: 2}, {parts: 4, threads: 4}} {
			g := s.loadAs(t, way, edges.Float32)
			got, _ := run(t, g, pregel.Program[uint64, uint64](f), way)
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Fatalf("%s, %v: %x, want %x", s.name, way, got, first)
			}
			g.Close()
		}
		if len(s.tuples) > 100 &&
			!slices.ContainsFunc(first, func(x uint64) bool { return x>>32 > 0 }) {
			t.Errorf("%s: no edge kept its mark", s.name)
		}
	}
}

// A run that is cancelled in a phase after one that changed the graph ends and frees its memory.
// The job can run again.
func TestPhasesAreCancelled(t *testing.T) {
	for _, parts := range []int{1, 4} {
		s := shapes(3)[9]
		g := s.load(t, parts, edges.Unweighted)
		ctx, cancel := context.WithCancel(t.Context())
		c := changer{rounds: 3, messages: combiners.Sum[uint64]()}
		stops := asking{c, func(v cursor) {
			if v.Change().AddEdge(v.ID(), 0, 1); v.Superstep() == 3 {
				cancel()
			}
		}}
		p := composed{c, phases{once: []pregel.Program[uint64, uint64]{c, seer{c}, stops, seer{c}}}}
		j, err := engine.NewJob(t.Context(), g, pregel.Erase(pregel.Program[uint64, uint64](p)),
			engine.Options{})
		check(t, err)
		if _, err := j.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%d partitions: %v", parts, err)
		}
		var sums [2]uint64
		for run := range sums {
			if _, err := j.Run(t.Context()); err != nil {
				t.Errorf("%d partitions, run %d: %v", parts, run, err)
			}
			for v := range j.IDs() {
				sums[run] += j.Any(pregel.VertexID(v)).(uint64)
			}
		}
		if sums[0] != sums[1] {
			t.Errorf("%d partitions: values that add up to %x and then %x", parts, sums[0], sums[1])
		}
		j.Close()
		g.Close()
	}
}

// lightening adds an edge with a negative weight. wary accepts none.
type (
	lightening struct{ changer }
	wary       struct {
		seer
		plan pregel.Plan
	}
)

func (lightening) Compute(v cursor, _ uint64) {
	if v.ID() == 0 {
		v.Change().AddEdge(v.ID(), 1, -1)
	}
	v.VoteToHalt()
}

func (w wary) Traits() pregel.Traits {
	t := w.seer.Traits()
	t.NonNegative = true
	return t
}
func (w wary) Plan() pregel.Plan { return w.plan }

func TestPhasesLeaveWhatTheNextDoesNotTake(t *testing.T) {
	c := changer{messages: combiners.Sum[uint64]()}
	wantError(t, on(t, "0>1:2 1>2:3"),
		pregel.Program[uint64, uint64](wary{seer{c}, plan.Phase(lightening{c})}), 2,
		"wary: an earlier phase has added an edge of weight -1: no weight may be negative")
}
