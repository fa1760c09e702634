// Package programs_test has vertex programs as users write them, each against a plain computation of the same, in every way that a
// program can be run, and on a cluster.
package programs_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/testcluster"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// all are the programs.
func all() []pregel.Registered {
	return []pregel.Registered{
		superstep.Register("walk", Walk{}), superstep.Register("rank", Rank{}), superstep.Register("core", Core{}),
		superstep.Register("clustering", pregel.List(Clustering{})), superstep.Register("triangles", pregel.List(Triangles{})),
		superstep.Register("communities", pregel.List(Communities{})),
		superstep.Register("hits", HITS{}), superstep.Register("hyperball", HyperBall{}),
		superstep.Register("cg", CG{}), superstep.Register("wave", Wave{}), superstep.Register("forest", Forest{}),
	}
}

// cluster returns a connection to a cluster of two workers that has the programs.
func cluster(t *testing.T) *superstep.Connection {
	t.Helper()
	programs, refused := builtin.With(all())
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	c := testcluster.Start(t, 2, master.Config{}, programs...)
	conn, err := superstep.Connect(t.Context(), c.Address, superstep.ConnectOptions{Programs: all()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// load loads a graph here, of one partition, and on a cluster, of three.
func load(t *testing.T, conn *superstep.Connection, name string, options ...superstep.LoadOptions) (here, there *superstep.Graph) {
	t.Helper()
	here, err := superstep.Load(t.Context(), name, options...)
	if err == nil {
		t.Cleanup(here.Close)
		o := append(options, superstep.LoadOptions{})[0]
		o.Partitions = 3
		there, err = conn.Load(t.Context(), name, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(there.Close)
	return here, there
}

// twins runs a program on a graph here and on a cluster: every value must be the same.
func twins[V, M any](t *testing.T, here, there *superstep.Graph, p pregel.Program[V, M], o superstep.Options) *superstep.Result[V] {
	t.Helper()
	var results [2]*superstep.Result[V]
	for i, g := range []*superstep.Graph{here, there} {
		res, err := superstep.Run(t.Context(), g, p, o)
		if err != nil {
			t.Fatal(err)
		}
		results[i] = res
	}
	want, found := results[0], results[1]
	summary := func(r *superstep.Result[V]) string { return fmt.Sprint(r.Supersteps, r.Converged, r.Messages) }
	if summary(found) != summary(want) {
		t.Errorf("%T: supersteps, end and messages are %s, and on the cluster %s", p, summary(want), summary(found))
	}
	for label, v := range want.All() {
		if w, ok := found.At(label); !ok || !reflect.DeepEqual(v, w) {
			t.Fatalf("%T: the value of vertex %d is %v, and on the cluster %v", p, label, v, w)
		}
	}
	return want
}

// edges is a program whose values are the vertices' out-edges.
type edges struct{}

type edge struct {
	To     id
	Weight float64
}

func (e edge) compare(other edge) int { return cmp.Compare(e.To, other.To) }

func (edges) Compute(v *pregel.Vertex[[]edge, bool], _ []bool) {
	for e := range v.OutEdges() {
		*v.Ref() = append(*v.Ref(), edge{e.To, e.Weight})
	}
	v.VoteToHalt()
}

// edgesOf returns the out-edges of each vertex of a graph, parallel ones each.
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

// arcsOf returns the out-neighbours of each vertex of a graph of the vertices 0, 1, 2 and so on, by their input ids, parallel edges each.
func arcsOf(t *testing.T, g *superstep.Graph) [][]int {
	t.Helper()
	arcs := make([][]int, g.NumVertices())
	for u, list := range edgesOf(t, g) {
		label := g.Label(id(u))
		for _, e := range list {
			arcs[label] = append(arcs[label], int(g.Label(e.To)))
		}
		slices.Sort(arcs[label])
	}
	return arcs
}
