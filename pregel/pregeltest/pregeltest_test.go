package pregeltest

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// recorder is a testing.TB that records a failure.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Helper() {}
func (r *recorder) Fatalf(format string, args ...any) {
	r.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure returns the failure message of f, or "".
func failure(t *testing.T, f func(t testing.TB)) string {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.text
}

func wantFailure(t *testing.T, text string, f func(t testing.TB)) {
	t.Helper()
	if got := failure(t, f); !strings.Contains(got, text) {
		t.Errorf("the failure is %q, want %q", got, text)
	}
}

// degrees collects the weights of out-edges, the number of vertices, and the sum of the weights of
// in-edges.
type degrees struct{}

func (degrees) Combiner() pregel.Combiner[float64] { return combiners.SumTimes[float64]() }
func (degrees) Compute(v *pregel.Vertex[[]float64, float64], sum float64) {
	if v.Superstep() == 1 {
		v.Set(append(v.Value(), sum))
		v.VoteToHalt()
		return
	}
	var weights []float64
	for e := range v.Edges() {
		weights = append(weights, e.Weight)
	}
	slices.Sort(weights)
	v.Set(append(weights, float64(v.NumVertices())))
	v.SendToAllNeighbors(1)
}

func TestGraphsOfWords(t *testing.T) {
	for words, want := range map[string]string{
		"0-1:2 1-2 7":            "[[2 4 2] [1 2 4 3] [1 4 1] [4 0]]",
		"0>1:2 1-2:3 2>2":        "[[2 3 0] [3 3 5] [1 3 3 4]]",
		"5>3:0.5 5>3:0.25 5>5:0": "[[2 0.75] [0 0.25 0.5 2 0]]",
		"9-9:4":                  "[[4 1 4]]",
		"0:1-1":                  "found \"0:1-1\", expected a vertex, or an edge such as 0-1, 0>1 or 0>1:2.5",
		"1-2-3":                  "found \"1-2-3\"", "x": "found \"x\"", "1:3": "found \"1:3\"",
		"1>y": "found \"1>y\"", "1>2:z": "found \"1>2:z\"",
	} {
		if strings.HasPrefix(want, "found") {
			wantFailure(t, want, func(t testing.TB) { Graph(t, words) })
			continue
		}
		g := Graph(t, words)
		got := Values(Matrix(t, g, degrees{}))
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", words, got, want)
		}
	}
	if g := Graph(t, "0>1 5"); !g.IsDirected() || g.NumVertices() != 3 || g.NumEdges() != 1 {
		t.Error("a graph of one edge and a vertex")
	}
	if g := Graph(t, "0-1",
		superstep.LoadOptions{Directed: true, Partitions: 3}); !g.IsDirected() ||
		g.NumEdges() != 2 || g.Partitions() != 3 {
		t.Error("an edge each way")
	}
	if g := Graph(t, ""); g.NumVertices() != 0 {
		t.Error("an empty graph")
	}
	wantFailure(t, "the graph has no vertex 4", func(tb testing.TB) { ID(tb, Graph(t, "0>1"), 4) })
}

// Each built-in program gives the same result in every way, on every graph.
func TestAlgorithmsInTheMatrix(t *testing.T) {
	reached := func(a, b pregel.VertexID) bool { return (a == pregel.None) == (b == pregel.None) }
	for name, g := range Graphs(t, 1) {
		t.Run(name, func(t *testing.T) {
			Matrix(t, g, algorithms.BFS{Source: 0}, reached)
			if Matrix(t, g, algorithms.WCC{}); g.NumEdges() > 500 {
				Matrix(t, g, algorithms.BFSLevels{Source: 0})
				Matrix(t, g, algorithms.SSSP[float64]{Source: 0})
				Matrix(t, g, algorithms.PageRank{Damping: 0.85, Iterations: 5},
					Within[float64](1e-9))
			}
		})
	}
	g := Graph(t, "0>1:0.5 1>2:0.25", superstep.LoadOptions{Weights: superstep.Float32})
	tree := Matrix(t, g, algorithms.SSSPTree[float32]{Source: ID(t, g, 0)})
	if got := Values(tree)[2]; got.Dist != 0.75 {
		t.Errorf("%+v", got)
	}
}

// parted is a wrong program: its values depend on the partitions.
type parted struct{}

var parts int // number of partitions minus one

