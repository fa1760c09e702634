//go:build linux

package hosts_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/hosts"
)

// role is what this binary does on a host: echo data at an address, or measure a round trip and a
// megabyte.
const role = "SUPERSTEP_HOSTS_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "echo":
		echo(os.Args[1])
	case "measure":
		patience, err := time.ParseDuration(os.Args[2])
		if err != nil {
			panic(err)
		}
		measure(os.Args[1], patience)
	}
}

func echo(address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	fmt.Println("listening")
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() { _, _ = io.Copy(c, c) }()
	}
}

// Time limits of a connection.
const (
	byALossyWire = 15 * time.Second // lost frames are sent again after 1, 2, 4 and 8 s
	ofNobody     = 2 * time.Second  // without a connection
)

func measure(address string, patience time.Duration) {
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		fmt.Println("unreachable")
		return
	}
	trip := func(n int) time.Duration {
		start := time.Now()
		go func() { _, _ = c.Write(make([]byte, n)) }()
		if _, err := io.ReadFull(c, make([]byte, n)); err != nil {
			panic(err)
		}
		return time.Since(start)
	}
	trip(1)
	fmt.Println(trip(1).Nanoseconds(), trip(1<<20).Nanoseconds())
}

func on(h *hosts.Host, what string, args ...string) *exec.Cmd {
	cmd := h.Command("/proc/self/exe", args...)
	cmd.Args[4] = os.Args[0]
	cmd.Env = append(os.Environ(), role+"="+what)
	return cmd
}

// serve starts an echo server on a host.
func serve(t *testing.T, h *hosts.Host) (address string) {
	t.Helper()
	address = h.Addr + ":7000"
	cmd := on(h, "echo", address)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
		t.Fatalf("the echo said %q", line)
	}
	return address
}

// from measures from a host the round trip of a byte and of a megabyte.
func from(
	t *testing.T, h *hosts.Host, address string, patience time.Duration,
) (small, large time.Duration, reached bool) {
	t.Helper()
	out, err := on(h, "measure", address, patience.String()).Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(string(out), "unreachable") {
		return 0, 0, false
	}
	if _, err := fmt.Sscan(string(out), &small, &large); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return small, large, true
}

func TestHostsAndWires(t *testing.T) {
	n := hosts.New(t, 4, map[int]hosts.Wire{
		2: {Delay: 20 * time.Millisecond},
		3: {Rate: 4 << 20, Loss: 0.01, Seed: 1},
	})
	address := serve(t, n.Host(0))
	small, large, ok := from(t, n.Host(1), address, byALossyWire)
	t.Logf("cable: %v, a megabyte and back %v", small, large)
	if !ok {
		t.Fatal("by cable: unreachable")
	}
	small, _, ok = from(t, n.Host(2), address, byALossyWire)
	t.Logf("wire of 20 ms: %v", small)
	if !ok || small < 40*time.Millisecond {
		t.Errorf("by a wire of 20 ms a round trip took %v, reached %v", small, ok)
	}
	_, large, ok = from(t, n.Host(3), address, byALossyWire)
	t.Logf("wire of 4 MB/s: a megabyte and back %v", large)
	if !ok || large < 240*time.Millisecond {
		t.Errorf("by a wire of 4 MB/s a megabyte and back took %v, reached %v", large, ok)
	}
	n.Host(1).Cut()
	if _, _, ok = from(t, n.Host(1), address, ofNobody); ok {
		t.Error("a host with its cable cut reached another")
	}
	n.Host(1).Mend()
	if _, _, ok = from(t, n.Host(1), address, byALossyWire); !ok {
		t.Error("a host with its cable mended did not reach another")
	}
	n.Host(0).Vanish()
	if _, _, ok = from(t, n.Host(1), address, ofNobody); ok {
		t.Error("a host that vanished was reached")
	}
}
