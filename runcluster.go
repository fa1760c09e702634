package superstep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/jobspec"
	"github.com/superstep-go/superstep/internal/jobtrace"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/transport/pack"
	"github.com/superstep-go/superstep/pregel"
)

// runOnCluster runs a program on a graph of a cluster, as a job.
func runOnCluster[V, M any](ctx context.Context, g *Graph, p pregel.Program[V, M], o Options) (*Result[V], error) {
	ctx, release, err := g.conn.use(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	t := reflect.TypeFor[V]()
	encoding, err := pack.NewValues(t, mem.PointerFreeType(t))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", engine.Name(pregel.Erase(p).Program), err)
	}
	program, err := engine.NewProgram(pregel.Erase(p))
	if err != nil {
		return nil, err
	}
	spec, err := g.conn.job(g, pregel.Erase(p).Program, o)
	if err != nil {
		return nil, err
	}
	spec.Values = encoding.Type()
	if err := g.conn.addInputs(ctx, spec, g, program, o.Columns); err != nil {
		return nil, err
	}
	w := &watched{options: o, recorder: &recorder{keep: o.KeepTrace}, seconds: map[int]float64{}}
	w.out.w = o.Trace
	if o.Trace != nil {
		w.recorder.writer = trace.NewWriter(&w.out)
	}
	w.trace.New = func() trace.Journal {
		named := &trace.Named{To: w.recorder, Name: engine.Name(pregel.Erase(p).Program)}
		if o.Trace != nil {
			named.To = journal{w.recorder.writer, w.recorder}
		}
		return &jobtrace.Late{To: named}
	}
	job, err := g.conn.client.Run(ctx, spec, w.event)
	if err != nil {
		return nil, err
	}
	if job.State != control.JobState_JOB_STATE_DONE {
		return nil, jobError(job)
	}
	if lost := int(job.Supersteps) - len(w.seconds); lost > 0 && (o.Trace != nil || o.KeepTrace) {
		return nil, fmt.Errorf("superstep: the trace of job %s lacks %d of its %d supersteps: this client was slower than the master remembers", job.Id, lost, job.Supersteps)
	}
	values, left, err := valuesOf[V](ctx, g, job)
	if err != nil {
		return nil, err
	}
	aggregates := program.Aggregates(o.Deterministic)
	totals, err := totalsOf(job, aggregates)
	if err != nil {
		return nil, err
	}
	r := &Result[V]{
		graph: left, job: job.Id, values: values, changed: left != g, NumVertices: left.g.Vertices(), NumEdges: left.g.Arcs, Supersteps: int(job.Supersteps), Converged: job.Converged, Messages: int(job.Messages),
		MessagesSent: int(job.MessagesSent), BytesSent: int(job.BytesSent),
		Seconds: w.times(int(job.Supersteps)), Trace: w.recorder.records,
	}
	r.aggregates(aggregates, totals)
	return r, nil
}

// valuesOf fetches the values of a job's vertices, and returns them with the graph that has these: another than g if the program changes it,
// which is closed with g.
func valuesOf[V any](ctx context.Context, g *Graph, job *control.Job) ([]V, *Graph, error) {
	vertices, size := g.g.N, job.GraphLeft
	column, err := pack.NewColumn[V](g.g.N, len(g.g.Parts))
	if size != nil {
		if size.Ids > graph.MaxVertices || size.Ids < uint64(g.g.N) || size.Vertices > size.Ids {
			return nil, nil, fmt.Errorf("superstep: job %s has left %d vertices with ids below %d", job.Id, size.Vertices, size.Ids)
		}
		column, err = pack.NewGappedColumn[V](int(size.Ids), len(g.g.Parts))
		vertices = int(size.Vertices)
	}
	if err != nil {
		return nil, nil, err
	}
	if _, err := g.conn.client.Result(ctx, job.Id, column); err != nil {
		return nil, nil, err
	}
	if err := column.Whole(vertices); err != nil {
		return nil, nil, fmt.Errorf("superstep: the result of job %s: %w", job.Id, err)
	}
	if size == nil {
		return column.Values, g, nil
	}
	return column.Values, &Graph{g: g.g.WithVertices(int(size.Ids), size.Arcs, column.Has), conn: g.conn, named: g.named, refs: g.refs}, nil
}