func (parted) Combiner() pregel.Combiner[int] { return combiners.Sum[int]() }

func (parted) Validate(g *pregel.GraphInfo) error {
	if g == nil {
		return nil
	}
	parts = g.Partitions - 1
	return nil
}

func (parted) Compute(v *pregel.Vertex[int, int], _ int) {
	v.Set(parts)
	if v.Superstep() == 1 {
		v.VoteToHalt()
	}
}

// hasty is a wrong program: it uses only the first message of a list.
type hasty struct{}

func (hasty) Compute(v *pregel.Vertex[uint64, uint64], messages []uint64) {
	if len(messages) > 0 {
		v.Set(messages[0])
	} else if v.Superstep() == 0 {
		v.SendToAllNeighbors(v.Label())
	}
	v.VoteToHalt()
}

// restless is a wrong program: it runs as many supersteps as there are partitions.
type restless struct{ parted }

func (restless) Compute(v *pregel.Vertex[int, int], _ int) {
	if v.Superstep() > 0 && parts < v.Superstep()+1 {
		v.VoteToHalt()
	}
}

// chatty is a wrong program: it sends as many messages to itself as there are partitions.
type chatty struct{ parted }

func (chatty) Compute(v *pregel.Vertex[int, int], _ int) {
	if v.Superstep() == 1 {
		for range parts {
			v.Send(v.ID(), 1)
		}
	}
	if v.Superstep() > 1 {
		v.VoteToHalt()
	}
}

// broken panics in deterministic runs, which call Compute instead of ComputeBlock.
type broken struct{ parted }

func (broken) Compute(v *pregel.Vertex[int, int], _ int) { panic("Compute is not written") }
func (broken) ComputeBlock(b *pregel.Block[int, int])    { b.Halt |= b.Run }

func TestMatrixFindsWhatDependsOnHowItRuns(t *testing.T) {
	g := Graph(t, "0>3 1>3 2>3 4>3 5>3 3>3")
	wantFailure(t, "pregeltest.parted: the value of vertex ",
		func(t testing.TB) { Matrix(t, g, parted{}) })
	wantFailure(t, "0 with 1 partitions, Options{Threads: 1, Delivery: auto}, and\n1 with 2 partitions", func(t testing.TB) { Matrix(t, g, parted{}) })
	wantFailure(t, "pregeltest.hasty: the value of vertex 3 is", func(tb testing.TB) {
		Matrix(tb, Graph(t, "0>3 1>3 2>3 4>3 5>3"), pregel.List(hasty{}))
	})
	wantFailure(t, "pregeltest.restless: there are 2 supersteps with 1 partitions",
		func(t testing.TB) { Matrix(t, g, restless{}) })
	wantFailure(t, "pregeltest.chatty: there are 0 messages with 1 partitions",
		func(t testing.TB) { Matrix(t, g, chatty{}) })
	wantFailure(t, "Deterministic: true}: program broken, vertex ",
		func(t testing.TB) { Matrix(t, g, broken{}) })
	if text := failure(t, func(t testing.TB) {
		Matrix(t, g, parted{}, func(a, b int) bool { return true })
	}); !strings.Contains(text, "Deterministic: true}, and\n") {
		t.Errorf("values of deterministic runs must be equal: the failure is %q", text)
	}
}

func TestWithin(t *testing.T) {
	same := Within[float64](1e-6)
	for _, c := range []struct {
		a, b float64
		want bool
	}{
		{1, 1 + 1e-7, true},
		{1, 1 + 1e-5, false},
		{1e9, 1e9 + 100, true},
		{math.Inf(1), math.Inf(1), true},
		{math.Inf(1), 1, false},
		{math.NaN(), math.NaN(), true},
		{math.NaN(), 1, false},
		{0, 1e-9, true},
	} {
		if same(c.a, c.b) != c.want || same(c.b, c.a) != c.want {
			t.Errorf("Within(%g, %g) is %t", c.a, c.b, !c.want)
		}
	}
}

func TestCheckCombinerTakesTheRight(t *testing.T) {
	type best struct {
		Score float64
		Names string
	}
	CheckCombiner(t, combiners.Func(best{Score: math.Inf(-1)}, func(a, b best) best {
		if cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Names, b.Names)) >= 0 {
			return a
		}
		return b
	}), best{1, "a"}, best{1, "b"}, best{2, ""}, best{math.Inf(1), "z"})
	CheckCombiner(t, combiners.Func(nil, func(a, b []int) []int {
		all := append(slices.Clone(a), b...)
		if slices.Sort(all); len(all) == 0 {
			return nil
		}
		return slices.Compact(all)
	}), []int{1}, []int{2, 5}, []int{3}, []int{1, 2})
}

