// Package cluster joins the engine to the cluster: an [Engine] leads jobs for the master, an [Executor] does the work of
// a worker, with the same partitions, kernels and deliveries as in one process.
//
//	master -- bsp.Driver
//	            | Superstep                        ^ PartitionReport
//	            v                                  |
//	worker -- Executor --> engine.Job -- frames, by mesh --> Job of another worker
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/worker"
)

// ExecutorOptions say who a worker is and with what it works.
type ExecutorOptions struct {
	// Name is the worker's, by which others know it.
	Name string
	// Programs are those of this binary.
	Programs engine.Registry
	// Threads is how many a job or a load gets, at least 1.
	Threads int
	// Listener is where other workers reach this one. The executor closes it.
	Listener Listener
	// Token is what they must know.
	Token control.Token
	// Dial connects to others; default TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Silence is how long another worker may give no sign of life, and connecting may take; default 5 s.
	Silence time.Duration
	// Compress says whether messages to others are compressed; default auto.
	Compress mesh.Compression
	// Log gets a line now and then about refused connections, or is nil.
	Log *slog.Logger
}

// Listener is a TCP listener: what accepts, and can be told to stop for a while.
type Listener interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// Executor does a worker's work: it holds the worker's share of graphs and jobs.
//
// Invariant: graphs, jobs and benchmarks are freed when they were removed from these maps and the last command that uses them
// has returned, whatever its context; a command that finds one holds it by its mem.Refs until then. A job holds its graph.
type Executor struct {
	options ExecutorOptions

	mu          sync.Mutex
	mesh        *mesh.Mesh
	past        mesh.Stats // of meshes that were closed
	incarnation uint64
	graphs      map[string]*loaded
	jobs        map[string]*job
	meetings    map[string]*mesh.Session // to load graphs, and to measure
	benchmarks  map[string]*benchmark
}

var _ worker.Executor = (*Executor)(nil)

// NewExecutor makes an executor that holds nothing.
func NewExecutor(o ExecutorOptions) *Executor {
	o.Threads = max(o.Threads, 1)
	return &Executor{options: o, graphs: map[string]*loaded{}, jobs: map[string]*job{}, meetings: map[string]*mesh.Session{}, benchmarks: map[string]*benchmark{}}
}

// loaded is a share of a graph, and counts the commands and jobs that use it.
type loaded struct {
	*share
	*mem.Refs
	offer *control.Offer // of a graph of the catalog
}

// Registered makes the mesh by which workers meet, under the incarnation that they know this one by.
func (x *Executor) Registered(incarnation uint64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.mesh != nil && x.incarnation == incarnation {
		return nil
	}
	x.closeMesh()
	m, err := mesh.New(mesh.Options{
		Name: x.options.Name, Incarnation: incarnation, Token: x.options.Token.Secret(), Listener: newDoor(x.options.Listener),
		Dial: x.options.Dial, Compress: x.options.Compress, Silence: x.options.Silence, Hello: x.options.Silence, Log: x.options.Log,
	})
	if err != nil {
		return err
	}
	x.mesh, x.incarnation = m, incarnation
	return nil
}

// Close forgets everything and closes the listener.
func (x *Executor) Close() {
	x.Reset()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closeMesh()
	x.options.Listener.Close()
}

// Reset forgets all jobs and graphs.
func (x *Executor) Reset() { x.Keep(nil, nil)() }

// Keep forgets all jobs and graphs but these. What a command of an earlier session still uses is freed when it returns.
func (x *Executor) Keep(jobs, graphs []string) (free func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var old []interface{ Close() }
	for id, j := range x.jobs {
		if !slices.Contains(jobs, id) {
			delete(x.jobs, id)
			old = append(old, j)
		}
	}
	for id, b := range x.benchmarks {
		if !slices.Contains(jobs, id) {
			delete(x.benchmarks, id)
			old = append(old, b)
		}
	}
	for name, g := range x.graphs {
		if !slices.Contains(graphs, name) {
			delete(x.graphs, name)
			old = append(old, g)
		}
	}
	for _, m := range x.meetings {
		old = append(old, m)
	}
	x.meetings = map[string]*mesh.Session{}
	return func() {
		for _, o := range old {
			o.Close()
		}
	}
}

// Offers returns the graphs of the catalog of which the executor holds shares.
func (x *Executor) Offers() (all []*control.Offer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(x.graphs)) {
		if o := x.graphs[name].offer; o != nil {
			all = append(all, o)
		}
	}
	return all
}

