package testcluster

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/master"
)

// tries returns the number of attempts of intruders. SUPERSTEP_TRIES=10000 makes a long test.
func tries(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("SUPERSTEP_TRIES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("SUPERSTEP_TRIES: found %q, expected a number", text)
		}
		return n
	}
	if testing.Short() {
		return 30
	}
	return 150
}

// lines counts log records of level warning and above.
type lines struct{ n atomic.Int64 }

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lines) WithGroup(string) slog.Handler                    { return l }
func (l *lines) Handle(context.Context, slog.Record) error        { l.n.Add(1); return nil }

// resources returns the bytes in use and the number of goroutines, after running work has ended.
func resources() (bytes uint64, goroutines int) {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// TestIntruders: nobody can join or open a session without the required token and certificate,
// however often they try. The log does not grow with the attempts.
func TestIntruders(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	token := func(text string) control.Token {
		k, err := control.NewToken(text, "test")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	said := &lines{}
	right := token("0123456789abcdef")
	m := master.Config{Master: daemon.Master{Process: daemon.Process{TLS: ours.load(ours.issue("all", everything, 5)), Token: right}}}
	m.Log = slog.New(said)
	c := Start(t, 1, m, programs()...)
	foreign := others.issue("w", certs.Worker, 5)
	foreign.CA = filepath.Join(ours.dir, "ca.pem")
	intruders := map[string]control.Credentials{
		"the right token alone": {Token: right, TLS: ours.load(certs.Names{CA: foreign.CA})},
		"a wrong token alone":   {Token: token("fedcba9876543210"), TLS: ours.load(certs.Names{CA: foreign.CA})},
		"nothing":               {TLS: ours.load(certs.Names{CA: foreign.CA})},
		"another CA":            {TLS: ours.load(foreign)},
		"an expired one":        {TLS: ours.load(ours.issue("x", certs.Worker, -1))},
		"a client":              {Token: right, TLS: ours.load(ours.issue("c", certs.Client, 5))},
		"a reader":              {TLS: ours.load(ours.issue("r", certs.Reader, 5))},
		"no TLS":                {Token: right},
	}
	n := 0
	for name, who := range intruders {
		for range (tries(t) + 2*len(intruders) - 1) / (2 * len(intruders)) {
			conn, err := control.Connect(c.Address, who, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			_, err = conn.Workers.Register(ctx, &control.RegisterRequest{
				Name: "intruder", Instance: strconv.Itoa(n), DataAddress: "127.0.0.1:1",
				Protocol: control.Protocol, Version: "test", Cores: 1,
			})
			if code := connect.CodeOf(err); err == nil || code != connect.CodeUnauthenticated &&
				code != connect.CodePermissionDenied && name != "no TLS" {
				t.Errorf("%s: the answer is %v", name, err)
			}
			if lane, err := conn.Session(ctx); err == nil {
				if err := lane.Receive(&control.ToWorker{}); err == nil {
					t.Errorf("%s: it has a session", name)
				}
				lane.Close()
			}
			cancel()
			conn.Close()
			n += 2
		}
	}
	began := time.Now()
	if w := c.Workers(); len(w) != 1 || w[0].Name != "w0" {
		t.Errorf("there are %d workers", len(w))
	}
	if most := int64(60 + n/20); said.n.Load() > most {
		t.Errorf("%d lines in the log for %d attempts, expected at most %d", said.n.Load(), n, most)
	}
	t.Logf("%d tries, 0 joins, %d lines; the master answers after %v", n, said.n.Load(),
		time.Since(began))
}

// TestNoise: connections that send random bytes to the ports of a master and a worker are closed in
// time, leave nothing, and do not keep others out.
func TestNoise(t *testing.T) {
	ours := newAuthority(t)
	said := &lines{}
	m := master.Config{Master: daemon.Master{Process: daemon.Process{TLS: ours.load(ours.issue("all", everything, 5))}}}
	m.Log = slog.New(said)
	c := Start(t, 1, m, programs()...)
	ports := []string{c.Address, c.Workers()[0].DataAddress}
	r := rand.New(rand.NewPCG(16, 2))
	slowest, n := time.Duration(0), 0
	noise := func(at string, wait bool) {
		n++
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		b := make([]byte, 1+r.IntN(300))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		switch r.IntN(4) {
		case 0:
			// the header of a handshake record
			b = append([]byte{22, 3, 1, byte(r.Uint32()), byte(r.Uint32())}, b...)
		case 1:
			b = append([]byte("GET / HTTP/1.1\r\n"), b...)
		}
		began := time.Now()
		if _, err := conn.Write(b); err != nil || !wait {
			return
		}
		_ = conn.SetReadDeadline(began.Add(patience))
		for err == nil {
			_, err = conn.Read(b)
		}
		if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("%s keeps a connection that brought %.20q for %v", at, b, patience)
		}
		slowest = max(slowest, time.Since(began))
	}
	for i := range 64 {
		noise(ports[i%2], false)
	}
	bytes, goroutines := resources()
	for i := range tries(t) {
		noise(ports[i%2], i%100 < 2)
	}
	var left string
	c.Until("what connections have used is free", func() bool {
		b, g := resources()
		left = strconv.FormatUint(b>>10, 10) + " KiB in use, " + strconv.Itoa(g) + " goroutines"
		return b < bytes+8<<20 && g < goroutines+20
	})
	if slowest > 30*time.Second { // 5 s, and more on a busy machine
		t.Errorf("a connection was kept for %v", slowest)
	}
	if most := int64(60 + n/20); said.n.Load() > most {
		t.Errorf("%d lines in the log for %d connections, expected at most %d",
			said.n.Load(), n, most)
	}
	if w := c.Workers(); len(w) != 1 || strings.Contains(w[0].Name, "intruder") {
		t.Errorf("there are %d workers", len(w))
	}
	t.Logf("%d connections, the slowest closed after %v, %d lines; before %d KiB in use, %d goroutines; after %s", n, slowest, said.n.Load(), bytes>>10, goroutines, left)
}
