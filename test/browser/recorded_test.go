package browser

import (
	"fmt"
	"math"
	"testing"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/record"
)

// recorded returns a running run with this number of supersteps and partitions. The frontier grows
// and shrinks in waves, and some partitions are slower than others.
func recorded(t *testing.T, supersteps, partitions int) *web.Local {
	t.Helper()
	l := web.NewLocal(web.About{Kind: "run", Name: fmt.Sprintf("a run of %d supersteps in %d partitions", supersteps, partitions), Version: "test"}, 2)
	must(t,
		l.Record(&trace.Job{Job: "long", Program: "waves", Graph: "g", Vertices: 1 << 30, Arcs: 1 << 34, Partitions: partitions, Threads: 2, Delivery: "auto"}))
	steps(l, "long", 0, supersteps, partitions)
	return l
}

// steps records the supersteps in the range [from, until).
func steps(to trace.Journal, job string, from, until, partitions int) {
	r := record.Superstep{Job: job, Partitions: make([]record.Partition, partitions)}
	for superstep := from; superstep < until; superstep++ {
		wave := (1 + math.Sin(float64(superstep)/17)) / 2 // fraction of vertices that send
		senders := 1 + int(wave*wave*1e6)
		push, pull := float64(senders)*2e-8, 2e-3+float64(1e6-senders)*4e-9
		r.Superstep, r.Predicted = superstep, map[string]float64{"naive": push, "pull": pull}
		r.Scheme, r.Delivery, r.Actual = "naive", "push", push*1.1
		if pull < push {
			r.Scheme, r.Delivery, r.Actual = "pull", "pull", pull*1.2
		}
		r.Reason = fmt.Sprintf("%s predicted %.1f µs: %d senders", r.Scheme, r.Actual*1e6, senders)
		total := r.Actual * 2
		for p := range partitions {
			x := &r.Partitions[p]
			x.Partition = p
			busy := r.Actual * (.6 + .4*math.Abs(math.Sin(float64(p*7+superstep))))
			if p == 3 {
				busy = r.Actual * 1.8
			}
			x.Computed, x.Delivered, x.Walked, x.Messages, x.Sent, x.Bytes = senders, senders,
				16*senders, 16*senders, senders/2, 0
			x.Times = record.Seconds{Expand: busy * .1, Traverse: busy * .6, Fold: busy * .1, Compute: busy * .2, Wait: total - busy, Total: total}
			x.Memory = int64(1+wave) << 30
			x.Peers = x.Peers[:0]
			if partitions > 1 {
				for k := 1; k <= min(4, partitions-1); k++ {
					x.Peers = append(x.Peers,
						record.Peer{
							Partition: (p +
								k*k) % partitions, Exchange: "expand", Encoding: "sparse",
							Messages: senders, Bytes: senders * 2 / k,
						})
					x.Bytes += senders * 2 / k
				}
			}
		}
		_ = to.Record(&r)
	}
}