// Holds returns how many jobs and graphs the executor holds a share of.
func (x *Executor) Holds() (jobs, graphs int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.jobs), len(x.graphs)
}

func (x *Executor) team() *parallel.Team { return parallel.NewTeam(x.options.Threads, false) }

// use finds a graph for a command, which must release it in the end.
func (x *Executor) use(name string) (*loaded, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	g := x.graphs[name]
	if g == nil || !g.Acquire() {
		return nil, fmt.Errorf("worker %s has no graph %s", x.options.Name, name)
	}
	return g, nil
}

// put stores what a command has made, in place of what was there, if any. When the command was told to stop meanwhile, who
// wanted it is gone: then it is closed.
func put[T interface {
	comparable
	Close()
}](ctx context.Context, x *Executor, into map[string]T, key string, made T) error {
	x.mu.Lock()
	old, err := made, context.Cause(ctx)
	if err == nil {
		old = into[key]
		into[key] = made
	}
	x.mu.Unlock()
	if old != *new(T) {
		old.Close()
	}
	return err
}

// Drop frees a graph, or with no name what the job holds.
func (x *Executor) Drop(_ context.Context, t worker.Task, graph string) error {
	x.part(graph)
	x.mu.Lock()
	g, j, b := x.graphs[graph], x.jobs[t.Job], x.benchmarks[t.Job]
	if graph != "" {
		delete(x.graphs, graph)
		j, b = nil, nil
	} else {
		delete(x.jobs, t.Job)
		delete(x.benchmarks, t.Job)
		g = nil
	}
	x.mu.Unlock()
	if j != nil {
		j.Close()
	}
	if b != nil {
		b.Close()
	}
	if g != nil {
		g.Close()
	}
	return nil
}

// Locate finds vertices by their input ids.
func (x *Executor) Locate(_ context.Context, _ worker.Task, l *control.Locate) (*control.Located, error) {
	g, err := x.use(l.Graph)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	found := &control.Located{}
	for _, label := range l.Labels {
		if id, ok := g.directory.Local(label); ok {
			found.Vertices = append(found.Vertices, &control.Vertex{Label: label, Id: uint64(id)})
		}
	}
	return found, nil
}

// Prepare makes a job ready for superstep 0.
func (x *Executor) Prepare(ctx context.Context, t worker.Task, p *control.Prepare) (*control.PrepareReport, error) {
	began := time.Now()
	if err := x.Drop(ctx, t, ""); err != nil { // of an attempt before
		return nil, err
	}
	g, err := x.use(p.Graph)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	j, err := x.newJob(ctx, t, p, g)
	if err != nil {
		return nil, err
	}
	facts, err := j.facts()
	if err != nil {
		j.Close()
		return nil, err
	}
	if err := put(ctx, x, x.jobs, t.Job, j); err != nil {
		return nil, err
	}
	return &control.PrepareReport{Seconds: time.Since(began).Seconds(), Facts: facts}, nil
}

// job finds what was prepared for an attempt. The command that asks must release it in the end.
func (x *Executor) job(t worker.Task) (*job, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	j := x.jobs[t.Job]
	if j == nil || j.epoch != t.Epoch || !j.Acquire() {
		return nil, fmt.Errorf("worker %s has nothing prepared for attempt %d of job %s", x.options.Name, t.Epoch, t.Job)
	}
	return j, nil
}

// Superstep runs a superstep of the job's partitions here.
func (x *Executor) Superstep(ctx context.Context, t worker.Task, s *control.Superstep) (*control.SuperstepReport, error) {
	j, err := x.job(t)
	if err != nil {
		return nil, err
	}
	defer j.Release()
	return j.superstep(ctx, s)
}

// Values passes the lines of the job's vertices here to emit.
func (x *Executor) Values(ctx context.Context, t worker.Task, v *control.Values, emit func([]byte) error) error {
	j, err := x.job(t)
	if err != nil {
		return err
	}
	defer j.Release()
	return j.values(ctx, v.GetSorted(), t.Progress, emit)
}

// Cancel has nothing to do beyond what ends with the command's context.
func (x *Executor) Cancel(worker.Task, string) {}

// door is a listener that many meshes have, one after the other: closing it leaves the listener open.
type door struct {
	Listener
	mu     sync.Mutex
	closed bool
}

func newDoor(l Listener) *door {
	_ = l.SetDeadline(time.Time{})
	return &door{Listener: l}
}

func (d *door) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		if err == nil {
			err = errors.Join(net.ErrClosed, c.Close())
		}
		return nil, err
	}
	return c, err
}

func (d *door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return d.SetDeadline(time.Unix(1, 0))
}
