package plan_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/testcluster"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

func open(t *testing.T, g *superstep.Graph, err error) *superstep.Graph {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

var layouts = []superstep.LoadOptions{
	{Partitions: 1}, {Partitions: 3}, {Grid: superstep.Grid{Rows: 2, Columns: 2}},
}

// TestPhases: records, times and progress cover all phases of a plan.
func TestPhases(t *testing.T) {
	for _, o := range layouts {
		g, err := superstep.Load(t.Context(), "rmat:scale=6", o)
		g = open(t, g, err)
		supersteps := 0
		r, err := superstep.Run(t.Context(), g, algorithms.Betweenness{Samples: 4},
			superstep.Options{KeepTrace: true, Progress: func(p superstep.Progress) {
				if p.Superstep != supersteps {
					t.Errorf("superstep %d after %d", p.Superstep, supersteps)
				}
				supersteps++
			}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Supersteps != supersteps || len(r.Seconds) != supersteps || r.Ended != "converged" {
			t.Errorf("%d supersteps, %d times, ended %s: there were %d", r.Supersteps,
				len(r.Seconds), r.Ended, supersteps)
		}
		wantPhases(t, r.Trace, 4)
		for i, s := range r.Trace {
			if s.Superstep < i-9 || s.Superstep >= supersteps+1 || i > 0 &&
				s.Superstep < r.Trace[i-1].Superstep {
				t.Errorf("record %d is of superstep %d", i, s.Superstep)
			}
		}
	}
}

// wantPhases checks the records of a run of algorithms.Betweenness with this number of sources.
// Each record names its phase, in order, and all phases occur.
func wantPhases(t *testing.T, records []record.Superstep, sources int) {
	t.Helper()
	phase := 1
	for i, s := range records {
		if i > 0 && s.Phase == phase+1 {
			phase++
		}
		want := [...]string{"countPaths", "addDependencies"}[phase%2]
		switch phase {
		case 1:
			want = "origins"
		case 2*sources + 2:
			want = "Betweenness"
		}
		if s.Phase != phase || s.Program != want {
			t.Fatalf("record %d, of superstep %d, is of phase %d, %s, expected %d, %s", i,
				s.Superstep, s.Phase, s.Program, phase, want)
		}
	}
	if phase != 2*sources+2 {
		t.Errorf("the last record is of phase %d, expected %d", phase, 2*sources+2)
	}
}

// TestOnACluster runs plans on a cluster, twice, and wants the same results.
func TestOnACluster(t *testing.T) {
	registered := []pregel.Registered{pregel.Register("halving",
		halving{}), pregel.Register("adding", adding{})}
	programs, wrong := builtin.With(registered)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	c := testcluster.Start(t, 2, master.Config{}, programs...)
	conn, err := cluster.Connect(t.Context(), c.Address, cluster.Options{Programs: registered})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	for _, o := range layouts[1:] {
		here, err := superstep.Load(t.Context(), "kronecker:scale=7", o)
		here = open(t, here, err)
		there, err := conn.Load(t.Context(), "kronecker:scale=7", o)
		there = open(t, there, err)
		for range 2 {
			compare(t, here, there, algorithms.Betweenness{Samples: 5})
			if r, err := superstep.Run(t.Context(), there, algorithms.Betweenness{Samples: 2},
				superstep.Options{KeepTrace: true}); err != nil {
				t.Error(err)
			} else {
				wantPhases(t, r.Trace, 2)
			}
			compare(t, here, there, halving{Start: 40})
			compare(t, here, there, halving{Start: 40}, superstep.Options{MaxSupersteps: 3})
			compare(t, here, there, halving{Start: 40, Odd: true})
		}
		for _, g := range []*superstep.Graph{here, there} {
			goOn(t, g)
		}
	}
}

// goOn runs a plan, and again with the first result as initial values, which doubles it.
func goOn(t *testing.T, g *superstep.Graph) {
	t.Helper()
	first, err := superstep.Run(t.Context(), g, adding{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := superstep.Run(t.Context(), g, adding{},
		superstep.Options{Columns: []superstep.Input{superstep.From(half, first)}})
	if err != nil {
		t.Fatal(err)
	}
	for label, x := range first.All() {
		if twice, _ := second.At(label); x != 3 || twice != 6 {
			t.Fatalf("vertex %d has %d and then %d, expected 3 and 6", label, x, twice)
		}
	}
	third, err := superstep.Run(t.Context(), g, adding{},
		superstep.Options{Columns: []superstep.Input{
			superstep.From(half, func(id uint64) int { x, _ := first.At(id); return x }),
		}})
	if err != nil {
		t.Fatal(err)
	}
	for label, x := range second.All() {
		if same, _ := third.At(label); same != x {
			t.Fatalf("vertex %d has %d from the result and %d from a function, expected the same",
				label, x, same)
		}
	}
}

func compare[V, M any](
	t *testing.T, here, there *superstep.Graph, p pregel.Program[V, M], o ...superstep.Options,
) {
	t.Helper()
	want, err := superstep.Run(t.Context(), here, p, o...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := superstep.Run(t.Context(), there, p, o...)
	if err != nil {
		t.Fatal(err)
	}
	if found.Supersteps != want.Supersteps || found.Ended != want.Ended ||
		found.Messages != want.Messages {
		t.Errorf("%T: %d supersteps, ended %s, %d messages: expected %d, %s, %d", p,
			found.Supersteps, found.Ended, found.Messages,
			want.Supersteps, want.Ended, want.Messages)
	}
	for _, r := range []*superstep.Result[V]{want, found} {
		if len(r.Seconds) != r.Supersteps ||
			slices.ContainsFunc(r.Seconds, func(s float64) bool { return !(s > 0) }) {
			t.Errorf("%T: %d supersteps took %v seconds", p, r.Supersteps, r.Seconds)
		}
	}
	for label, w := range want.All() {
		f, _ := found.At(label)
		if a, ok := any(f).(float64); ok {
			if b := any(w).(float64); math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) {
				continue
			}
		}
		if any(f) != any(w) {
			t.Fatalf("%T: vertex %d has %v, expected %v", p, label, f, w)
		}
	}
}

// halving halves a column once per phase until all values are below 1. Then it adds 100, or 200 if
// Odd.
type halving struct {
	Start int  `param:"start" default:"10"`
	Odd   bool `param:"odd" default:"false"`
}

var (
	half  = pregel.NewVertexColumn[int]("half")
	most  = pregel.MaxOf("most", 0)
	round = pregel.SumOf[int]("round")
)

func (p halving) Plan() pregel.Plan {
	return plan.Sequence(
		plan.Phase(add{p.Start}),
		plan.Repeat(func(r *plan.Round) bool { return most.Value(r) < 1 }, plan.Phase(divide{}),
			plan.Phase(pause{})),
		plan.Choose(func(*plan.Round) bool { return p.Odd },
			plan.Sequence(plan.Phase(add{150}), plan.Phase(add{50})), plan.Phase(add{100})),
	)
}

func (halving) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }
func (halving) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{half}}
}

func (halving) Compute(v *pregel.Vertex[int, int], _ int) {
	v.Set(half.Of(v))
	v.VoteToHalt()
}

// adding adds 3 to the column.
type adding struct{}

func (adding) Plan() pregel.Plan              { return plan.Phase(add{3}) }
func (adding) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }
func (adding) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{half}}
}
func (adding) Compute(v *pregel.Vertex[int, int], _ int) { halving{}.Compute(v, 0) }

