package mesh

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/transport"
)

// networks returns the network by which the first worker reaches each other worker.
func networks(m *Mesh) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]string{}
	for name, out := range m.outs {
		all[name] = out.conn.LocalAddr().Network()
	}
	return all
}

func TestWorkersOfOneHostMeetByUnixSockets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no abstract names")
	}
	for _, tcp := range []bool{false, true} {
		meshes, peers := cluster(t, 3, func(_ int, o *Options) { o.TCP = tcp })
		sessions := openAll(t, meshes, 7, 1, dealt(peers, 3), nil)
		play(t, sessions, 5, 64<<10, transport.Expand)
		want := map[bool]string{false: "unix", true: "tcp"}[tcp]
		for name, got := range networks(meshes[0]) {
			if got != want {
				t.Errorf("TCP %v: worker %s is reached by %s", tcp, name, got)
			}
		}
	}
}

// TestNamesThatOthersHold: another process listens on the name of a worker's Unix socket. The
// worker is reached by TCP, and the other process is not disturbed.
func TestNamesThatOthersHold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no abstract names")
	}
	meshes, peers := cluster(t, 3,
		func(i int, o *Options) { o.TCP, o.Hello = i == 1, 8*time.Second })
	connect := func() {
		t.Helper()
		if err := meshes[0].Connect(t.Context(), peers[1:2]); err != nil {
			t.Fatal(err)
		}
		if got := networks(meshes[0])["w1"]; got != "tcp" {
			t.Errorf("worker w1 is reached by %s", got)
		}
		meshes[0].mu.Lock()
		out := meshes[0].outs["w1"]
		meshes[0].mu.Unlock()
		out.fail(transport.ErrClosed)
	}
	_, port, _ := net.SplitHostPort(peers[1].Addr)
	l, err := net.Listen("unix", "@superstep-mesh-"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for i := 0; ; i++ {
			c, err := l.Accept()
			switch {
			case err != nil:
				return
			case i == 0:
				c.Write([]byte(strings.Repeat("not a worker ", 10)))
				c.Close()
			case i == 1: // another worker
				meshes[2].group.Go(func() {
					if meshes[2].begin(c) {
						meshes[2].serve(c)
					}
				})
			default: // it never answers
				defer c.Close()
			}
		}
	}()
	for range 3 {
		connect()
	}
	if s := meshes[2].Stats(); s.Broken > 0 || len(meshes[2].ins) > 0 {
		t.Errorf("the other worker took the connection: %+v", s)
	}
}
