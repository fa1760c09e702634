package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/worker"
)

// cluster is a master, workers and a client. Each is on a host of a simulated network.
type cluster struct {
	t       testing.TB
	random  *rand.Rand
	net     *network
	objects *objects
	disk    *disk
	dir     string // of the master's data; a copy after each kill
	lost    bool   // the master has started without its earlier data
	starts  int    // number of started masters
	master  *process
	workers []*process
	client  *client.Client
	journal *journal
	began   time.Time
	setting setting
	points  points
	all     sync.WaitGroup // processes, including killed ones

	file, otherFile []byte // the job's graph; another file that a fault puts in its place
}

// process is a goroutine that simulates a process.
type process struct {
	name  string
	host  *host
	stop  context.CancelFunc
	ended chan struct{}
	err   error
	clock time.Duration // how far its clock is ahead
}

// journal records events, for the analysis of a failed seed.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (c *cluster) event(format string, args ...any) {
	fmt.Fprintf(c.journal, "%.3f %s\n", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

// logger returns a process's logger.
func (c *cluster) logger(name string) *slog.Logger {
	began := c.began
	h := slog.NewTextHandler(c.journal,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.String("at", fmt.Sprintf("%.3f", time.Since(began).Seconds()))
			}
			return a
		}})
	return slog.New(h).With("who", name)
}

const masterPort = 7700

// stacks records the stacks of all goroutines.
func (c *cluster) stacks() {
	buf := make([]byte, 16<<20)
	c.event("%s", buf[:runtime.Stack(buf, true)])
}

// secret is the token of all clusters.
var secret = control.RandomToken()

