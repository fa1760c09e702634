package plan_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/testcluster"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// betweenness is Brandes' algorithm (2001): for each source a search forward, which counts shortest paths, and one backward, which
// adds up dependencies.
type betweenness struct {
	Sources int `param:"sources" default:"3"`
}

var (
	level      = pregel.NewVertexColumn[int32]("level")
	paths      = pregel.NewVertexColumn[float64]("paths")
	centrality = pregel.NewVertexColumn[float64]("centrality")
	deepest    = pregel.MaxOf("deepest", int32(-1)).Persistent()
)

func (p betweenness) Plan() pregel.Plan {
	var all []pregel.Plan
	for s := range p.Sources {
		all = append(all, plan.Phase(forward{pregel.VertexID(s)}), plan.Phase(backward{pregel.VertexID(s)}))
	}
	return plan.Sequence(all...)
}

func (betweenness) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }
func (betweenness) Columns() []pregel.Column           { return []pregel.Column{centrality} }
func (betweenness) Compute(v *pregel.Vertex[float64, float64], _ float64) {
	v.Set(centrality.Of(v))
	v.VoteToHalt()
}

type forward struct{ source pregel.VertexID }

func (forward) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }
func (forward) Columns() []pregel.Column           { return []pregel.Column{level, paths} }

func (p forward) Init(v *pregel.Vertex[struct{}, float64]) {
	level.Set(v, -1)
	paths.Set(v, 0)
	if v.ID() == p.source {
		p.Compute(v, 1)
	}
	v.VoteToHalt()
}

func (forward) Compute(v *pregel.Vertex[struct{}, float64], sum float64) {
	if level.Of(v) < 0 {
		level.Set(v, int32(v.Superstep()))
		paths.Set(v, sum)
		v.SendToAllNeighbors(sum)
	}
	v.VoteToHalt()
}

// backward goes from the deepest level to the source. Messages are (1 + dependency) / paths, against the edges.
type backward struct{ source pregel.VertexID }

func (backward) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }
func (backward) Direction() pregel.Direction        { return pregel.In }
func (backward) Columns() []pregel.Column           { return []pregel.Column{level, paths, centrality} }
func (backward) Aggregators() []pregel.Aggregate    { return []pregel.Aggregate{deepest} }

func (backward) Init(v *pregel.Vertex[struct{}, float64]) {
	if deepest.Add(v, level.Of(v)); level.Of(v) < 0 {
		v.Finish()
	}
}

func (p backward) Compute(v *pregel.Vertex[struct{}, float64], sum float64) {
	if int(level.Of(v)) != int(deepest.Value(v))-v.Superstep()+1 {
		return // not yet
	}
	dependency := sum * paths.Of(v)
	if v.ID() != p.source {
		centrality.Set(v, centrality.Of(v)+dependency)
	}
	v.SendToAllNeighbors((1 + dependency) / paths.Of(v))
	v.Finish()
}

// brandes is the algorithm as in the paper, one source after the other.
func brandes(n, sources int, out [][]int) []float64 {
	all := make([]float64, n)
	for s := range sources {
		sigma, dist, delta := make([]float64, n), make([]int, n), make([]float64, n)
		before := make([][]int, n)
		for v := range dist {
			dist[v] = -1
		}
		sigma[s], dist[s] = 1, 0
		queue := []int{s}
		for i := 0; i < len(queue); i++ {
			v := queue[i]
			for _, w := range out[v] {
				if dist[w] < 0 {
					dist[w] = dist[v] + 1
					queue = append(queue, w)
				}
				if dist[w] == dist[v]+1 {
					sigma[w] += sigma[v]
					before[w] = append(before[w], v)
				}
			}
		}
		for _, w := range slices.Backward(queue) {
			for _, v := range before[w] {
				delta[v] += sigma[v] / sigma[w] * (1 + delta[w])
			}
			if w != s {
				all[w] += delta[w]
			}
		}
	}
	return all
}

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

