package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/internal/transport/mesh"
	"github.com/superstep-go/superstep/pregel"
)

// executor executes the master's commands. It holds the worker's partitions of graphs and jobs.
// Commands of the same job run one after the other, commands of different jobs concurrently. The
// same applies to loads and drops of a graph of the catalog. When a context ends, the job was
// cancelled or the session has ended, and the command's result is discarded.
//
// Invariant: a graph or attempt is freed after its removal from these maps and the return of the
// last command that uses it, even if the command's context has ended. A command holds what it uses
// by its mem.Refs. A job holds its graph.
type executor struct {
	options *Config
	network network

	mu          sync.Mutex
	mesh        *mesh.Mesh
	closed      bool
	past        mesh.Stats // counters of closed meshes
	incarnation uint64
	graphs      map[string]*localGraph
	attempts    map[string]*attempt // by the job's own graph, or by the graph to load
}

func newExecutor(o *Config) *executor {
	return &executor{
		options: o, graphs: map[string]*localGraph{}, attempts: map[string]*attempt{},
	}
}

// task has the context of a command.
type task struct {
	job   string
	epoch uint32
	// progress reports the command's progress to watchers: done of total units, or 0 if the total
	// is not known. It does not block. Several goroutines may call it, also frequently.
	progress func(stage string, done, total int64)
	// superstep is the number of the current superstep plus 1, or 0. observe is called when a
	// superstep has ended.
	superstep *atomic.Int64
	observe   func(seconds float64, reports []*bsp.Report)
}

// registered makes the mesh that connects workers, for the incarnation that the master assigned. If
// the incarnation is new, no command is running. another means that the master is another one than
// before.
func (x *executor) registered(incarnation uint64, another bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed: // the worker gave up a command that does not stop
		return errClosed
	case x.mesh != nil && x.incarnation == incarnation:
		if another {
			x.mesh.ForgetAbsent()
		}
		return nil
	}
	x.closeMesh()
	m, err := mesh.New(mesh.Options{
		Name: x.options.Name, Incarnation: incarnation, Token: x.options.Token.Secret(),
		TLS: x.options.TLS, Listener: daemon.Reuse(x.options.Listener),
		Dial: x.options.Dial, Compress: mesh.Compression(x.options.Compress),
		Silence: x.options.Silence, Hello: x.options.Silence, Log: x.options.Log,
		Window: int(x.options.Window), MostWindow: int(x.options.Window),
		Spare: mem.Available() / windowsShare,
	})
	if err != nil {
		return err
	}
	x.mesh, x.incarnation = m, incarnation
	return nil
}

// stats returns the counters of the data plane, over all incarnations.
func (x *executor) stats() mesh.Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := x.past
	if x.mesh != nil {
		all.Add(x.mesh.Stats())
	}
	return all
}

// closeMesh closes the mesh, if there is one. The caller holds the lock.
func (x *executor) closeMesh() {
	if x.mesh == nil {
		return
	}
	x.mesh.Close()
	x.past.Add(x.mesh.Stats())
	x.mesh = nil
}

// close frees everything and closes the listener.
func (x *executor) close() {
	x.reset()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	x.closeMesh()
	x.options.Listener.Close()
}

var errClosed = errors.New("the worker is closed")

// reset frees all jobs and graphs.
func (x *executor) reset() { x.retain(nil, nil)() }

// retain removes all jobs and graphs but the given ones, and returns a function that frees their
// memory. Memory that a command of an earlier session still uses is freed when the command returns.
// Workers connected for a kept job stay connected, because the command to run it may be on its way.
func (x *executor) retain(jobs, graphs []string) (free func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	own := make([]string, len(jobs))
	for i, id := range jobs {
		own[i] = resolve.OwnGraph(id)
	}
	var old []interface{ Close() }
	old = forget(old, x.attempts, own)
	for _, a := range old {
		a.(*attempt).stop(errDropped) // otherwise it might store a graph that nobody removes
	}
	old = forget(old, x.graphs, graphs)
	return func() {
		for _, o := range old {
			o.Close()
		}
	}
}

// forget moves the entries with other names from a map to old.
func forget[T closer](
	old []interface{ Close() }, from map[string]T, names []string,
) []interface{ Close() } {
	for name, x := range from {
		if !slices.Contains(names, name) {
			delete(from, name)
			old = append(old, x)
		}
	}
	return old
}

// offers returns the graphs of the catalog of which the worker holds partitions.
func (x *executor) offers() (all []*control.Offer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(x.graphs)) {
		if o := x.graphs[name].offer; o != nil {
			all = append(all, o)
		}
	}
	return all
}

func (x *executor) team() *parallel.Team { return parallel.NewTeam(x.options.Threads, false) }