func TestCheckCombinerRefusesTheWrong(t *testing.T) {
	numbers := []int{1, 2, 3, 10, -4}
	for text, c := range map[string]pregel.Combiner[int]{
		"Func[int]: not commutative: Combine(": combiners.Func(0,
			func(a, b int) int { return cmp.Or(a, b) }),
		"not associative: ": combiners.Func(0,
			func(a, b int) int { return a + b + a*b*(a-b)*(a-b) }),
		"the identity is not neutral: Combine(-4, 0) is 0": combiners.Func(0,
			func(a, b int) int { return max(a, b) }),
		"by its loops, and to": wrongLoops{combiners.Min[int]()},
		"of no kernel: ":       noLoops{combiners.Min[int]()},
	} {
		wantFailure(t, text, func(t testing.TB) { CheckCombiner(t, c, numbers...) })
	}
	wantFailure(t,
		"combining changes the arguments, which others get too: [1 2] [3] became [3 2] [3]",
		func(t testing.TB) {
			CheckCombiner(t, combiners.Func(nil, func(a, b []int) []int {
				if len(a) == 0 {
					return b
				}
				if len(b) > 0 {
					a[0] = max(a[0], b[0])
				}
				return a
			}), []int{1, 2}, []int{3}, []int{4})
		})
	wantFailure(t, "combining [1] [1] writes behind an argument, where others write too",
		func(t testing.TB) {
			CheckCombiner(t, combiners.Func(nil, func(a, b []int) []int {
				all := append(a, b...)
				slices.Sort(all)
				return all
			}), []int{1}, []int{3}, []int{4})
		})
	wantFailure(t, "not commutative: Combine(1, NaN) is 1, the other way round NaN",
		func(t testing.TB) {
			CheckCombiner(t, combiners.Func(math.Inf(-1), func(a, b float64) float64 {
				if a < b {
					return b
				}
				return a
			}), 1, 2, 3)
		})
	wantFailure(t, "2 values; give three or more",
		func(t testing.TB) { CheckCombiner(t, combiners.Sum[int](), 1, 2) })
}

// wrongLoops has a kernel of another combiner.
type wrongLoops struct{ pregel.Combiner[int] }

func (wrongLoops) Kernel(b kernel.Binding) (kernel.Kernel[int], error) {
	return combiners.Max[int]().Kernel(b)
}

// noLoops has no kernel.
type noLoops struct{ pregel.Combiner[int] }

func (noLoops) Kernel(kernel.Binding) (kernel.Kernel[int], error) {
	return nil, fmt.Errorf("of no kernel: %d", 1)
}

var people = pregel.NewVertexColumn[int64]("people")

// nearby adds the column people of in-neighbours, and a random number.
type nearby struct{}

func (nearby) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }
func (nearby) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{people}}
}

func (nearby) Init(v *pregel.Vertex[[2]int64, int64]) {
	v.Set([2]int64{0, v.Rand().Int64()})
	v.SendToAllNeighbors(people.Of(v))
}

func (nearby) Compute(v *pregel.Vertex[[2]int64, int64], sum int64) {
	v.Set([2]int64{sum, v.Value()[1]})
	v.VoteToHalt()
}

// TestMatrixWithOptions: columns and the seed are passed to every run.
func TestMatrixWithOptions(t *testing.T) {
	g := Graph(t, "0>1 1>2 0>2 5>0")
	random := map[int64]bool{}
	for seed := range uint64(2) {
		res := MatrixWith(t, g, nearby{}, superstep.Options{
			Seed: seed, Columns: []superstep.Input{superstep.From(people, func(id uint64) int64 { return int64(id) + 1 })},
		})
		for i, want := range []int64{6, 1, 3, 0} {
			if got := Values(res)[i]; got[0] != want {
				t.Errorf("vertex %d: found %d, want %d", i, got[0], want)
			}
			random[Values(res)[i][1]] = true
		}
	}
	if len(random) != 8 {
		t.Errorf("two seeds gave %d numbers, want 8", len(random))
	}
}