// edges returns a random directed graph without parallel edges and loops.
func edges(dice *rand.Rand) (list []superstep.Edge) {
	n := 10 + dice.Uint64N(50)
	seen := map[superstep.Edge]bool{}
	for range 3 * n {
		e := superstep.Edge{From: dice.Uint64N(n), To: dice.Uint64N(n)}
		if e.From != e.To && !seen[e] {
			seen[e] = true
			list = append(list, e)
		}
	}
	return list
}

func TestBetweenness(t *testing.T) {
	for seed := range uint64(8) {
		list := edges(rand.New(rand.NewPCG(seed, 5)))
		for _, o := range layouts {
			o.Kind = superstep.Directed
			g, err := superstep.FromEdges(t.Context(), list, o)
			g = open(t, g, err)
			out := make([][]int, g.NumVertices())
			for _, e := range list {
				from, _ := g.Vertex(e.From)
				to, _ := g.Vertex(e.To)
				out[from] = append(out[from], int(to))
			}
			supersteps := 0
			r, err := superstep.Run(t.Context(), g, betweenness{4}, superstep.Options{KeepTrace: true, Progress: func(p superstep.Progress) {
				if p.Superstep != supersteps {
					t.Errorf("superstep %d after %d", p.Superstep, supersteps)
				}
				supersteps++
			}})
			if err != nil {
				t.Fatal(err)
			}
			want := brandes(g.NumVertices(), 4, out)
			for v, x := range want {
				if found := r.Value(pregel.VertexID(v)); math.Abs(found-x) > 1e-9*(1+x) {
					t.Fatalf("seed %d in %v: vertex %d has %g, expected %g", seed, g.Grid(), v, found, x)
				}
			}
			if r.Supersteps != supersteps || len(r.Seconds) != supersteps || !r.Converged {
				t.Errorf("%d supersteps, %d times, converged %t: there were %d", r.Supersteps, len(r.Seconds), r.Converged, supersteps)
			}
			wantPhases(t, r.Trace, 4)
			for i, s := range r.Trace {
				if s.Superstep < i-9 || s.Superstep >= supersteps+1 || i > 0 && s.Superstep < r.Trace[i-1].Superstep {
					t.Errorf("record %d is of superstep %d", i, s.Superstep)
				}
			}
		}
	}
}

// wantPhases wants records of a run of betweenness from so many sources that say of which phase each is, in order, and all of them.
func wantPhases(t *testing.T, records []superstep.SuperstepRecord, sources int) {
	t.Helper()
	phase := 1
	for i, s := range records {
		if i > 0 && s.Phase == phase+1 {
			phase++
		}
		want := [...]string{"backward", "forward"}[phase%2]
		if phase == 2*sources+1 {
			want = "betweenness"
		}
		if s.Phase != phase || s.Program != want {
			t.Fatalf("record %d, of superstep %d, is of phase %d, %s, expected %d, %s", i, s.Superstep, s.Phase, s.Program, phase, want)
		}
	}
	if phase != 2*sources+1 {
		t.Errorf("the last record is of phase %d, expected %d", phase, 2*sources+1)
	}
}