// use finds and acquires a graph for a command, which must release it.
func (x *executor) use(name string) (*localGraph, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	g := x.graphs[name]
	if g == nil || !g.Acquire() {
		return nil, fmt.Errorf("worker %s has no graph %s", x.options.Name, name)
	}
	return g, nil
}

// closer is the constraint of the values in the executor's maps. The zero value means no entry.
type closer interface {
	comparable
	Close()
}

// store stores the result of a command, and closes the entry that it replaces. If the command was
// cancelled meanwhile, store closes the result instead.
func store[T closer](ctx context.Context, x *executor, to map[string]T, key string, made T) error {
	x.mu.Lock()
	old, err := made, context.Cause(ctx)
	if err == nil {
		old = to[key]
		to[key] = made
	}
	x.mu.Unlock()
	if old != *new(T) {
		old.Close()
	}
	return err
}

// remove removes and closes an entry, if it exists.
func remove[T closer](x *executor, from map[string]T, key string) {
	x.mu.Lock()
	old := from[key]
	delete(from, key)
	x.mu.Unlock()
	if old != *new(T) {
		old.Close()
	}
}

// abandon stops all runs. Without it they would continue without a session.
func (x *executor) abandon(cause error) {
	x.mu.Lock()
	all := slices.Collect(maps.Values(x.attempts))
	x.mu.Unlock()
	for _, a := range all { // frees attempts that nobody else uses
		a.stop(cause)
	}
}

// drop frees a graph of the catalog or, without a name, everything that the job holds. It ignores
// what does not exist.
func (x *executor) drop(t task, graph string) {
	graph = cmp.Or(graph, resolve.OwnGraph(t.job))
	remove(x, x.attempts, graph)
	remove(x, x.graphs, graph)
}

// locate finds vertices of a graph by input id. It omits vertices of other workers.
func (x *executor) locate(l *control.Locate) (*control.Located, error) {
	g, err := x.use(l.Graph)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	return g.locate(l), nil
}

func (g *localGraph) locate(l *control.Locate) *control.Located {
	found := &control.Located{}
	for id := l.First; id < min(l.First+uint64(l.Count), uint64(g.N)); id++ {
		if partition, _ := g.Deal.Of(uint32(id)); g.Parts[partition] != nil {
			found.Labels = append(found.Labels, g.Label(pregel.VertexID(id)))
		}
	}
	for _, name := range l.Names {
		if label, ok := g.directory.Names.Find(name); ok {
			found.Names = append(found.Names, &control.Name{Name: name, Label: label})
		}
	}
	for _, label := range l.NamesOf {
		if name, ok := g.directory.Names.Append(nil, label); ok {
			found.Names = append(found.Names, &control.Name{Name: string(name), Label: label})
		}
	}
	return found
}

// connectPeers opens a session with the workers that will load a graph or do a job together. A
// load, run or drop follows. It removes the job's earlier attempt, which nobody continues.
func (x *executor) connectPeers(ctx context.Context, t task, m *control.Meet) error {
	remove(x, x.attempts, m.Graph)
	at := placesOf(m.Placements)
	session, err := x.connect(ctx, fmt.Sprintf("load %d %s", m.Attempt, m.Graph), 0, at.layout, nil)
	if err != nil {
		return err
	}
	group, err := at.group(session.Link())
	if err != nil {
		session.Close()
		return err
	}
	return store(ctx, x, x.attempts, m.Graph, newAttempt(x, t, session, at, group))
}

// errUnmet is the error of a load or run without a session of connectPeers: the worker has attached
// again since, which closes such sessions.
var errUnmet = errors.New("is not connected to others")

// together returns the attempt of connectPeers for a graph to load or, without a name, for a job.
// The caller must release it.
func (x *executor) together(ctx context.Context, t task, graph string) (*attempt, error) {
	key := cmp.Or(graph, resolve.OwnGraph(t.job))
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	a := x.attempts[key]
	if a == nil || a.begun || !a.Acquire() {
		return nil, fmt.Errorf("worker %s %w for %s", x.options.Name, errUnmet, key)
	}
	if a.task, a.begun = t, true; graph != "" { // only the command uses it
		delete(x.attempts, key)
		a.Close()
	}
	return a, nil
}

// values passes this worker's part of the result of a job to emit: the lines of its vertices, or
// the report of a netbench.
func (x *executor) values(
	ctx context.Context, t task, v *control.Values, emit func([]byte) error,
) error {
	a, err := x.find(t)
	if err != nil {
		return err
	}
	defer a.Release()
	if v.Report {
		return emit(a.text)
	}
	a.mu.Lock()
	j := a.job
	a.mu.Unlock()
	if j == nil {
		return x.unprepared(t)
	}
	return j.values(ctx, v, t.progress, emit)
}
