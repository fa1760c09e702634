//go:build unix

package mesh

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/superstep-go/superstep/internal/transport"
)

var sizes = []int{1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20}

// processorTime returns the processor time that this process has used, in nanoseconds.
func processorTime(b *testing.B) int64 {
	used, err := usedTime()
	if err != nil {
		b.Fatal(err)
	}
	return used
}

// cpu reports the processor time of an operation on both sides. On a busy machine this is the
// number to compare.
func cpu(b *testing.B) func() {
	start := processorTime(b)
	return func() { b.ReportMetric(float64(processorTime(b)-start)/float64(b.N), "cpu-ns/op") }
}

func sizeText(n int) string { return fmt.Sprintf("%dKB", n>>10) }

// BenchmarkFrames sends frames one way as fast as they go.
func BenchmarkFrames(b *testing.B) {
	for _, n := range sizes {
		b.Run(sizeText(n), func(b *testing.B) {
			_, from, to := pair(b, nil)
			oneWay(b, from, to, n)
		})
	}
}

// BenchmarkRaw is the baseline: the same number of bytes over bare TCP.
func BenchmarkRaw(b *testing.B) {
	for _, n := range sizes {
		b.Run(sizeText(n), func(b *testing.B) {
			out, in := connected(b)
			var group sync.WaitGroup
			group.Go(func() {
				buffer := make([]byte, n)
				for {
					if _, err := io.ReadFull(in, buffer); err != nil {
						return
					}
				}
			})
			raw := make([]byte, n)
			b.SetBytes(int64(n))
			defer cpu(b)()
			for b.Loop() {
				if _, err := out.Write(raw); err != nil {
					b.Fatal(err)
				}
			}
			out.Close()
			group.Wait()
		})
	}
}

// BenchmarkEmptyExchange runs a superstep in which every partition sends every other one an empty
// frame.
func BenchmarkEmptyExchange(b *testing.B) {
	for _, workers := range []int{2, 4, 8} {
		b.Run(fmt.Sprintf("%dworkers", workers), func(b *testing.B) {
			meshes, peers := cluster(b, workers, nil)
			sessions := openAll(b, meshes, 1, 1, dealt(peers, workers), nil)
			starts, done := make([]chan int, workers), make(chan error, workers)
			for i := range starts {
				starts[i] = make(chan int)
				go empty(sessions[i].Port(i), workers, starts[i], done)
			}
			superstep := 0
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				for _, start := range starts {
					start <- superstep
				}
				for range starts {
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
				superstep++
			}
			for _, start := range starts {
				close(start)
			}
		})
	}
}

// empty runs a partition of BenchmarkEmptyExchange.
func empty(p *Port, of int, starts <-chan int, done chan<- error) {
	frames := make([]transport.Frame, of)
	for superstep := range starts {
		var err error
		for step := 1; step < of && err == nil; step++ {
			to := (p.index + step) % of
			frames[to] = transport.Frame{From: p.index, To: to, Superstep: superstep}
			err = p.Send(&frames[to])
		}
		for step := 1; step < of && err == nil; step++ {
			_, err = p.Receive(context.Background(), transport.Expand)
		}
		if err == nil {
			_, err = p.End(context.Background(), superstep)
		}
		done <- err
	}
}

// BenchmarkSecureFrames is BenchmarkFrames over TCP, plain and with TLS.
func BenchmarkSecureFrames(b *testing.B) {
	files := newAuthority(b).worker()
	for _, n := range []int{16 << 10, 256 << 10, 1 << 20} {
		for _, mode := range []string{"plain", "tls"} {
			b.Run(mode+"/"+sizeText(n), func(b *testing.B) {
				_, from, to := pair(b, func(_ int, o *Options) {
					if o.TCP = true; mode == "tls" {
						o.TLS = files
					}
				})
				oneWay(b, from, to, n)
			})
		}
	}
}

// oneWay sends frames of n bytes one way as fast as they go.
func oneWay(b *testing.B, from, to *Port, n int) {
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(b.Context())
	group.Go(func() {
		for {
			f, err := to.Receive(ctx, transport.Expand)
			if err != nil {
				return
			}
			to.Release(f)
		}
	})
	b.SetBytes(int64(n))
	b.ReportAllocs()
	f := &transport.Frame{From: 0, To: 1, Raw: make([]byte, n)}
	defer cpu(b)()
	for b.Loop() {
		if err := from.Send(f); err != nil {
			b.Fatal(err)
		}
	}
	if err := from.drain(ctx, 0); err != nil {
		b.Fatal(err)
	}
	cancel()
	group.Wait()
}