// TestBetweennessOnACluster runs the plan there, twice, and wants the same.
func TestBetweennessOnACluster(t *testing.T) {
	registered := []pregel.Registered{superstep.Register("betweenness", betweenness{}), superstep.Register("halving", halving{})}
	programs, wrong := builtin.With(registered)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	c := testcluster.Start(t, 2, master.Config{}, programs...)
	conn, err := superstep.Connect(t.Context(), c.Address, superstep.ConnectOptions{Programs: registered})
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
			compare(t, here, there, betweenness{5})
			if r, err := superstep.Run(t.Context(), there, betweenness{2}, superstep.Options{KeepTrace: true}); err != nil {
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

// goOn runs betweenness, and once more from what it found, which doubles that.
func goOn(t *testing.T, g *superstep.Graph) {
	t.Helper()
	first, err := superstep.Run(t.Context(), g, betweenness{2})
	if err != nil {
		t.Fatal(err)
	}
	second, err := superstep.Run(t.Context(), g, betweenness{2}, superstep.Options{Columns: []superstep.Input{superstep.From(centrality, first)}})
	if err != nil {
		t.Fatal(err)
	}
	for label, x := range first.All() {
		if twice, _ := second.At(label); math.Abs(twice-2*x) > 1e-9*(1+x) {
			t.Fatalf("vertex %d has %g and then %g, expected twice as much", label, x, twice)
		}
	}
	third, err := superstep.Run(t.Context(), g, betweenness{2}, superstep.Options{Columns: []superstep.Input{
		superstep.From(centrality, func(id uint64) float64 { x, _ := first.At(id); return x }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for label, x := range second.All() {
		if same, _ := third.At(label); math.Abs(same-x) > 1e-9*(1+x) {
			t.Fatalf("vertex %d has %g from the result and %g from a function, expected the same", label, x, same)
		}
	}
}

func compare[V, M any](t *testing.T, here, there *superstep.Graph, p pregel.Program[V, M], o ...superstep.Options) {
	t.Helper()
	want, err := superstep.Run(t.Context(), here, p, o...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := superstep.Run(t.Context(), there, p, o...)
	if err != nil {
		t.Fatal(err)
	}
	if found.Supersteps != want.Supersteps || found.Converged != want.Converged || found.Messages != want.Messages {
		t.Errorf("%T: %d supersteps, converged %t, %d messages: expected %d, %t, %d", p, found.Supersteps, found.Converged, found.Messages,
			want.Supersteps, want.Converged, want.Messages)
	}
	for _, r := range []*superstep.Result[V]{want, found} {
		if len(r.Seconds) != r.Supersteps || slices.ContainsFunc(r.Seconds, func(s float64) bool { return !(s > 0) }) {
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

// halving divides a column by two, in one phase a time, until all are below 1; then it adds 100 or, if odd, 200 to it.
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
		plan.Repeat(func(r *plan.Round) bool { return most.Value(r) < 1 }, plan.Phase(divide{}), plan.Phase(pause{})),
		plan.Choose(func(*plan.Round) bool { return p.Odd }, plan.Phase(add{200}), plan.Phase(add{100})),
	)
}

func (halving) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }
func (halving) Columns() []pregel.Column       { return []pregel.Column{half} }
func (halving) Compute(v *pregel.Vertex[int, int], _ int) {
	v.Set(half.Of(v))
	v.VoteToHalt()
}

type (
	add    struct{ x int }
	divide struct{}
	pause  struct{}
)

func (add) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (add) Columns() []pregel.Column        { return []pregel.Column{half} }
func (p add) Compute(v *pregel.Vertex[int, bool], _ bool) {
	half.Set(v, half.Of(v)+p.x)
	v.VoteToHalt()
}

func (divide) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }
func (divide) Columns() []pregel.Column       { return []pregel.Column{half} }
func (divide) Compute(v *pregel.Vertex[struct{}, int], _ int) {
	half.Set(v, half.Of(v)/2)
	v.VoteToHalt()
}

// pause tells the most.
func (pause) Combiner() pregel.Combiner[int]  { return combiners.Sum[int]() }
func (pause) Columns() []pregel.Column        { return []pregel.Column{half} }
func (pause) Aggregators() []pregel.Aggregate { return []pregel.Aggregate{most, round} }
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
		converged  bool
		want       int
	}{
		{halving{40, false}, 0, 1 + 2*6 + 1 + 1, true, 100},
		{halving{40, true}, 0, 1 + 2*6 + 1 + 1, true, 200},
		{halving{1, false}, 0, 1 + 2*1 + 1 + 1, true, 100},
		{halving{40, false}, 5, 5, false, 0},
		{halving{40, false}, 15, 15, true, 100},
		{halving{40, false}, 14, 14, false, 0}, // the program itself has none left
	} {
		for range 2 {
			r, err := superstep.Run(t.Context(), g, c.p, superstep.Options{MaxSupersteps: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			if r.Supersteps != c.supersteps || r.Converged != c.converged || r.Value(3) != c.want {
				t.Errorf("%+v, limit %d: %d supersteps, converged %t, value %d: expected %d, %t, %d", c.p, c.limit, r.Supersteps, r.Converged,
					r.Value(3), c.supersteps, c.converged, c.want)
			}
		}
	}
}
