//go:build unix

package mesh

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// BenchmarkAgainstRaw sends the same bytes over bare TCP, as frames, and as messages, in turns. It
// reports the median share of TCP's bandwidth that frames and messages reach. Only this ratio is
// stable on a busy machine, where TCP's own speed changes from second to second.
func BenchmarkAgainstRaw(b *testing.B) {
	for _, n := range []int{64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20} {
		b.Run(fmt.Sprintf("%dKB", n>>10), func(b *testing.B) {
			against(b, n, max(64<<20/n, 2))
		})
	}
}

// transfer sends k messages of n bytes and returns when the last one has arrived.
type transfer func(b *testing.B, n, k int)

func against(b *testing.B, n, k int) {
	_, from, to := pair(b, nil)
	ways := []transfer{rawTransfer(b, n), frames(from, to), messages(from.session.Link(),
		to.session.Link())}
	seconds, work := make([][]float64, len(ways)), make([][]float64, len(ways))
	for turn := 0; b.Loop(); turn++ {
		for i, way := range ways {
			begin, used := time.Now(), processorTime(b)
			way(b, n, k)
			seconds[i] = append(seconds[i], time.Since(begin).Seconds())
			work[i] = append(work[i], float64(processorTime(b)-used))
		}
	}
	b.ReportMetric(float64(n*k)/median(seconds[0])/1e9, "raw-GB/s")
	for i, name := range []string{"raw", "frames", "messages"} {
		b.ReportMetric(median(work[i])/float64(n*k>>20)/1e3, name+"-µs/MB")
		if i > 0 {
			shares := make([]float64, len(seconds[0]))
			for j := range shares {
				shares[j] = seconds[0][j] / seconds[i][j]
			}
			b.ReportMetric(100*median(shares), name+"-%")
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// rawTransfer uses a separate connection.
func rawTransfer(b *testing.B, n int) transfer {
	out, in := connected(b)
	source, place := make([]byte, n), make([]byte, n)
	return func(b *testing.B, n, k int) {
		done := make(chan error, 1)
		go func() {
			for range k {
				if _, err := io.ReadFull(in, place); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		for range k {
			if _, err := out.Write(source); err != nil {
				b.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

func frames(from, to *Port) transfer {
	var source []byte
	return func(b *testing.B, n, k int) {
		if len(source) < n {
			source = make([]byte, n)
		}
		done := make(chan error, 1)
		go func() {
			for range k {
				f, err := to.Receive(context.Background(), transport.Expand)
				if err != nil {
					done <- err
					return
				}
				to.Release(f)
			}
			done <- nil
		}()
		for range k {
			if err := from.Send(&transport.Frame{From: 0, To: 1, Raw: source[:n]}); err != nil {
				b.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

func messages(from, to *Link) transfer {
	return func(b *testing.B, n, k int) {
		source := make([]byte, n)
		done := make(chan error, 1)
		go func() {
			for range k {
				m, err := to.Receive(context.Background(), 0, 1)
				if err != nil {
					done <- err
					return
				}
				to.Release(m)
			}
			done <- nil
		}()
		for range k {
			if err := from.Send(context.Background(), 1, 1, source); err != nil {
				b.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}