type (
	add    struct{ x int }
	divide struct{}
	pause  struct{}
)

func (add) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (add) Traits() pregel.Traits           { return pregel.Traits{Columns: []pregel.Column{half}} }
func (p add) Compute(v *pregel.Vertex[int, bool], _ bool) {
	half.Set(v, half.Of(v)+p.x)
	v.VoteToHalt()
}

func (divide) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }
func (divide) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{half}}
}

func (divide) Compute(v *pregel.Vertex[struct{}, int], _ int) {
	half.Set(v, half.Of(v)/2)
	v.VoteToHalt()
}

// pause only aggregates the maximum.
func (pause) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }

func (pause) Traits() pregel.Traits {
	return pregel.Traits{
		Aggregators: []pregel.Aggregate{most, round},
		Columns:     []pregel.Column{half},
	}
}

func (pause) Compute(v *pregel.Vertex[struct{}, int], _ int) {
	most.Add(v, half.Of(v))
	v.VoteToHalt()
}

func TestRepeatAndChoose(t *testing.T) {
	g, err := superstep.Load(t.Context(), "star:vertices=9", superstep.LoadOptions{Partitions: 2})
	g = open(t, g, err)
	for _, c := range []struct {
		p          halving
		limit      int
		supersteps int
		ended      string
		want       int
	}{
		{halving{40, false}, 0, 1 + 2*6 + 1 + 1, "halted", 100},
		{halving{40, true}, 0, 1 + 2*6 + 2 + 1, "halted", 200},
		{halving{1, false}, 0, 1 + 2*1 + 1 + 1, "halted", 100},
		{halving{40, false}, 5, 5, "limit", 0},
		{halving{40, false}, 15, 15, "halted", 100},
		// the limit leaves no superstep for the program itself
		{halving{40, false}, 14, 14, "limit", 0},
	} {
		for range 2 {
			r, err := superstep.Run(t.Context(), g, c.p, superstep.Options{MaxSupersteps: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			if r.Supersteps != c.supersteps || r.Ended != c.ended || r.Value(3) != c.want {
				t.Errorf("%+v, limit %d: %d supersteps, ended %s, value %d: expected %d, %s, %d",
					c.p, c.limit, r.Supersteps, r.Ended,
					r.Value(3), c.supersteps, c.ended, c.want)
			}
		}
	}
}

// waiting runs a number of supersteps. Then its value is the number of vertices.
type waiting struct {
	Supersteps int `param:"supersteps" default:"3"`
}

var seen = pregel.NewVertexColumn[int]("seen")

func (waiting) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }
func (waiting) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{seen}}
}

