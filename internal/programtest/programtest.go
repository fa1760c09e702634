// Package programtest runs vertex programs in the test's process and on a cluster of workers there,
// and compares the results. It is for tests of programs.
package programtest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/testcluster"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// Cluster returns a connection to a cluster of workers with the built-in programs and others. The
// cluster ends with the test.
func Cluster(t testing.TB, workers int, others ...pregel.Registered) *cluster.Connection {
	t.Helper()
	programs, refused := builtin.With(others)
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	c := testcluster.Start(t, workers, master.Config{}, programs...)
	conn, err := cluster.Connect(t.Context(), c.Address, cluster.Options{Programs: others})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// Load loads a graph in this process, in one partition, and on a cluster, by default in five
// partitions, so that workers have different numbers of them. Both are closed when the test ends.
func Load(
	t testing.TB, conn *cluster.Connection, name string, options ...superstep.LoadOptions,
) (here, there *superstep.Graph) {
	t.Helper()
	o := append(options, superstep.LoadOptions{})[0]
	far := o
	if far.Partitions == 0 && far.Grid == (superstep.Grid{}) {
		far.Partitions = 5
	}
	o.Partitions, o.Grid = 1, superstep.Grid{}
	here, err := superstep.Load(t.Context(), name, o)
	if err == nil {
		t.Cleanup(here.Close)
		there, err = conn.Load(t.Context(), name, far)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(there.Close)
	return here, there
}

// Same runs a program on a graph here and on a cluster, and returns the result here. The numbers of
// supersteps and messages, and the records of changes of the graph, must be equal. Values must be
// equal by reflect.DeepEqual, or by same, for example if floats are added in another order.
func Same[V, M any](
	t testing.TB, here, there *superstep.Graph, p pregel.Program[V, M], o superstep.Options,
	same ...func(a, b V) bool,
) *superstep.Result[V] {
	t.Helper()
	var results [2]*superstep.Result[V]
	o.KeepTrace = true
	for i, g := range []*superstep.Graph{here, there} {
		res, err := superstep.Run(t.Context(), g, p, o)
		if err != nil {
			t.Fatal(err)
		}
		results[i] = res
	}
	want, found := results[0], results[1]
	equal := func(a, b V) bool { return reflect.DeepEqual(a, b) }
	if len(same) > 0 {
		equal = same[0]
	} else if w, f := summary(want), summary(found); w != f {
		t.Errorf("%T: what the result tells of the run is %s, and on the cluster %s", p, w, f)
	}
	for label, v := range want.All() {
		if w, ok := found.At(label); !ok || !equal(v, w) {
			t.Fatalf("%T: the value of vertex %d is %v, and on the cluster %v", p, label, v, w)
		}
	}
	for label := range found.All() {
		if _, ok := want.At(label); !ok {
			t.Fatalf("%T: there is a vertex %d on the cluster alone", p, label)
		}
	}
	return want
}

// summary returns the parts of a result, and its records of changes of the graph, that do not
// depend on where the run was.
func summary[V any](r *superstep.Result[V]) string {
	text := fmt.Sprint(r.Supersteps, r.Converged, r.Messages, r.NumVertices, r.NumEdges)
	for _, s := range r.Trace {
		requests := 0
		for _, p := range s.Partitions {
			requests += p.Requests
		}
		text += fmt.Sprint("; ", requests)
		if s.Graph != nil {
			text += fmt.Sprint(" ", *s.Graph)
		}
	}
	return text
}
