package worker

import (
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

// executor executes the master's commands: it holds the worker's partitions of graphs and jobs.
// Commands of one job come one after the other, those of several jobs at once; loads and drops of
// one graph of the catalog as well. A context that ends says that the job was cancelled or the
// session is over: what is returned then goes nowhere.
//
// Invariant: graphs and attempts are freed when they were removed from these maps and the last
// command that uses them has returned, whatever its context; a command that finds one holds it by
// its mem.Refs until then. A job holds its graph.
type executor struct {
	options *Config
	network network

	mu          sync.Mutex
	mesh        *mesh.Mesh
	closed      bool
	past        mesh.Stats // of meshes that were closed
	incarnation uint64
	graphs      map[string]*localGraph
	attempts    map[string]*attempt      // by job
	peers       map[string]*mesh.Session // connected to load a graph, or for a job
}

func newExecutor(o *Config) *executor {
	return &executor{options: o, graphs: map[string]*localGraph{}, attempts: map[string]*attempt{}, peers: map[string]*mesh.Session{}}
}

// task says for whom a command is.
type task struct {
	job   string
	epoch uint32
	// progress takes how far the command is, for those who watch the job: done of total, which is 0
	// when it is not known. It does not wait, and may be called often and by several goroutines.
	progress func(stage string, done, total int64)
	// superstep is the number of the superstep under way and 1; 0 is none. observe is told when one
	// has ended here.
	superstep *atomic.Int64
	observe   func(seconds float64, reports []*bsp.Report)
}

// registered makes the mesh that connects workers, under the incarnation that they know this one
// by. If it is another than before, no command is under way. The master may be another one than
// before.
func (x *executor) registered(incarnation uint64, another bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed: // the worker has given a command up that does not stop
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

// stats returns what the data plane has counted, under all incarnations.
func (x *executor) stats() mesh.Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := x.past
	if x.mesh != nil {
		all.Add(x.mesh.Stats())
	}
	return all
}

// closeMesh ends the mesh there is. The lock is held.
func (x *executor) closeMesh() {
	if x.mesh == nil {
		return
	}
	x.mesh.Close()
	x.past.Add(x.mesh.Stats())
	x.mesh = nil
}

// close forgets everything and closes the listener.
func (x *executor) close() {
	x.reset()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	x.closeMesh()
	x.options.Listener.Close()
}

var errClosed = errors.New("the worker is closed")

// reset forgets all jobs and graphs.
func (x *executor) reset() { x.retain(nil, nil)() }

// retain forgets all jobs and graphs but these, and returns what frees their memory. What a command
// of an earlier session still uses is freed when that returns. Workers that have met for a job stay
// connected: the command to run it may be on its way.
func (x *executor) retain(jobs, graphs []string) (free func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var old []interface{ Close() }
	old = forget(old, x.attempts, jobs)
	for _, a := range old {
		a.(*attempt).stop(errDropped) // or it might store a graph that nobody removes
	}
	old = forget(old, x.graphs, graphs)
	met := make([]string, len(jobs))
	for i, id := range jobs {
		met[i] = resolve.OwnGraph(id)
	}
	old = forget(old, x.peers, met)
	return func() {
		for _, o := range old {
			o.Close()
		}
	}
}

// forget takes out of a map what has none of these names, and adds it to what is to be closed.
func forget[T closer](old []interface{ Close() }, from map[string]T, names []string) []interface{ Close() } {
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

func (x *executor) threads() *parallel.Team { return parallel.NewTeam(x.options.Threads, false) }

// use finds a graph for a command, which must release it in the end.
func (x *executor) use(name string) (*localGraph, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	g := x.graphs[name]
	if g == nil || !g.Acquire() {
		return nil, fmt.Errorf("worker %s has no graph %s", x.options.Name, name)
	}
	return g, nil
}

// closer is what the executor's maps have; its zero value is nothing.
type closer interface {
	comparable
	Close()
}

// store stores what a command has made, in place of what was there, if any. When the command was
// told to stop meanwhile, who wanted it is gone: then it is closed.
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

// remove closes something that is stored, if it is there.
func remove[T closer](x *executor, from map[string]T, key string) {
	x.mu.Lock()
	old := from[key]
	delete(from, key)
	x.mu.Unlock()
	if old != *new(T) {
		old.Close()
	}
}

// abandon stops all runs, which go on without a session.
func (x *executor) abandon(cause error) {
	x.mu.Lock()
	all := slices.Collect(maps.Values(x.attempts))
	x.mu.Unlock()
	for _, a := range all { // what one held last is freed here
		a.stop(cause)
	}
}

// drop frees a graph of the catalog, or with no name what the job holds. What is not there is no
// error.
func (x *executor) drop(t task, graph string) {
	if graph == "" {
		remove(x, x.attempts, t.job)
		graph = resolve.OwnGraph(t.job)
	}
	remove(x, x.peers, graph)
	remove(x, x.graphs, graph)
}

// locate finds vertices of a graph by their input ids; those of other workers are left out.
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
	for _, label := range l.Labels {
		if id, ok := g.directory.Local(label); ok {
			found.Vertices = append(found.Vertices, &control.Vertex{Label: label, Id: uint64(id)})
		}
	}
	for id := l.First; id < min(l.First+uint64(l.Count), uint64(g.N)); id++ {
		if g.Parts[id%uint64(len(g.Parts))] != nil {
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

// together returns a new attempt whose workers have met, which the caller releases.
func (x *executor) together(ctx context.Context, t task) (*attempt, error) {
	x.mu.Lock()
	session := x.peers[resolve.OwnGraph(t.job)]
	delete(x.peers, resolve.OwnGraph(t.job))
	x.mu.Unlock()
	if session == nil {
		return nil, fmt.Errorf("worker %s %w for job %s", x.options.Name, errUnmet, t.job)
	}
	a := newAttempt(x, t, session)
	a.Acquire()
	if err := store(ctx, x, x.attempts, t.job, a); err != nil {
		a.Release()
		return nil, err
	}
	return a, nil
}

// values passes the result of a job to emit, in pieces of any size: lines of its vertices here, or
// the report of a netbench.
func (x *executor) values(ctx context.Context, t task, v *control.Values, emit func([]byte) error) error {
	if v.Report {
		a, err := x.find(t)
		if err != nil {
			return err
		}
		defer a.Release()
		return emit(a.text)
	}
	a, j, err := x.job(t)
	if err != nil {
		return err
	}
	defer a.Release()
	return j.values(ctx, v, t.progress, emit)
}
