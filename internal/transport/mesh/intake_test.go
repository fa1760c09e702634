package mesh

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"
)

// plain hides the other methods of a connection.
type plain struct{ net.Conn }

// TestIntakeReadsWhatCame: all bytes are read in order, whether a read fills one place or two.
func TestIntakeReadsWhatCame(t *testing.T) {
	for name, hide := range map[string]bool{"one place": true, "two places": false} {
		out, in := connected(t)
		want := blob(9, 3<<20)
		go func() {
			r := rand.New(rand.NewPCG(1, 1))
			for rest := want; len(rest) > 0; {
				n := min(1+r.IntN(200<<10), len(rest))
				if r.IntN(2) == 0 {
					n = min(n, 1+r.IntN(100))
				}
				if _, err := out.Write(rest[:n]); err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
			out.Close()
		}()
		if hide {
			in = plain{in}
		}
		k := newIntake(in, time.Minute, 8<<10)
		if !hide && canScatter && k.raw == nil {
			t.Error("no reads into two places")
		}
		r := rand.New(rand.NewPCG(2, 2))
		var got []byte
		for {
			b := make([]byte,
				[]int{0, 1 + r.IntN(100), 1 + r.IntN(20<<10), 1 + r.IntN(500<<10)}[r.IntN(4)])
			n, err := k.Read(b)
			got = append(got, b[:n]...)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || n == 0 && len(b) > 0 {
				t.Fatalf("%s: %d bytes, %v", name, n, err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes came", name)
		}
	}
}

func TestIntakeDoesNotWaitForEver(t *testing.T) {
	for _, hide := range []bool{true, false} {
		_, in := connected(t)
		if hide {
			in = plain{in}
		}
		k := newIntake(in, 20*time.Millisecond, 1<<10)
		if _, err := k.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		in.Close()
		if _, err := k.Read(make([]byte, 10)); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
}

// connected returns the ends of a TCP connection.
func connected(t testing.TB) (out, in net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if out, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if in, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close(); in.Close() })
	return out, in
}
