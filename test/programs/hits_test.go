package programs_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// HITS finds hubs and authorities (Kleinberg 1999): a good authority is linked by good hubs, and a good hub links good authorities. Both
// have length 1, as vectors over all vertices.
type HITS struct {
	Iterations int `param:"iterations" default:"20"`
}

// Standing is what HITS finds about a vertex.
type Standing struct{ Hub, Authority float64 }

var squares = pregel.SumOf[float64]("squares") // of the scores of the last superstep

func (HITS) Combiner() pregel.Combiner[float64] { return combiners.Sum[float64]() }
func (HITS) Direction() pregel.Direction        { return pregel.Either }
func (HITS) Aggregators() []pregel.Aggregate    { return []pregel.Aggregate{squares} }

func (HITS) Init(v *pregel.Vertex[Standing, float64]) {
	v.Set(Standing{Hub: 1})
	squares.Add(v, 1)
	v.SendAlong(pregel.Out, 1)
}

// Compute divides the scores of the last superstep by their length, known only now, and so the sum of those that came.
func (p HITS) Compute(v *pregel.Vertex[Standing, float64], sum float64) {
	s, length := v.Ref(), math.Sqrt(cmp.Or(squares.Value(v), 1))
	sum /= length
	squares.Add(v, sum*sum)
	switch {
	case v.Superstep() > 2*p.Iterations:
		s.Hub /= length
		v.VoteToHalt()
	case v.Superstep()%2 == 1:
		s.Hub, s.Authority = s.Hub/length, sum
		v.SendAlong(pregel.In, sum)
	default:
		s.Hub, s.Authority = sum, s.Authority/length
		v.SendAlong(pregel.Out, sum)
	}
}

// hitsTwin is HITS of the vertices 0 to n-1, by a matrix of arcs.
func hitsTwin(arcs [][]int, iterations int) []Standing {
	hub, authority := slices.Repeat([]float64{1}, len(arcs)), make([]float64, len(arcs))
	normalize := func(x []float64) {
		length := 0.0
		for _, a := range x {
			length = math.Hypot(length, a)
		}
		for i := range x {
			x[i] /= cmp.Or(length, 1)
		}
	}
	normalize(hub)
	for range iterations {
		clear(authority)
		for u, list := range arcs {
			for _, v := range list {
				authority[v] += hub[u]
			}
		}
		normalize(authority)
		clear(hub)
		for u, list := range arcs {
			for _, v := range list {
				hub[u] += authority[v]
			}
		}
		normalize(hub)
	}
	all := make([]Standing, len(arcs))
	for v := range all {
		all[v] = Standing{hub[v], authority[v]}
	}
	return all
}

func TestHITS(t *testing.T) {
	within := pregeltest.Within[float64](1e-12)
	same := func(a, b Standing) bool { return within(a.Hub, b.Hub) && within(a.Authority, b.Authority) }
	p := HITS{Iterations: 5}
	for name, g := range pregeltest.Graphs(t, 8) {
		want := hitsTwin(arcsOf(t, g), p.Iterations)
		if got := pregeltest.Values(pregeltest.Matrix(t, g, p, same)); !slices.EqualFunc(got, want, same) {
			t.Errorf("%s: %v, expected %v", name, got, want)
		}
	}
	here, there := programtest.Load(t, cluster(t), "kronecker:scale=7")
	programtest.Same(t, here, there, p, superstep.Options{Deterministic: true})
}