// newCluster starts a master, workers and a client.
func newCluster(t testing.TB, random *rand.Rand, disk *disk, s setting) *cluster {
	c := &cluster{
		t: t, random: random, net: newNetwork(random, s.delay, s.delay), objects: &objects{},
		disk: disk, dir: filepath.Join(disk.dir, "data"), journal: &journal{}, began: time.Now(),
		setting: s,
	}
	if s.job.ofFile() {
		c.file, c.otherFile = s.job.text(t), s.job.other().text(t)
	}
	c.startMaster(0)
	for i := range s.workers {
		if s.job.ofFile() {
			c.must(os.Mkdir(c.root(fmt.Sprint("w", i)), 0o700))
			c.must(c.putFile(fmt.Sprint("w", i), c.file))
		}
		c.startWorker(i, 0)
	}
	h := c.net.host("client")
	var err error
	c.client, err = client.New(client.Options{
		Address: c.address(), Credentials: control.Credentials{Token: secret}, Dial: h.dial,
		Patience: 2 * time.Minute, Log: func(line string) { c.event("client: %s", line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) address() string {
	return fmt.Sprintf("%v:%d", c.net.hosts["master"].ip, masterPort)
}

// start runs a process on a host.
func (c *cluster) start(
	h *host, clock time.Duration, run func(ctx context.Context) error,
) *process {
	ctx, stop := context.WithCancel(context.Background())
	p := &process{name: h.name, host: h, stop: stop, ended: make(chan struct{}), clock: clock}
	c.all.Go(func() {
		defer close(p.ended)
		p.err = run(ctx)
		if p.err != nil && strings.Contains(p.err.Error(), "has not stopped") {
			c.stacks()
		}
		stop() // a worker may have given up a command, which ends with the process
		c.event("%s has ended: %v", p.name, p.err)
	})
	return p
}

// now returns a process's clock.
func now(ahead time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(ahead) }
}

// randomness returns a process's random source.
func (c *cluster) randomness() io.Reader {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(c.random.Uint32())
	}
	return &locked{from: rand.NewChaCha8(seed)}
}

type locked struct {
	mu   sync.Mutex
	from io.Reader
}

func (l *locked) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.from.Read(p)
}

// startMaster starts a master with the data of the previous one.
func (c *cluster) startMaster(clock time.Duration) {
	h := c.net.host("master")
	c.starts++
	config := master.Config{Options: master.Options{
		CheckpointEvery: c.setting.every, Running: 1 + len(c.setting.others()), Data: c.dir,
		Checkpoints: "memory:checkpoints", Log: c.logger("master"),
	}, Master: daemon.Master{Process: daemon.Process{Build: "simulation", Version: "simulation", Stores: c.objects.of(h), Now: now(clock), Random: c.randomness(), Registry: registry, Token: secret}, WrapPart: c.disk.wrap}}
	if c.setting.kept {
		config.Checkpoints = ""
	}
	s, err := master.New(config)
	state, _ := filepath.Glob(filepath.Join(c.dir, "state", "*", "*"))
	if len(state) == 0 && errors.Is(err, syscall.ENOSPC) {
		c.event("a master does not begin its data on a full disk: %v", err)
		return
	}
	if err != nil {
		c.t.Errorf("a master does not start: %v", err)
		return
	}
	l := h.listen(masterPort)
	c.master = c.start(h, clock, func(ctx context.Context) error { return s.Serve(ctx, l) })
}

// killMaster ends the master at once. Later actions of its goroutines have no effect, and its data
// stay as they are.
func (c *cluster) killMaster(loud bool) {
	if !c.master.running() {
		return
	}
	next := fmt.Sprintf("%s-%d", c.dir, c.starts)
	c.must(c.disk.copy(next, c.dir))
	c.dir = next
	c.kill(c.master, loud)
}

func (c *cluster) kill(p *process, loud bool) {
	p.host.kill(loud)
	p.stop()
}

func (c *cluster) startWorker(i int, clock time.Duration) {
	h := c.net.host(fmt.Sprintf("w%d", i))
	config := worker.Config{Options: worker.Options{Name: h.name, Master: c.address(), Threads: 1, Log: c.logger(h.name)}, Worker: daemon.Worker{Process: daemon.Process{Token: secret, Registry: registry, Build: "simulation", Version: "simulation", Stores: c.objects.of(h), Now: now(clock), Random: c.randomness()}, Listener: h.listen(0), Dial: h.dial}}
	if c.file != nil {
		config.DataRoots = []string{c.root(h.name)}
	}
	w, err := worker.New(config)
	if err != nil {
		c.t.Errorf("a worker does not start: %v", err)
		return
	}
	p := c.start(h, clock, w.Run)
	if i < len(c.workers) {
		c.workers[i] = p
		return
	}
	c.workers = append(c.workers, p)
}

// running reports whether the process is running.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return !p.host.isDown()
	}
}

func (h *host) isDown() bool {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	return h.down
}

// endWithin is the time that processes have to end after they were asked to.
const endWithin = 5 * time.Minute

// close ends all processes.
func (c *cluster) close() {
	c.client.Close()
	for _, p := range c.workers {
		p.stop()
	}
	ended := make(chan struct{})
	go func() {
		for _, p := range c.workers {
			<-p.ended
		}
		c.master.stop()
		c.all.Wait()
		for _, name := range c.names() { // including connections that were not accepted
			c.net.hosts[name].kill(true)
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endWithin):
		c.t.Errorf("the stopped processes have not ended after %v", endWithin)
	}
}

// run runs a job. It returns its result and its final state.
func (c *cluster) run(ctx context.Context, spec *jobspec.Spec) (string, *control.Job, error) {
	j, err := c.client.Run(ctx, spec, func(e *control.JobEvent) error {
		switch {
		case e.GetJob() != nil:
			c.event("job %s: %s: %s", e.GetJob().Id, e.GetJob().State.Word(), e.GetJob().Reason)
		case e.GetLog() != nil:
			c.event("job: %s: %s", e.GetLog().Worker, e.GetLog().Text)
		}
		return nil
	})
	if err != nil || j.State != control.JobState_JOB_STATE_DONE {
		return "", j, err
	}
	var text bytes.Buffer
	_, err = c.client.Result(ctx, j.Id, false, &text)
	return text.String(), j, err
}
