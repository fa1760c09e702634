package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/worker"
)

// cores computes the k-core directly: it removes vertices with too few neighbours until it finds no
// more.
func cores(edges []superstep.Edge, k int64) map[uint64]int64 {
	degree := map[uint64]int64{}
	for _, e := range edges {
		degree[e.From]++
		degree[e.To]++
	}
	for again := true; again; {
		again = false
		for v, d := range degree {
			if d == gone || d >= k {
				continue
			}
			degree[v], again = gone, true
			for _, e := range edges {
				for _, other := range [][2]uint64{{e.From, e.To}, {e.To, e.From}} {
					if other[0] == v && degree[other[1]] != gone {
						degree[other[1]]--
					}
				}
			}
		}
	}
	return degree
}

func TestCores(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var edges []superstep.Edge
		for range random.IntN(300) {
			if u, v := random.Uint64N(60), random.Uint64N(60); u != v {
				edges = append(edges, superstep.Edge{From: u, To: v})
			}
		}
		if len(edges) == 0 {
			continue
		}
		k := random.Int64N(8)
		for _, partitions := range []int{1, 3} {
			g, err := superstep.FromEdges(t.Context(), edges,
				superstep.LoadOptions{Partitions: partitions})
			if err != nil {
				t.Fatal(err)
			}
			res, err := superstep.Run(t.Context(), g, Cores{K: k},
				superstep.Options{Zero: []string{"k"}})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := maps.Collect(res.All()), cores(edges, k); !maps.Equal(got, want) {
				t.Fatalf("k = %d: %v, want %v", k, got, want)
			}
			g.Close()
		}
	}
}

// TestOnACluster runs the program on a master and two workers that this module starts.
func TestOnACluster(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // where the master keeps its token
	ctx, stop := context.WithCancel(t.Context())
	var daemons sync.WaitGroup
	t.Cleanup(func() {
		stop()
		daemons.Wait()
	})
	start := func(run func() error) {
		daemons.Go(func() {
			if err := run(); err != nil {
				t.Error(err)
				stop()
			}
		})
	}
	ready := make(chan string, 3)
	isReady := func(address string) { ready <- address }
	await := func() string {
		select {
		case address := <-ready:
			return address
		case <-ctx.Done():
			t.Fatal("the cluster has ended")
			return ""
		}
	}
	programs := []pregel.Registered{pregel.Register("cores", Cores{})}
	dir := t.TempDir()
	start(func() error {
		return master.Run(ctx,
			master.Options{Listen: "127.0.0.1:0", Data: dir, Programs: programs, Ready: isReady})
	})
	address := await()
	for _, name := range []string{"a", "b"} {
		start(func() error {
			return worker.Run(ctx,
				worker.Options{Name: name, Master: address, Threads: 1, Programs: programs, Ready: isReady})
		})
	}
	await()
	await()
	connection, err := cluster.Connect(ctx, address, cluster.Options{Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	const name = "kronecker:scale=8"
	there, err := connection.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	here, err := superstep.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	results := make([]map[uint64]int64, 2)
	for i, g := range []*superstep.Graph{there, here} {
		r, err := superstep.Run(ctx, g, Cores{K: 4})
		if err != nil {
			t.Fatal(err)
		}
		results[i] = maps.Collect(r.All())
	}
	if len(results[0]) == 0 || !maps.Equal(results[0], results[1]) {
		t.Errorf("on the cluster %v, here %v", results[0], results[1])
	}
}
