package engine_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// TestWeightsTooLargeForPaths: a program of shortest paths refuses a graph in which a path may be
// longer than the largest float, in every grid, because infinity means that there is no path. Half
// the largest float, divided among the vertices, is accepted.
func TestWeightsTooLargeForPaths(t *testing.T) {
	for i, way := range aFew(6, inGrids()) {
		for _, most := range []float64{math.MaxFloat64, math.MaxFloat32} {
			s := on(t, "0>1:1 1>2:1 2>3:1 0>3:1").shape
			kind, name := edges.Float64, "float64, 1.8e+308"
			if most == math.MaxFloat32 {
				kind, name = edges.Float32, "float32, 3.4e+38"
			}
			run := func(weight float64) error {
				s.weights[i%3] = weight
				g := s.loadAs(t, way, kind)
				source := pregel.VertexID(g.IDs[0])
				var got []float64
				var err error
				if kind == edges.Float64 {
					got, _, err = tryRun(t, g, algorithms.SSSP[float64]{Source: source}, way)
				} else {
					var hops []algorithms.Hop[float32]
					hops, _, err = tryRun(t, g, algorithms.SSSPTree[float32]{Source: source}, way)
					for _, hop := range hops {
						got = append(got, float64(hop.Dist))
					}
				}
				if err == nil && (math.IsInf(got[1+i%3], 1) || got[3] != 1) {
					t.Errorf("%v, weight %g: distances %v", way, weight, got)
				}
				return err
			}
			check(t, run(math.Ldexp(1, math.Ilogb(most)-3)))
			heavy := math.Ldexp(1, math.Ilogb(most)-2)
			text := fmt.Sprint(heavy)
			if kind == edges.Float32 {
				text = fmt.Sprint(float32(heavy))
			}
			want := fmt.Sprintf("an edge has weight %s: a path over 4 vertices might be longer "+
				"than the largest %s", text, name)
			if err := run(heavy); err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v: found %v, expected %s", way, err, want)
			}
		}
	}
}

// lengthening adds an edge that is too heavy for paths. It finds shortest paths itself.
type lengthening struct{}

func (lengthening) Combiner() pregel.Combiner[float64] { return combiners.MinPlus[float64]() }
func (lengthening) Traits() pregel.Traits {
	return pregel.Traits{Monotone: true, Mutates: true}
}

func (lengthening) Report() pregel.Report[float64] {
	return pregel.Report[float64]{Reached: func(d float64) bool { return d > 0 }}
}

func (lengthening) Compute(v *pregel.Vertex[float64, float64], _ float64) {
	if v.Superstep() == 0 && v.ID() == 0 {
		v.Change().AddEdge(v.ID(), 1, 1e308)
	}
	if v.Superstep() > 0 {
		v.VoteToHalt()
	}
}

// unpathed is lengthening without paths.
type unpathed struct{ lengthening }

func (unpathed) Report() pregel.Report[float64] { return pregel.Report[float64]{} }

// planned is a program that runs after another one.
type planned struct {
	algorithms.SSSP[float64]
	first pregel.Plan
}

func (p planned) Plan() pregel.Plan { return p.first }

// TestWeightsBecomeTooLargeForPaths: the same holds for weights that the program or an earlier
// phase adds.
func TestWeightsBecomeTooLargeForPaths(t *testing.T) {
	s := on(t, "0>1:1 1>2:1")
	const text = "an edge has weight 1e+308: a path over 3 vertices might be longer than the largest float64, 1.8e+308"
	for _, parts := range []int{1, 2} {
		wantError(t, s, pregel.Program[float64, float64](lengthening{}), parts, text)
		wantError(t, s, pregel.Program[float64, float64](planned{first: plan.Phase(unpathed{})}),
			parts, "planned: ", text)
	}
}
