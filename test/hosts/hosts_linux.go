// Package hosts simulates hosts on one machine for tests. A host is a network namespace with an
// address. Hosts are connected by a switch. A host is attached by a cable (veth), or by a wire: a
// program between two TAP devices that delays or drops frames. Start with hosts_linux.go.
//
//	host 0           host 1                   host 2
//	10.99.0.1        10.99.0.2                10.99.0.3
//	   |                |                        |
//	   | veth           | veth                   | tap == wire == tap
//	===+================+============================+=== bridge, in a namespace of its own
package hosts

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/hosts/netns"
)

// Required is the environment variable that makes tests fail instead of skip if hosts cannot be
// created.
const Required = "SUPERSTEP_HOSTS_REQUIRED"

// mtu is that of jumbo frames: a Wire handles each frame on the processors that also run the test.
const mtu = "9000"

// Network is a set of hosts and the switch between them.
type Network struct {
	t     testing.TB
	name  string // prefix of the names of its namespaces
	hosts []*Host
}

// Host is a network namespace.
type Host struct {
	// Addr is its address, without a port.
	Addr    string
	space   string
	port    string // its end at the switch
	network *Network
	wire    *netns.Line
}

// Wire has the properties of a wire.
type Wire = netns.Wire

// networks numbers the networks of this process.
var networks atomic.Int32

// New makes n hosts, which are removed at the end of the test. wires has the hosts that are
// attached by a wire. The test is skipped if namespaces cannot be made: without root, or without
// Linux's ip.
func New(t testing.TB, n int, wires map[int]Wire) *Network {
	t.Helper()
	if err := possible(); err != nil {
		if os.Getenv(Required) != "" {
			t.Fatalf("%s is set, and %v", Required, err)
		}
		t.Skipf("no hosts of its own: %v", err)
	}
	w := &Network{t: t, name: fmt.Sprintf("ss%d-%d", os.Getpid(), networks.Add(1))}
	hub := w.name + "-hub"
	t.Cleanup(w.close)
	w.ip("netns", "add", hub)
	w.ip("-n", hub, "link", "add", "bridge", "mtu", mtu, "type", "bridge", "stp_state", "0",
		"forward_delay", "0")
	w.ip("-n", hub, "link", "set", "bridge", "up")
	for i := range n {
		h := &Host{Addr: fmt.Sprintf("10.99.0.%d", i+1), space: fmt.Sprintf("%s-%d", w.name,
			i), port: fmt.Sprintf("port%d", i), network: w}
		w.hosts = append(w.hosts, h)
		w.ip("netns", "add", h.space)
		if options, ok := wires[i]; ok {
			here, there := w.unique("a"), w.unique("b")
			line, err := options.Open(here, there)
			if err != nil {
				t.Fatal(err)
			}
			h.wire = line
			w.ip("link", "set", here, "netns", hub, "name", h.port)
			w.ip("link", "set", there, "netns", h.space, "name", "eth0")
		} else {
			w.ip("link", "add", h.port, "netns", hub, "type", "veth", "peer", "name", "eth0",
				"netns", h.space)
		}
		w.ip("-n", hub, "link", "set", h.port, "mtu", mtu, "master", "bridge", "up")
		w.ip("-n", h.space, "addr", "add", h.Addr+"/24", "dev", "eth0")
		w.ip("-n", h.space, "link", "set", "eth0", "mtu", mtu, "up")
		w.ip("-n", h.space, "link", "set", "lo", "up")
	}
	return w
}

// devices numbers TAP devices until they are in their namespaces.
var devices atomic.Int32

func (w *Network) unique(kind string) string {
	return fmt.Sprintf("ss%s%d-%d", kind, os.Getpid()%100000, devices.Add(1))
}

func possible() error {
	if os.Getuid() != 0 {
		return fmt.Errorf("network namespaces want root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return fmt.Errorf("the program ip is missing (Debian's iproute2)")
	}
	probe := fmt.Sprintf("ss%d-probe", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", probe).CombinedOutput(); err != nil {
		return fmt.Errorf("ip netns add: %s", strings.TrimSpace(string(out)))
	}
	return exec.Command("ip", "netns", "del", probe).Run()
}

func (w *Network) ip(args ...string) {
	w.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		w.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
}

// Host returns the i-th host.
func (w *Network) Host(i int) *Host { return w.hosts[i] }

// Carried returns the number of bytes that the host's wire has carried in both directions,
// including Ethernet headers. For a cable it returns 0.
func (h *Host) Carried() int64 {
	if h.wire == nil {
		return 0
	}
	return h.wire.Carried()
}

// Command returns a command that runs on the host. It is killed with the test process, and when the
// host vanishes.
func (h *Host) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("ip", append([]string{"netns", "exec", h.space, name}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Cut disconnects the host's cable at the switch. No process is notified.
func (h *Host) Cut() {
	h.network.t.Helper()
	h.network.ip("-n", h.network.name+"-hub", "link", "set", h.port, "nomaster")
}

// Mend connects it again.
func (h *Host) Mend() {
	h.network.t.Helper()
	h.network.ip("-n", h.network.name+"-hub", "link", "set", h.port, "master", "bridge")
}

// Vanish removes the host like a power failure: first the cable, then all its processes.
func (h *Host) Vanish() {
	h.network.t.Helper()
	h.Cut()
	h.kill()
}

func (h *Host) kill() {
	out, err := exec.Command("ip", "netns", "pids", h.space).Output()
	if err != nil {
		return // it was not created
	}
	for _, pid := range strings.Fields(string(out)) {
		_ = exec.Command("kill", "-9", pid).Run() // it may have ended
	}
}

func (w *Network) close() {
	for _, h := range w.hosts {
		h.kill()
		if h.wire != nil {
			h.wire.Close()
		}
		w.remove(h.space)
	}
	w.remove(w.name + "-hub")
}

func (w *Network) remove(space string) {
	var out []byte
	var err error
	for range 20 { // killed processes may take a moment to end
		if out, err = exec.Command("ip", "netns", "del", space).CombinedOutput(); err == nil ||
			strings.Contains(string(out), "No such file") {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	w.t.Errorf("ip netns del %s: %s", space, strings.TrimSpace(string(out)))
}
