//go:build linux

// Package cluster_test runs the binary on separate hosts: a master and four workers, each with its
// own address. Hosts are network namespaces (package hosts).
package cluster_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/superstep-go/superstep/test/hosts"
	"github.com/superstep-go/superstep/test/scripts"
)

const (
	workers = 4
	port    = ":7700"
	// patience limits every wait, as machines may be slow. A failure must be detected within bound.
	patience = 2 * time.Minute
	bound    = 30 * time.Second
)

func TestMain(m *testing.M) { scripts.Main(m, nil) }

// binary is the path of superstep, which is this test binary. ip needs an absolute path.
var binary = sync.OnceValue(func() string {
	path, err := exec.LookPath("superstep")
	if err != nil {
		panic(err)
	}
	return path
})

// cluster is a master on host 0 and a worker on each other host.
type cluster struct {
	*testing.T
	net    *hosts.Network
	master string // its address
	token  string // file of the token
	dir    string
	calls  *scripts.Server // on host 0
}

// start starts a cluster of n workers. wires has the hosts that are on a wire. flags are flags of
// the workers.
func start(t *testing.T, n int, wires map[int]hosts.Wire, flags ...string) *cluster {
	t.Helper()
	c := &cluster{T: t, net: hosts.New(t, n+1, wires), dir: t.TempDir()}
	c.master = c.net.Host(0).Addr + port
	c.token = filepath.Join(c.dir, "token")
	if err := os.WriteFile(c.token, []byte("0123456789abcdef0123456789abcdef\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	c.calls, err = scripts.Serve(c.net.Host(0).Command(binary()))
	scripts.Must(t, err)
	t.Cleanup(c.calls.Stop)
	// the tests check how a job fails, so it is not retried
	c.daemon(0, "master", "--listen", c.master, "--retries", "0")
	for i := range n {
		c.worker(i+1, flags...)
	}
	c.registered(n)
	return c
}

func (c *cluster) worker(host int, flags ...string) {
	c.Helper()
	c.daemon(host,
		append([]string{"worker", "--master", c.master, "--name", name(host), "--threads", "1"},
			flags...)...)
}

func name(host int) string { return fmt.Sprintf("w%d", host) }

// daemon starts a program that runs until the test ends. Its output is shown if the test fails.
func (c *cluster) daemon(host int, args ...string) *exec.Cmd {
	c.Helper()
	cmd := c.net.Host(host).Command(binary(),
		append(args, "--token-file", c.token, "--insecure-token")...)
	said := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	c.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(bound):
			_ = cmd.Process.Kill()
			<-ended
		}
		if c.Failed() {
			c.Logf("host %d, superstep %s:\n%s", host, strings.Join(args, " "), said)
		}
	})
	return cmd
}

// client runs a command on the master's host, in a server process for calls, and returns its
// output.
func (c *cluster) client(args ...string) (out string, err error) {
	late := time.AfterFunc(patience, func() { _ = c.calls.Process.Kill() })
	defer late.Stop()
	a, err := c.calls.Do(scripts.Request{Args: append(args, c.access()...), Dir: c.dir})
	if err == nil && a.Status != 0 {
		err = fmt.Errorf("exit status %d: %s", a.Status, bytes.TrimSpace(a.Stderr))
	}
	return string(a.Stdout), err
}

// access returns the flags with which a command reaches the master.
func (c *cluster) access() []string {
	return []string{"--master", c.master, "--token-file", c.token}
}

// await waits until the cluster's status satisfies is.
func (c *cluster) await(what string, is func(status string) bool) {
	c.Helper()
	var status string
	for end := time.Now().Add(patience); time.Now().Before(end); <-time.After(250 * time.Millisecond) {
		if status, _ = c.client("status"); is(status) {
			return
		}
	}
	c.Fatalf("waited %v for %s; the status is\n%s", patience, what, status)
}

// job is a program whose result does not depend on how it is executed.
var job = []string{"run", "bfs", "--graph", "kronecker:scale=12", "-p", "source=3", "-p", "output=level"}

// expected returns its result in one process.
var expected = sync.OnceValues(func() (string, error) {
	out, err := exec.Command(binary(), append(job, "--output", "-", "--quiet")...).Output()
	return string(out), err
})

// succeed runs the job on the cluster.
func (c *cluster) succeed() {
	c.Helper()
	file := filepath.Join(c.dir, "levels")
	if _, err := c.client(append(job, "--output", file, "--quiet")...); err != nil {
		c.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		c.Fatal(err)
	}
	if want, err := expected(); err != nil || string(got) != want {
		c.Fatalf("the cluster's levels are not those of one process: %d bytes, want %d, %v",
			len(got), len(want), err)
	}
}

// long is a program that runs until it is stopped.
var long = []string{"run", "pagerank", "--graph", "kronecker:scale=10", "-p", "iterations=100000000", "--quiet"}

// failing starts the long job, calls do while it runs, and returns the job's error.
func (c *cluster) failing(do func()) (after time.Duration, text string) {
	c.Helper()
	type end struct {
		err  error
		when time.Time
	}
	ended := make(chan end, 1)
	go func() {
		out, err := c.net.Host(0).Command(binary(), append(long, c.access()...)...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
		}
		ended <- end{err, time.Now()}
	}()
	c.await("a running job",
		func(status string) bool { return strings.Contains(status, " running ") })
	began := time.Now()
	do()
	var e end
	select {
	case e = <-ended:
	case <-time.After(2 * time.Minute):
		c.Fatal("the job does not end")
	}
	if e.err == nil {
		c.Fatal("the job did not fail")
	}
	return e.when.Sub(began), e.err.Error()
}

func TestASlowAndLossyLink(t *testing.T) {
	c := start(t, workers,
		map[int]hosts.Wire{2: {Delay: 5 * time.Millisecond, Loss: 0.01, Seed: 7}, 4: {Rate: 8 << 20}})
	c.succeed()
}

// TestLostHosts cuts the link of a host during a job. The job fails with that reason. The next jobs
// run on the other hosts, and on all hosts after the link is restored. Then another host vanishes.
func TestLostHosts(t *testing.T) {
	c := start(t, workers, nil)
	c.succeed()
	c.loses(2, c.net.Host(2).Cut)
	c.succeed()
	c.net.Host(2).Mend()
	c.registered(workers)
	c.succeed()
	c.loses(3, c.net.Host(3).Vanish)
	c.succeed()
	c.net.Host(3).Mend()
	c.worker(3)
	c.registered(workers)
	c.succeed()
}

// loses loses a host during a job.
func (c *cluster) loses(host int, how func()) {
	c.Helper()
	after, text := c.failing(how)
	c.Logf("the job failed after %v: %s", after, text)
	if after > bound || !strings.Contains(text, name(host)) {
		c.Errorf("the job failed after %v with %q; want it within %v, naming worker %s", after,
			text, bound, name(host))
	}
	c.registered(workers - 1)
}

// registered waits for n registered workers.
func (c *cluster) registered(n int) {
	c.Helper()
	c.await(fmt.Sprintf("%d workers", n),
		func(status string) bool { return strings.Count(status, " registered ") == n })
}
