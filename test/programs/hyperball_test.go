package programs_test

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// HyperBall estimates how many vertices can be reached from each one, and its harmonic centrality, the sum of 1/distance over them (Boldi,
// Vigna 2013). The vertices within t edges are a HyperLogLog counter: the union of those within t-1 of the out-neighbours.
type HyperBall struct{}

// Counter is a HyperLogLog counter (Flajolet et al. 2007): each element sets one register to the place of the first one in its hash, if
// it is not greater already. The standard error is 1.04/sqrt(64), 13%.
type Counter [64]uint8

// Ball is what HyperBall finds about a vertex.
type Ball struct {
	Reached  Counter
	Harmonic float64
}

func (HyperBall) Combiner() pregel.Combiner[Counter] { return combiners.Func(Counter{}, union) }
func (HyperBall) Direction() pregel.Direction        { return pregel.In }

func (HyperBall) Compute(v *pregel.Vertex[Ball, Counter], m Counter) {
	if v.Superstep() == 0 {
		m.add(v.Label())
	}
	ball := v.Ref()
	if all := union(ball.Reached, m); all != ball.Reached {
		if v.Superstep() > 0 {
			ball.Harmonic += (all.size() - ball.Reached.size()) / float64(v.Superstep())
		}
		ball.Reached = all
		v.SendToAllNeighbors(all)
	}
	v.VoteToHalt()
}

func union(a, b Counter) Counter {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
	return a
}

// add adds an element, whose hash is the mix of SplitMix64.
func (c *Counter) add(x uint64) {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	c[x%64] = max(c[x%64], uint8(bits.LeadingZeros64(x))+1)
}

// size estimates how many different elements were added.
func (c Counter) size() float64 {
	sum, empty := 0.0, 0
	for _, r := range c {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			empty++
		}
	}
	if n := 0.709 * 64 * 64 / sum; n > 2.5*64 || empty == 0 {
		return n
	}
	return 64 * math.Log(64/float64(empty)) // linear counting, which is better for few
}

// hyperBallTwin is HyperBall of the vertices 0 to n-1, by the lists of arcs, one distance after the other.
func hyperBallTwin(arcs [][]int) []Ball {
	balls := make([]Ball, len(arcs))
	for v := range balls {
		balls[v].Reached.add(uint64(v))
	}
	for distance, moved := 1.0, true; moved; distance++ {
		moved = false
		next := slices.Clone(balls)
		for u, list := range arcs {
			b := &next[u]
			for _, v := range list {
				for i, r := range balls[v].Reached {
					b.Reached[i] = max(b.Reached[i], r)
				}
			}
			if b.Reached != balls[u].Reached {
				b.Harmonic += (b.Reached.size() - balls[u].Reached.size()) / distance
				moved = true
			}
		}
		balls = next
	}
	return balls
}

// reach counts by a breadth-first search from a vertex what HyperBall estimates.
func reach(arcs [][]int, from int) (reached, harmonic float64) {
	distance := map[int]int{from: 0}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, v := range arcs[queue[0]] {
			if _, seen := distance[v]; !seen {
				distance[v] = distance[queue[0]] + 1
				harmonic += 1 / float64(distance[v])
				queue = append(queue, v)
			}
		}
	}
	return float64(len(distance)), harmonic
}

func TestHyperBall(t *testing.T) {
	for name, g := range pregeltest.Graphs(t, 9) {
		arcs := arcsOf(t, g)
		got := pregeltest.Values(pregeltest.Matrix(t, g, HyperBall{}))
		if want := hyperBallTwin(arcs); !slices.Equal(got, want) {
			t.Errorf("%s: %v, expected %v", name, got, want)
		}
		for v, ball := range got {
			reached, harmonic := reach(arcs, v)
			if size := ball.Reached.size(); math.Abs(size-reached) > 1+0.4*reached || math.Abs(ball.Harmonic-harmonic) > 1+0.4*harmonic {
				t.Errorf("%s: from vertex %d about %.1f are reached, harmonic centrality %.1f, expected about %.0f and %.1f",
					name, v, size, ball.Harmonic, reached, harmonic)
			}
		}
	}
	pregeltest.CheckCombiner(t, HyperBall{}.Combiner(), Counter{1}, Counter{0, 9}, Counter{3, 2}, Counter{63: 5})
	here, there := programtest.Load(t, cluster(t), "kronecker:scale=7")
	programtest.Same(t, here, there, HyperBall{}, superstep.Options{})
}
