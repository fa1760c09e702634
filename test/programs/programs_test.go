// Package programs_test has vertex programs as users write them. Each is compared with a simple
// computation, in every way that a program can be run, and on a cluster.
package programs_test

import (
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/cluster"
	_ "github.com/superstep-go/superstep/internal/laxgc"
	"github.com/superstep-go/superstep/internal/programtest"
	"github.com/superstep-go/superstep/pregel"
)

type id = pregel.VertexID

// all returns the programs.
func all() []pregel.Registered {
	return []pregel.Registered{
		pregel.Register("walk", Walk{}),
		pregel.Register("widest", Widest{}),
		pregel.Register("contract", pregel.List(Contract{})), pregel.Register("prune", Prune{}),
		pregel.Register("shadow", Shadow{}),
		pregel.Register("few-degrees", Degrees{}),
	}
}

// connect returns a connection to a cluster of two workers with the programs.
func connect(t *testing.T) *cluster.Connection { return programtest.Cluster(t, 2, all()...) }

// edges is a program whose values are the vertices' out-edges.
type edges struct{}

type edge struct {
	To     id
	Weight float64
}

func (edges) Compute(v *pregel.Vertex[[]edge, bool], _ []bool) {
	for e := range v.OutEdges() {
		*v.Ref() = append(*v.Ref(), edge{e.To, e.Weight})
	}
	v.VoteToHalt()
}

// edgesOf returns the out-edges of each vertex, including parallel ones.
func edgesOf(t *testing.T, g *superstep.Graph) [][]edge {
	t.Helper()
	res, err := superstep.Run(t.Context(), g, pregel.List(edges{}))
	if err != nil {
		t.Fatal(err)
	}
	all := make([][]edge, g.NumVertices())
	for u := range all {
		all[u] = res.Value(id(u))
	}
	return all
}
