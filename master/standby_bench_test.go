package master

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// BenchmarkRecords submits and cancels jobs. Each is recorded before the answer: in a database, and
// in a place that masters share ($PLACE, or a directory).
func BenchmarkRecords(b *testing.B) {
	for _, shared := range []bool{false, true} {
		for _, clients := range []int{1, 32} {
			b.Run(fmt.Sprintf("shared=%v/clients=%d", shared, clients), func(b *testing.B) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				o := Config{Master: daemon.Master{Process: daemon.Process{Token: control.RandomToken()}, Listener: l}}
				o.Data = b.TempDir()
				if shared {
					o.Standby, o.Checkpoints = true, cmp.Or(os.Getenv("PLACE"), b.TempDir())
				}
				ctx, end := context.WithCancel(b.Context())
				ready, ended := make(chan bool), make(chan error, 1)
				o.Ready = func(string) { close(ready) }
				go func() { ended <- o.Run(ctx) }()
				<-ready
				conn, err := control.Connect(l.Addr().String(), control.Credentials{Token: o.Token},
					nil)
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				one := func() {
					j, err := conn.Cluster.SubmitJob(ctx,
						&control.SubmitJobRequest{SpecJson: jobspec.Text(&jobspec.Spec{Program: "wcc", Source: &jobspec.Source{Input: "path:vertices=3"}})})
					if err == nil {
						_, err = conn.Cluster.CancelJob(ctx,
							&control.CancelJobRequest{Id: j.Id})
					}
					if err != nil {
						b.Error(err)
					}
				}
				one()
				b.ResetTimer()
				var left atomic.Int64
				left.Store(int64(b.N))
				done := make(chan bool)
				for range clients {
					go func() {
						for left.Add(-1) >= 0 {
							one()
						}
						done <- true
					}()
				}
				for range clients {
					<-done
				}
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
				end()
				if err := <-ended; err != nil {
					b.Error(err)
				}
			})
		}
	}
}
