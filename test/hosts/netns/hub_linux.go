package netns

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

const (
	// device is the name of a process's network interface in its namespace.
	device = "eth0"
	// mtu is that of jumbo frames: a Wire handles each frame on the processors that also run the
	// test.
	mtu = 9000
	// burst is the number of bytes that may be sent at once at a cable's rate: more than the kernel
	// passes in one piece. queue is the number of bytes that may wait.
	burst = 128 << 10
	queue = 4 << 20
)

// Hub is the switch, with the cable of the process that made it.
type Hub struct {
	cable Cable
	lines []*Line
}

// NewHub makes a switch in this process's namespace, which [Enter] must have made.
func NewHub(c Cable) (*Hub, error) {
	h := &Hub{cable: c}
	return h, errors.Join(
		ip("link", "set", "lo", "up"),
		ip("link", "add", "bridge", "mtu", strconv.Itoa(mtu), "type", "bridge", "stp_state", "0",
			"forward_delay", "0"),
		ip("addr", "add", h.Address()+"/24", "dev", "bridge"),
		ip("link", "set", "bridge", "up"),
	)
}

// Address returns the address of the process with the switch.
func (h *Hub) Address() string { return "10.98.0.254" }

// End returns the end of the i-th process's cable.
func (h *Hub) End(i int) *End {
	e := &End{Address: fmt.Sprintf("10.98.0.%d", i+1)}
	if h.cable.Delay == 0 {
		e.Rate = h.cable.Rate
	}
	return e
}

// Apart makes a process start in a new network namespace.
func Apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
}

// Plug connects the cable of the i-th process. Then the process calls Up of its End.
func (h *Hub) Plug(i, pid int) error {
	port := fmt.Sprintf("port%d", i)
	if err := h.lay(port, pid); err != nil {
		return err
	}
	err := errors.Join(
		ip("link", "set", port, "mtu", strconv.Itoa(mtu)),
		ip("link", "set", port, "master", "bridge", "up"),
	)
	if err == nil && h.cable.Delay == 0 {
		err = bound(port, h.cable.Rate)
	}
	return err
}

// lay makes a cable from a port to a process.
func (h *Hub) lay(port string, pid int) error {
	if h.cable.Delay == 0 {
		return ip("link", "add", port, "type", "veth", "peer", "name", device, "netns",
			strconv.Itoa(pid))
	}
	line, err := Wire{Delay: h.cable.Delay, Rate: int(h.cable.Rate), Queue: queue}.Open(port,
		"far"+port)
	if err != nil {
		return err
	}
	h.lines = append(h.lines, line)
	return ip("link", "set", "far"+port, "netns", strconv.Itoa(pid), "name", device)
}

// Close stops the goroutines of wires.
func (h *Hub) Close() {
	for _, l := range h.lines {
		l.Close()
	}
}

// Carried returns the traffic of the cables of n processes so far.
func (h *Hub) Carried(n int) ([]Traffic, error) {
	f, err := os.Open("/proc/self/net/dev")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := make([]Traffic, n)
	s := bufio.NewScanner(f)
	for s.Scan() {
		name, rest, _ := strings.Cut(strings.TrimSpace(s.Text()), ":")
		number, ok := strings.CutPrefix(name, "port")
		if !ok {
			continue
		}
		i, err := strconv.Atoi(number)
		fields := strings.Fields(rest)
		if err != nil || i >= n || len(fields) < 9 {
			return nil, fmt.Errorf("/proc/self/net/dev: found %q", s.Text())
		}
		// The port receives what the process has sent.
		sent, err1 := strconv.ParseInt(fields[0], 10, 64)
		received, err2 := strconv.ParseInt(fields[8], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("/proc/self/net/dev: %w", err)
		}
		all[i] = Traffic{sent, received}
	}
	return all, s.Err()
}

// Up waits for Plugged on in, and then configures its end of the cable.
func (e *End) Up(in io.Reader) error {
	if _, err := io.ReadFull(in, make([]byte, len(Plugged))); err != nil {
		return fmt.Errorf("no cable: %w", err)
	}
	return errors.Join(
		ip("link", "set", "lo", "up"),
		ip("link", "set", device, "mtu", strconv.Itoa(mtu)),
		ip("addr", "add", e.Address+"/24", "dev", device),
		ip("link", "set", device, "up"),
		bound(device, e.Rate),
	)
}

// bound makes the kernel limit the rate of a device.
func bound(device string, rate float64) error {
	if rate == 0 {
		return nil
	}
	// in tc, bps means bytes per second
	return run("tc", "qdisc", "add", "dev", device, "root", "tbf", "rate",
		fmt.Sprintf("%.0fbps", rate),
		"burst", strconv.Itoa(burst), "limit", strconv.Itoa(queue))
}

func ip(args ...string) error { return run("ip", args...) }

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err,
			strings.TrimSpace(string(out)))
	}
	return nil
}
