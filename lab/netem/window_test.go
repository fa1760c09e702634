package netem

import (
	"net"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// BenchmarkLongWay sends frames of 1 MB over a connection with a delay of 10 ms each way: with a
// fixed minimal window, and with one that grows by measurement.
func BenchmarkLongWay(b *testing.B) {
	const delay = 10 * time.Millisecond
	for name, most := range map[string]int{"least": mesh.LeastWindow, "measured": mesh.MostWindow} {
		b.Run(name, func(b *testing.B) {
			w, err := Join(b.Context(), 2, mesh.Options{MostWindow: most, Compress: mesh.CompressOff}, func(c net.Conn, _, _ int) net.Conn { return Lag(c, delay, nil) })
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			w.Mesh(1).Expect("worker 0", 2*delay, 0)
			from, to := w.Sessions[0].Port(0), w.Sessions[1].Port(1)
			const each = 128
			raw := make([]byte, 1<<20)
			b.SetBytes(each << 20)
			superstep := 0
			for b.Loop() {
				done := make(chan error, 1)
				go func() {
					for range each {
						f, err := to.Receive(b.Context(), transport.Expand)
						if err != nil {
							done <- err
							return
						}
						to.Release(f)
					}
					done <- nil
				}()
				for range each {
					if err := from.Send(&transport.Frame{From: 0, To: 1, Superstep: superstep, Raw: raw}); err != nil {
						b.Fatal(err)
					}
				}
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
