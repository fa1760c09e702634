package programs_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/pregel/pregeltest"
)

// Walk sends a walker from every vertex. In each step it moves to a random neighbour. A vertex's
// value is the number of walkers at the end. A walker at a vertex without edges stays.
type Walk struct {
	Steps int `param:"steps" default:"10" help:"steps of each walker"`
}

func (Walk) Combiner() pregel.Combiner[uint32] { return combiners.Sum[uint32]() }

func (p Walk) Init(v *pregel.Vertex[uint32, uint32]) { p.Compute(v, 1) }

func (p Walk) Compute(v *pregel.Vertex[uint32, uint32], walkers uint32) {
	v.VoteToHalt()
	degree := v.OutDegree()
	if v.Superstep() == p.Steps || degree == 0 {
		v.Set(v.Value() + walkers)
		return
	}
	for r := v.Rand(); walkers > 0; walkers-- {
		v.SendAlongEdge(r.IntN(degree), 1)
	}
}

func TestWalk(t *testing.T) {
	conn := connect(t)
	for _, name := range []string{"kronecker:scale=8", "star:vertices=70", "uniform:vertices=500,degree=5"} {
		here, there := programtest.Load(t, conn, name)
		walkers, ends := func(o superstep.Options) (sum uint64, ends []uint32) {
			for label, n := range programtest.Same(t, here, there, Walk{Steps: 7}, o).All() {
				sum, ends = sum+uint64(n), append(ends, uint32(label), n)
			}
			return sum, ends
		}, map[string]bool{}
		for seed := range uint64(3) {
			sum, at := walkers(superstep.Options{Seed: seed})
			if sum != uint64(here.NumVertices()) {
				t.Errorf("%s, seed %d: %d walkers of %d vertices", name, seed, sum,
					here.NumVertices())
			}
			ends[fmt.Sprint(at)] = true
		}
		if len(ends) != 3 {
			t.Errorf("%s: walks of 3 seeds end in %d ways", name, len(ends))
		}
		pregeltest.Matrix(t, here, Walk{Steps: 7})
	}
}

// TestWalkersSpreadByDegree: after many steps, the share of walkers at a vertex is its share of the
// edges.
func TestWalkersSpreadByDegree(t *testing.T) {
	// vertices 0..19 are joined to each other and to themselves; each leaf is joined to one of them
	const hub, leaves = 20, 200
	var list []superstep.Edge
	for u := range uint64(hub) {
		for v := range u + 1 {
			list = append(list, superstep.Edge{From: u, To: v})
		}
	}
	for i := range uint64(leaves) {
		list = append(list, superstep.Edge{From: hub + i, To: i * i % hub})
	}
	degrees := map[uint64]int{}
	arcs := 0
	for _, e := range list {
		degrees[e.From]++
		if arcs++; e.From != e.To {
			degrees[e.To]++
			arcs++
		}
	}
	g := pregeltest.FromEdges(t, list, superstep.LoadOptions{Undirected: true})
	counts := map[uint64]float64{}
	const runs = 40
	for seed := range uint64(runs) {
		res, err := superstep.Run(t.Context(), g, Walk{Steps: 60}, superstep.Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for label, n := range res.All() {
			counts[label] += float64(n)
		}
	}
	for label := range uint64(hub) {
		mean := float64(runs*(hub+leaves)*degrees[label]) / float64(arcs)
		if d := counts[label] - mean; math.Abs(d) > 6*math.Sqrt(mean) {
			t.Errorf("vertex %d of degree %d has %g walkers, expected about %.0f", label,
				degrees[label], counts[label], mean)
		}
	}
}

// BenchmarkWalk walks from every vertex of a Kronecker graph of scale 18 on two threads. It reports
// the time per step of a walker.
func BenchmarkWalk(b *testing.B) {
	for _, partitions := range []int{1, 2} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			g, err := superstep.Load(b.Context(), "kronecker:scale=18",
				superstep.LoadOptions{Partitions: partitions})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			steps, seconds := 0, 0.0
			for b.Loop() {
				res, err := superstep.Run(b.Context(), g, Walk{Steps: 20},
					superstep.Options{Threads: 2})
				if err != nil {
					b.Fatal(err)
				}
				steps += res.Messages
				for _, s := range res.Seconds {
					seconds += s
				}
			}
			b.ReportMetric(seconds/float64(steps)*1e9, "ns/step")
		})
	}
}
