package cluster_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/cluster"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/worker"
)

// This example starts a cluster of a master and one worker in this process, and runs a program on
// it.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	var processes sync.WaitGroup
	defer processes.Wait()
	defer stop()
	start := func(run func() error) {
		processes.Go(func() {
			if err := run(); err != nil {
				fmt.Println(err)
				stop()
			}
		})
	}
	ready := make(chan string, 2)
	isReady := func(address string) { ready <- address }
	start(func() error { return master.Run(ctx, master.Options{Listen: "127.0.0.1:0", Ready: isReady}) })
	address := <-ready
	start(func() error {
		return worker.Run(ctx, worker.Options{Master: address, Threads: 1, Ready: isReady})
	})
	<-ready

	conn, err := cluster.Connect(ctx, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	g, err := conn.Load(ctx, "path:vertices=4")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	source, _ := g.Vertex(0)
	res, err := superstep.Run(ctx, g, algorithms.BFSLevels{Source: source})
	if err != nil {
		fmt.Println(err)
		return
	}
	level, _ := res.At(3)
	fmt.Println(level)
	// Output: 3
}
