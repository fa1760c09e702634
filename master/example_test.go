package master_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/worker"
)

// Hops counts the fewest edges from a source to every vertex.
type Hops struct {
	Source pregel.VertexID `param:"source"`
}

func (Hops) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }

func (p Hops) Init(v *pregel.Vertex[int64, int64]) {
	v.Set(math.MaxInt64)
	v.VoteToHalt()
	if v.ID() == p.Source {
		p.Compute(v, 0)
	}
}

func (Hops) Compute(v *pregel.Vertex[int64, int64], hops int64) {
	if hops < v.Value() {
		v.Set(hops)
		v.SendToAllNeighbors(hops + 1)
	}
	v.VoteToHalt()
}

// This example runs a cluster of a master and two workers in one process, with its own program.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(context.Background())
	var cluster sync.WaitGroup
	defer cluster.Wait()
	defer stop()
	start := func(run func() error) {
		cluster.Go(func() {
			if err := run(); err != nil {
				fmt.Println(err)
				stop()
			}
		})
	}
	programs := []pregel.Registered{pregel.Register("hops", Hops{})}
	ready := make(chan string, 3)
	isReady := func(address string) { ready <- address }
	await := func() string {
		select {
		case address := <-ready:
			return address
		case <-ctx.Done():
			return ""
		}
	}
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
	if err := hops(ctx, address, programs); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0: 1
	// 1: 0
	// 2: 1
	// 3: 2
}

// hops runs the program on the cluster.
func hops(ctx context.Context, address string, programs []pregel.Registered) error {
	connection, err := cluster.Connect(ctx, address, cluster.Options{Programs: programs})
	if err != nil {
		return err
	}
	defer connection.Close()
	g, err := connection.Load(ctx, "path:vertices=4")
	if err != nil {
		return err
	}
	defer g.Close()
	source, _ := g.Vertex(1)
	r, err := superstep.Run(ctx, g, Hops{Source: source})
	if err != nil {
		return err
	}
	for label := range uint64(4) {
		n, _ := r.At(label)
		fmt.Printf("%d: %d\n", label, n)
	}
	return nil
}
