//go:build linux

// Package chaos_test kills, stops and disconnects the processes of a cluster at random while jobs
// run. Every job must have the result of a run without faults, or fail with a known reason. Nothing
// may hang, and nothing may remain. Start with chaos_test.go.
package chaos_test

import (
	crand "crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Environment variables: the number of rounds, and the seed of all random choices. Without rounds
// the test is skipped.
const (
	roundsVariable = "SUPERSTEP_CHAOS"
	seedVariable   = "SUPERSTEP_CHAOS_SEED"
)

// longRounds is the number of rounds from which larger graphs are used.
const longRounds = 6

// binary is superstep, built once.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(roundsVariable) == "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "superstep")
	if out, err := exec.Command("go", "build", "-o", binary,
		"../../cmd/superstep").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// cluster is a master and workers. A proxy is in front of everything that can be disconnected.
type cluster struct {
	t       *testing.T
	dir     string
	env     []string
	master  *process
	workers []*process
	control []*proxy // between worker i and the master
	data    []*proxy // between the other workers and worker i
	clients *proxy   // between clients and the master
	store   *place   // for checkpoints
	disk    *place   // for the master's data
	faults  int      // number of faults so far
	began   time.Time

	mu        sync.Mutex
	asked     bool      // stacks were requested
	differed  bool      // workers see different files
	differing time.Time // when workers last saw different files
}

// event logs an event.
func (c *cluster) event(format string, args ...any) {
	c.t.Logf("%7.2f s  %s", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

// hung shows the stacks of the master and the workers once.
func (c *cluster) hung(what, said string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked {
		return
	}
	c.asked = true
	c.event("%s hangs:\n%s", what, said)
	status, _, _ := c.client(10*time.Second, "status")
	c.event("status: %s", status)
	for _, p := range c.all() { // no process sees another one's end first
		p.signal(syscall.SIGSTOP)
	}
	for _, p := range c.all() {
		p.stacks()
	}
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("$%s: %v", variable, err)
	}
	return n
}

// freePort returns a port that is free at several addresses.
func freePort(t *testing.T, hosts ...string) string {
	for range 100 {
		l, err := net.Listen("tcp", hosts[0]+":0")
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		_ = l.Close()
		free := true
		for _, h := range hosts[1:] {
			l, err := net.Listen("tcp", net.JoinHostPort(h, port))
			if free = free && err == nil; err == nil {
				_ = l.Close()
			}
		}
		if free {
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// newCluster starts a master and n workers. Each worker has its own loopback address, so that a
// proxy can use the same port in front of it.
func newCluster(t *testing.T, n int) *cluster {
	dir, err := os.MkdirTemp("", "chaos-run")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, dir: dir, began: time.Now()}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SUPERSTEP_") {
			c.env = append(c.env, v)
		}
	}
	c.env = append(c.env, "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"SUPERSTEP_TOKEN_FILE="+filepath.Join(dir, "token"))
	// proxies have other addresses than the master
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(crand.Text()+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	at := "127.0.0.1:" + freePort(t, "127.0.0.1")
	// The first place can be filled by the checkpoints of a few jobs. The second has room for their
	// results for some time.
	c.store = newPlace(t, filepath.Join(dir, "checkpoints"), 64<<20)
	c.disk = newPlace(t, filepath.Join(dir, "disk"), 4<<30)
	c.master = &process{cluster: c, name: "master", args: []string{
		"master", "--listen", at, "--token-file", filepath.Join(dir, "token"), "--data",
		c.masterData(), "--keep-results", "3m",
		"--checkpoints", c.store.dir, "--checkpoint-every", "4",
	}}
	between := func(listen, to string) *proxy {
		p, err := newProxy(listen, to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.close)
		return p
	}
	c.clients = between("127.0.0.1:0", at)
	for i := range n {
		own, shown := fmt.Sprintf("127.0.1.%d", i+1), fmt.Sprintf("127.0.2.%d", i+1)
		port := freePort(t, own, shown)
		holdLocal(t, port)
		c.data = append(c.data, between(net.JoinHostPort(shown, port), net.JoinHostPort(own, port)))
		c.control = append(c.control, between("127.0.0.1:0", at))
		name := fmt.Sprintf("w%d", i+1)
		if err := errors.Join(os.MkdirAll(c.shared(), 0o777),
			os.Mkdir(c.root(name), 0o777)); err != nil {
			t.Fatal(err)
		}
		c.workers = append(c.workers, &process{cluster: c, name: name, args: []string{
			"worker", "--data-root", c.shared(), "--master", c.control[i].address(), "--name", name,
			"--threads", "1", "--listen", "off",
			"--data-listen", net.JoinHostPort(own, port), "--advertise", shown,
		}})
	}
	t.Cleanup(func() {
		for _, p := range c.all() {
			if p.cmd != nil {
				p.kill()
			}
		}
		c.store.unmount()
		c.disk.unmount()
		if !t.Failed() {
			_ = os.RemoveAll(dir)
		}
	})
	for _, p := range c.all() {
		p.start()
	}
	c.whole()
	return c
}

// masterData returns the directory of the master's data.
func (c *cluster) masterData() string { return filepath.Join(c.disk.dir, "data") }

// shared returns the directory in which workers see files. If the test may mount file systems, each
// worker sees its own files there, which are in root.
func (c *cluster) shared() string { return filepath.Join(c.dir, "files") }

func (c *cluster) root(worker string) string { return c.shared() + "-" + worker }

func (c *cluster) all() []*process { return append([]*process{c.master}, c.workers...) }

// whole waits until all workers are registered. It fails the test if that takes too long.
func (c *cluster) whole() {
	c.t.Helper()
	began := time.Now()
	out, said, err := c.client(healTime+20*time.Second, "status", "--workers",
		strconv.Itoa(len(c.workers)))
	if err != nil {
		_, status, _ := c.client(20*time.Second, "status")
		c.t.Errorf("the cluster is not whole %v after all faults: %v: %s\n%s%s",
			time.Since(began).Round(time.Second), err, last(said, 3), out, status)
		for _, p := range c.all() {
			c.t.Logf("%s said last\n%s", p.name, last(p.said.String(), 12))
		}
		c.t.FailNow()
	}
}

// heal ends all faults and restarts ended processes.
func (c *cluster) heal() {
	for _, p := range append(append([]*proxy{c.clients}, c.control...), c.data...) {
		p.release()
	}
	for _, p := range c.all() {
		p.revive()
	}
}

// tally counts the outcomes of jobs.
type tally struct {
	jobs, equal int
	failed      map[string]int
	bad         int
}

func (n *tally) add(o outcome) {
	n.jobs++
	switch {
	case o.bad != "":
		n.bad++
	case o.cause != "":
		n.failed[o.cause]++
	default:
		n.equal++
	}
}

func (n *tally) String() string {
	text := fmt.Sprintf("%d jobs: %d equal to the run without faults", n.jobs, n.equal)
	for _, name := range slices.Sorted(maps.Keys(n.failed)) {
		text += fmt.Sprintf(", %d failed: %s", n.failed[name], name)
	}
	return text + fmt.Sprintf(", %d findings", n.bad)
}

// TestChaos needs SUPERSTEP_CHAOS, the number of rounds.
func TestChaos(t *testing.T) {
	rounds := int(number(t, roundsVariable, 0))
	if rounds == 0 {
		t.Skip("$" + roundsVariable + " says how many rounds: .ci/run chaos")
	}
	seed := number(t, seedVariable, uint64(time.Now().UnixNano())%1e6)
	again := fmt.Sprintf("%s=%d %s=%d go test -count 1 -timeout 60m -v -run '^TestChaos$' ./test/chaos", roundsVariable, rounds, seedVariable, seed)
	t.Log("again: " + again)
	defer func() {
		if t.Failed() {
			t.Log("again: " + again)
		}
	}()
	c := newCluster(t, 2+int(seed%2))
	larger := 0
	if rounds >= longRounds {
		larger = 3
	}
	all := jobs(larger)
	c.expect(all)
	total := &tally{failed: map[string]int{}}
	c.quiet(all, total)
	begin := c.settled(nil)
	for round := range rounds {
		random := rand.New(rand.NewPCG(seed, uint64(round)))
		// Processes that live until the end are compared with their beginning: the first worker is
		// never killed, the master only in the first half.
		c.round(random, all, total, round < (rounds+1)/2)
		if t.Failed() {
			break
		}
		if round == (rounds-1)/2 {
			half := c.settled(nil)
			begin["master"] = half["master"]
		}
		c.event("round %d of %d: %v", round+1, rounds, total)
	}
	if !t.Failed() {
		for name, h := range c.settled(begin) {
			c.event("%s: at the end %v; at the beginning %v", name, h, begin[name])
		}
		for _, p := range c.workers {
			p.stop(t, 40*time.Second)
		}
		c.master.stop(t, 40*time.Second)
		if found := left(); len(found) > 0 {
			t.Errorf("processes are left: %v", found)
		}
	}
	t.Logf("seed %d: %d faults, %v", seed, c.faults, total)
}

// quiet runs every job once without faults. Each must have its result.
func (c *cluster) quiet(all []*job, total *tally) {
	c.t.Helper()
	c.whole()
	if said, err := c.load(); err != nil {
		c.t.Errorf("graphs load without faults: %v: %s", err, last(said, 3))
		return
	}
	for i, j := range all {
		o := c.do(j, i)
		total.add(o)
		if o.bad != "" || o.cause != "" {
			c.t.Errorf("%s without faults: %s%s", j.name, o.cause, o.bad)
		}
	}
}

// Limits of a process's growth. The master keeps 1,000 ended jobs, each with about 0.2 MB of
// resident memory. It is compared with its state after half of them.
const (
	moreFiles    = 8
	moreResident = 160 << 20
)

// settled returns the resources of the processes when nothing runs. Given earlier resources, it
// waits until live processes have about as many, and otherwise fails the test.
func (c *cluster) settled(before map[string]holdings) map[string]holdings {
	var now map[string]holdings
	grown := ""
	for end := time.Now().Add(time.Minute); ; <-time.After(500 * time.Millisecond) {
		now, grown = map[string]holdings{}, ""
		for _, p := range c.all() {
			h, err := p.holds()
			if err != nil {
				c.t.Errorf("%s: %v", p.name, err)
			}
			now[p.name] = h
			was, ok := before[p.name]
			if ok && was.pid == h.pid &&
				(h.files > was.files+moreFiles || h.resident > was.resident+moreResident) {
				grown += fmt.Sprintf("%s has grown: %v; before: %v\n", p.name, h, was)
			}
		}
		if grown == "" {
			return now
		}
		if time.Now().After(end) {
			c.t.Error(grown)
			return now
		}
	}
}
