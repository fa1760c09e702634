package worker_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/worker"
)

// This worker registers with a master, and leaves when its context ends.
func ExampleRun() {
	ctx, stop := context.WithCancel(context.Background())
	var processes sync.WaitGroup
	address, registered := make(chan string, 1), make(chan string, 1)
	processes.Go(func() {
		o := master.Options{Listen: "127.0.0.1:0", Ready: func(at string) { address <- at }}
		if err := master.Run(ctx, o); err != nil {
			fmt.Println(err)
		}
	})
	o := worker.Options{Name: "a", Threads: 1, Ready: func(at string) { registered <- at }}
	o.Master = <-address
	processes.Go(func() {
		if err := worker.Run(ctx, o); err != nil {
			fmt.Println(err)
		}
	})
	<-registered
	fmt.Println("worker a is ready")
	stop()
	processes.Wait()
	// Output: worker a is ready
}
