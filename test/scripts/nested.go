package scripts

import (
	"math"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Clusters, Paths and Circles have values that are nested lists, lists, and structs with lists.
type (
	Clusters struct{}
	Paths    struct{}
	Circles  struct{}
)

type cluster struct {
	Members []pregel.VertexID
	Score   float64
	Label   string
}

func (Clusters) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (Clusters) Compute(v *pregel.Vertex[[]cluster, int64], _ int64) {
	next := ^pregel.VertexID(0) // no vertex
	for e := range v.Edges() {
		next = e.To
	}
	v.Set([]cluster{{[]pregel.VertexID{v.ID(), next}, 0.5, "a b"}, {nil, math.Inf(1), `"`}})
	v.VoteToHalt()
}

func (Paths) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (Paths) Compute(v *pregel.Vertex[[]pregel.VertexID, int64], _ int64) {
	path := []pregel.VertexID{v.ID()}
	for e := range v.Edges() {
		path = append(path, e.To)
	}
	v.Set(path)
	v.VoteToHalt()
}

type circle struct {
	Friends []pregel.VertexID
	Center  [2]float32
	Score   int
	Best    pregel.VertexID
}

func (Circles) Combiner() pregel.Combiner[int64] { return combiners.Sum[int64]() }

func (Circles) Compute(v *pregel.Vertex[circle, int64], _ int64) {
	v.Set(circle{[]pregel.VertexID{v.ID()}, [2]float32{1.5, 2}, 7, v.ID()})
	v.VoteToHalt()
}

// Leads returns the leader of each vertex, as given in a file.
type Leads struct{}

var leader = pregel.NewVertexColumn[pregel.VertexID]("leader")

func (Leads) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{leader}}
}
func (Leads) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (Leads) Report() pregel.Report[pregel.VertexID] {
	return pregel.Report[pregel.VertexID]{
		Group: func(l pregel.VertexID) pregel.VertexID { return l },
	}
}

func (Leads) Compute(v *pregel.Vertex[pregel.VertexID, bool], _ bool) {
	v.Set(leader.Of(v))
	v.VoteToHalt()
}