func (w waiting) Compute(v *pregel.Vertex[int, int], _ int) {
	if v.Superstep() == w.Supersteps-1 {
		seen.Set(v, 10*seen.Of(v)+int(v.NumVertices()))
		v.Set(seen.Of(v))
		v.VoteToHalt()
	}
}

// planned is a program with any plan.
type planned struct {
	waiting
	plan pregel.Plan
}

func (p planned) Plan() pregel.Plan { return p.plan }

// TestLimitWithinALaterPhase: the limit of supersteps applies to all phases together.
func TestLimitWithinALaterPhase(t *testing.T) {
	g, err := superstep.Load(t.Context(), "star:vertices=9", superstep.LoadOptions{Partitions: 2})
	g = open(t, g, err)
	p := planned{waiting{3}, plan.Sequence(plan.Phase(waiting{4}), plan.Phase(waiting{4}))}
	for limit := 1; limit < 13; limit++ {
		r, err := superstep.Run(t.Context(), g, p, superstep.Options{MaxSupersteps: limit})
		if err != nil || r.Supersteps != min(limit, 11) || (r.Ended == "limit") != (limit < 11) {
			t.Errorf("limit %d: found %+v, %v", limit, r, err)
		}
	}
}

// removing removes vertex 3. reviving creates it again with a message. Both change nothing else.
type (
	removing struct{ waiting }
	reviving struct{ waiting }
)

func (removing) Traits() pregel.Traits {
	return pregel.Traits{Mutates: true, Columns: []pregel.Column{seen}}
}

func (reviving) Traits() pregel.Traits {
	return pregel.Traits{Mutates: true, CreateOnMessage: true, Columns: []pregel.Column{seen}}
}

func (removing) Compute(v *pregel.Vertex[int, int], _ int) {
	if v.ID() == 3 {
		v.Change().RemoveVertex(3)
	}
	v.VoteToHalt()
}

func (reviving) Compute(v *pregel.Vertex[int, int], _ int) {
	if v.ID() == 1 && v.Superstep() == 0 {
		v.Send(3, 1)
	}
	v.VoteToHalt()
}

// telling records the number of vertices in its Coordinator at the beginning.
type telling struct {
	waiting
	numbers *[]uint64
}

func (p telling) Coordinate(c *pregel.Coordinator) {
	if c.Superstep == 0 {
		*p.numbers = append(*p.numbers, c.NumVertices)
	}
}

// TestPhasesAfterVerticesThatMessagesMake: later phases run vertices that a message created, also
// in a second run.
func TestPhasesAfterVerticesThatMessagesMake(t *testing.T) {
	for _, o := range layouts {
		g, err := superstep.Load(t.Context(), "star:vertices=9", o)
		g = open(t, g, err)
		var numbers []uint64
		count := plan.Phase(telling{waiting{1}, &numbers})
		p := planned{waiting{1}, plan.Repeat(
			func(r *plan.Round) bool { return r.Number == 1 },
			count, plan.Phase(removing{}), count, plan.Phase(reviving{}),
		)}
		for range 2 {
			numbers = nil
			r, err := superstep.Run(t.Context(), g, p)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(numbers, []uint64{9, 8, 9, 8}) {
				t.Errorf("%+v: Coordinate found %v vertices, expected 9, 8, 9 and 8", o, numbers)
			}
			if r.Value(1) != 98989 || r.Value(3) != 9 || len(maps.Collect(r.All())) != 9 {
				t.Errorf("%+v: found %d and %d of %d vertices, expected 98989 and 9 of 9", o,
					r.Value(1), r.Value(3), len(maps.Collect(r.All())))
			}
		}
	}
}