// totalsOf are the values of a job's aggregators. One that was too large to travel, which the log said, has none.
func totalsOf(job *control.Job, aggregates bsp.Aggregates) ([]kernel.Cell, error) {
	cells, told := aggregates.Cells(), map[string][]byte{}
	for _, a := range job.Aggregators {
		told[a.Name] = a.Value
	}
	for _, a := range aggregates.All {
		if len(told[a.Name]) == 0 {
			cells[a.Number] = nil
			continue
		}
		if err := cells[a.Number].Decode(told[a.Name], pack.IntoValue); err != nil {
			return nil, fmt.Errorf("superstep: job %s: aggregator %s: %w", job.Id, a.Name, err)
		}
	}
	return cells, nil
}

// job is a program as a cluster is told of it.
func (c *Connection) job(g *Graph, program any, o Options) (*control.JobSpec, error) {
	switch {
	case o.Threads != 0:
		return nil, errors.New("superstep: Options.Threads are of a run in this process: each worker has its own")
	case o.Checkpoints != "" || o.KeepCheckpoints || o.Resume:
		return nil, errors.New("superstep: Options.Checkpoints, KeepCheckpoints and Resume are of a run in this process: on a cluster the master says where jobs keep theirs")
	case o.MaxSupersteps < 0 || o.MaxSupersteps > math.MaxUint32:
		return nil, fmt.Errorf("superstep: a limit of %d supersteps: expected 0, for none, to %d", o.MaxSupersteps, uint32(math.MaxUint32))
	case !delivery.Choice(o.Delivery).Valid():
		return nil, fmt.Errorf("superstep: there is no delivery %d", o.Delivery)
	}
	label := func(id pregel.VertexID) (uint64, bool) {
		if uint64(id) >= uint64(g.g.N) {
			return 0, false
		}
		return g.g.Label(id), true
	}
	var when *control.KeepWhen
	if policy := o.checkpointPolicy(); policy != (checkpoint.Policy{}) {
		when = jobspec.KeepWhen(policy)
	}
	var refused error
	for _, e := range c.programs {
		switch values, ok, err := e.Given(program, label); {
		case err != nil:
			refused = fmt.Errorf("superstep: %w", err)
		case ok:
			return &control.JobSpec{
				Program: e.Name, Parameters: values, Graph: g.g.Name, Load: g.load, KeepResult: true, Unsorted: true, Form: e.Form(), KeepWhen: when,
				Options: &control.RunOptions{
					Delivery: o.Delivery.String(), Deterministic: o.Deterministic, MaxSupersteps: uint32(o.MaxSupersteps),
					SuperstepTimeout: int64(o.SuperstepTimeout), Trace: o.Trace != nil, Seed: o.Seed,
				},
			}, nil
		}
	}
	if refused != nil {
		return nil, refused
	}
	return nil, fmt.Errorf("superstep: program %s is none of the cluster's: give ConnectOptions.Programs what superstep.Register returns for it, "+
		"with the name under which the cluster's binary registers it", engine.Name(program))
}

// watched is a job as its events are heard of.
type watched struct {
	options  Options
	recorder *recorder
	trace    jobtrace.Observer
	out      sticky
	seconds  map[int]float64 // of each superstep that was heard of
}

// times returns the seconds of each superstep, NaN of those that were not heard of.
func (w *watched) times(supersteps int) []float64 {
	times := make([]float64, supersteps)
	for i := range times {
		seconds, ok := w.seconds[i]
		if times[i] = seconds; !ok {
			times[i] = math.NaN()
		}
	}
	return times
}

func (w *watched) event(e *control.JobEvent) error {
	w.trace.Event("", e)
	switch body := e.Body.(type) {
	case *control.JobEvent_Log:
		if w.options.Log != nil {
			w.options.Log(body.Log.Text)
		}
	case *control.JobEvent_Record:
		r := body.Record
		at := Progress{Superstep: int(r.Superstep), Scheme: r.Scheme, Seconds: r.Seconds}
		computed := uint64(0)
		for _, p := range r.Partitions {
			computed += p.Computed
			at.Active += int(p.Active)
			at.Senders += int(p.Senders)
		}
		if computed == 0 {
			break // nobody ran: it was none
		}
		w.seconds[at.Superstep] = r.Seconds
		if w.options.Progress != nil {
			w.options.Progress(at)
		}
	}
	return w.out.err
}

// sticky remembers that something could not be written.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.err = cmp.Or(s.err, err)
	return n, err
}

// jobError is why a job is not done.
func jobError(job *control.Job) error {
	switch {
	case job.Panic != nil:
		return job.Panic.Err()
	case job.State == control.JobState_JOB_STATE_CANCELLED:
		return fmt.Errorf("superstep: job %s was cancelled: %s", job.Id, job.Reason)
	default:
		return fmt.Errorf("superstep: job %s: %s", job.Id, job.Reason)
	}
}
