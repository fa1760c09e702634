// Package testcluster runs a master and workers in a test's process, joined by real sockets on
// loopback, so that tests can lose, stop and restart them.
package testcluster

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	_ "github.com/superstep-go/superstep/internal/statefile/statetest"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/worker"
)

// Cluster is a master and its workers.
type Cluster struct {
	T       testing.TB
	Address string // of the master
	Client  control.ClusterClient
	// Master and Worker are what each is started with.
	Master master.Config
	Worker worker.Config

	connection *control.Connection
	master     *Process
	workers    map[string]*Process
}

// Process is a goroutine that stands for a process.
type Process struct {
	stop    context.CancelFunc
	wires   *wires // its connections
	worker  member // or nil, of a master
	address string // of a worker, for others
	ended   chan struct{}
	err     error
}

// member is a worker that was made.
type member interface {
	Run(ctx context.Context) error
	Holds() (jobs, graphs int)
}

// Wait waits for a process to end and returns its error.
func (p *Process) Wait(t testing.TB) error {
	t.Helper()
	select {
	case <-p.ended:
		return p.err
	case <-time.After(patience):
		t.Fatalf("a process did not end in %v", patience)
		return nil
	}
}

// Stop asks a process to end, as SIGTERM does.
func (p *Process) Stop() { p.stop() }

// patience bounds every wait of a test, generously: machines are slow.
const patience = time.Minute

// prompt is far more than it takes a busy machine to end a job, and far less than what nobody ends
// takes.
const prompt = 30 * time.Second

// patient is the lease, and the limit of silence between workers, in clusters whose tests set no
// other: so long that no slow worker is lost.
const patient = 15 * time.Second

// Start starts a master of these programs and n workers, w0, w1, ..., with a thread each, and waits
// for them to be there. Everything ends with the test.
func Start(t testing.TB, n int, m master.Config, programs ...engine.Registered) *Cluster {
	t.Helper()
	// without the built-in ones, which tests have of their own
	registry := append(engine.Registry{}, programs...)
	w := worker.Config{Options: worker.Options{Threads: 1, DataRoots: []string{"/"}}}
	w.Process = daemon.Process{TLS: m.TLS, Registry: registry, Build: "test", Version: "test"}
	c := &Cluster{T: t, Master: m, workers: map[string]*Process{}, Worker: w}
	c.Master.Lease, c.Worker.Silence = cmp.Or(c.Master.Lease, patient), patient
	c.Master.Retries = cmp.Or(c.Master.Retries, -1) // most tests want to see the loss
	c.Master.Registry, c.Master.Build = registry, c.Worker.Build
	c.StartMaster("127.0.0.1:0")
	t.Cleanup(c.close)
	for i := range n {
		c.StartWorker(fmt.Sprintf("w%d", i))
	}
	c.Await(n)
	return c
}

// StartMaster starts the master at an address; it is for one that was stopped, too.
func (c *Cluster) StartMaster(address string) {
	c.T.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		c.T.Fatal(err)
	}
	c.Address = l.Addr().String()
	who := control.Credentials{Token: c.Master.Token, TLS: c.Master.TLS}
	if err := who.Complete(c.Address); err != nil {
		c.T.Fatal(err)
	}
	c.Master.Token, c.Worker.Token = who.Token, who.Token
	s, err := master.New(c.Master)
	if err != nil {
		c.T.Fatal(err)
	}
	c.master = start(func(ctx context.Context) error { return s.Serve(ctx, l) })
	if c.connection != nil {
		c.connection.Close()
	}
	if c.connection, err = control.Connect(c.Address, who, nil); err != nil {
		c.T.Fatal(err)
	}
	c.Client = c.connection.Cluster
}

// StopMaster ends the master and waits for that.
func (c *Cluster) StopMaster() {
	c.T.Helper()
	c.master.stop()
	if err := c.master.Wait(c.T); err != nil {
		c.T.Fatal(err)
	}
}

func start(run func(ctx context.Context) error) *Process {
	ctx, stop := context.WithCancel(context.Background())
	p := &Process{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.err = run(ctx)
	}()
	return p
}

// StartWorker starts a worker under a name.
func (c *Cluster) StartWorker(name string) *Process {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.T.Fatal(err)
	}
	wires := &wires{}
	o := c.Worker
	o.Name, o.Master, o.Dial, o.Listener = name, cmp.Or(c.Address, "127.0.0.1:1"), wires.dial,
		&wiredListener{l.(*net.TCPListener), wires}
	if o.TLS != nil && len(o.DataRoots) > 0 && o.DataRoots[0] == "/" {
		o.DataRoots = nil // the keys of tests are files too
	}
	w, err := worker.New(o)
	if err != nil {
		c.T.Fatal(err)
	}
	p := start(w.Run)
	p.worker, p.address, p.wires = w, l.Addr().String(), wires
	c.workers[name] = p
	return p
}

// Freeze makes a worker mute and deaf, as if its process were stopped or its link cut; its
// connections stay open.
func (c *Cluster) Freeze(name string) { c.workers[name].wires.cut(false) }

// Thaw lets a frozen worker make new connections; those that there were stay as they are.
func (c *Cluster) Thaw(name string) { c.workers[name].wires.mend() }

// Part cuts the way between two workers, or mends it.
func (c *Cluster) Part(a, b string, cut bool) {
	c.workers[a].wires.part(c.workers[b].address, cut)
	c.workers[b].wires.part(c.workers[a].address, cut)
}

// Break closes a worker's connections; it makes new ones.
func (c *Cluster) Break(name string) { c.workers[name].wires.close() }

// Kill ends a worker's connections, as the end of its process does.
func (c *Cluster) Kill(name string) { c.workers[name].wires.cut(true) }

// Slow lets so many bytes a second go from each worker that there is to others, over all its
// connections.
func (c *Cluster) Slow(rate int64) {
	for _, p := range c.workers {
		p.wires.link.rate.Store(rate)
	}
}

// Process returns a worker's.
func (c *Cluster) Process(name string) *Process { return c.workers[name] }

// Await waits until n workers have sessions.
func (c *Cluster) Await(n int) {
	c.T.Helper()
	c.Until(fmt.Sprintf("%d workers with sessions", n), func() bool {
		attached := 0
		for _, w := range c.Workers() {
			if w.Attached {
				attached++
			}
		}
		return attached == n
	})
}

// Workers lists the workers that the master knows.
func (c *Cluster) Workers() []*control.Worker {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := c.Client.ListWorkers(ctx, &control.ListWorkersRequest{})
	if err != nil {
		c.T.Fatal(err)
	}
	return r.Workers
}

// WorkerNamed returns what the master knows of a worker, or nil.
func (c *Cluster) WorkerNamed(name string) *control.Worker {
	for _, w := range c.Workers() {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// Until waits for something to be so. It looks often at first, and then less and less often.
func (c *Cluster) Until(what string, so func() bool) {
	c.T.Helper()
	end, wait := time.After(patience), 5*time.Millisecond
	for !so() {
		select {
		case <-time.After(wait):
			wait = min(wait*3/2, 100*time.Millisecond)
		case <-end:
			c.T.Fatalf("waited %v for %s", patience, what)
		}
	}
}

func (c *Cluster) close() {
	for _, p := range c.workers {
		p.stop()
	}
	for _, p := range c.workers {
		if p.err = p.Wait(c.T); p.err != nil {
			c.T.Logf("a worker ended: %v", p.err)
		}
	}
	c.master.stop()
	_ = c.master.Wait(c.T)
	c.connection.Close()
}
