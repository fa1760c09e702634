package superstep

import (
	"context"
	"errors"
	"io"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/record"
)

// Delivery selects the scheme by which messages to all neighbours are delivered.
type Delivery uint8

// Schemes of delivery.
const (
	// in each superstep the scheme that the model predicts to be the fastest
	Auto     = Delivery(delivery.ChooseAuto)
	Push     = Delivery(delivery.ChoosePush)     // the fastest push
	Naive    = Delivery(delivery.ChooseNaive)    // push along the senders' own edges
	Mirrored = Delivery(delivery.ChooseMirrored) // send once to each partition, and push there
	// as Mirrored for the vertices with most edges, as Naive for the others
	Lalp = Delivery(delivery.ChooseLalp)
	// pull; in a grid with both sides above 1, from a whole block at once
	Whole = Delivery(delivery.ChooseBlockPull)
	// pull; in such a grid by sub-steps along the row, for combiners that need only one message
	// (Nakao20, 3.5)
	Ring = Delivery(delivery.ChooseRingPull)
	// send once to each partition, and pull there
	Pull = Delivery(delivery.ChoosePull)
)

// String returns the delivery's name: auto, push, naive and so on.
func (d Delivery) String() string { return delivery.Choice(d).String() }

// Options select how a program runs. The zero value runs it as fast as possible, on all processors.
type Options struct {
	// Threads is the total number of threads of the run; 0 means one per processor.
	Threads  int
	Delivery Delivery
	// Deterministic makes every value independent of threads, partitions and delivery: First and
	// Sender keep the message of the least id, and floats are added in the order of ids.
	Deterministic bool
	// Seed selects the random numbers of Vertex.Rand. The same seed gives the same numbers.
	Seed uint64
	// Zero lists the parameters of the program whose zero is intended. Any other field that is zero
	// gets the parameter's default.
	Zero []string
	// MaxSupersteps is the limit of supersteps; 0 means no limit.
	MaxSupersteps int
	// SuperstepTimeout is the limit of a superstep's time; 0 means no limit. If a superstep takes
	// longer, the run ends with an error that names it. Run still waits for a Compute that has not
	// returned.
	SuperstepTimeout time.Duration
	// Trace gets one line of JSON for the beginning of the run, for each superstep, and for the end
	// (docs/reference/formats.md). KeepTrace keeps the records of supersteps in the result.
	Trace     io.Writer
	KeepTrace bool
	// Columns give initial values to columns of the program: superstep.From(column, result),
	// superstep.FromFile(column, path). Columns of edges take values only from files.
	Columns     []Input
	Checkpoints CheckpointOptions
	// Progress, if not nil, is called after each superstep.
	Progress func(Progress)
	// Log gets the lines that the program logs. Several goroutines may call it at once.
	Log func(line string)
}

// CheckpointOptions select where and when a run stores checkpoints, and whether it resumes from
// one.
type CheckpointOptions struct {
	// A checkpoint is the state of a run between two supersteps. Place is the storage of the
	// checkpoints of a run in this process: a directory, which is created if missing, or
	// s3://BUCKET/PREFIX. Each run needs its own place. Without it there are no checkpoints.
	//
	// Checkpoints are stored while the run continues, every Every supersteps or Interval. Without
	// either the run chooses the interval by the cost of a checkpoint and MTBF, the mean time
	// between failures, 24 h by default. A run waits if the disk is too slow for Every or Interval.
	// When ctx ends, the run stores a last checkpoint, within 20 s. If checkpoints cannot be
	// stored, Log gets a line for each; with Strict the run ends after two in a row. The run
	// removes its checkpoints at its end; with Keep the last ones stay. The checkpoints of a run
	// that fails, is interrupted or reaches its limit stay.
	//
	// On a cluster the master has the place (master.Options.Checkpoints). Every, Interval, MTBF and
	// Strict apply to this job if any of them is given. Place, Keep and Resume are errors.
	Place          string
	Every          int
	Interval, MTBF time.Duration
	Strict, Keep   bool
	// Resume continues from the newest valid checkpoint, or begins a new run if there is none.
	// Program, parameters, graph, Seed and Deterministic must be the same as before. Threads,
	// partitions and Delivery may differ. With Fork, parameters and Seed may differ too: then it is
	// another run, Log gets a line about that, and its checkpoints replace those of the first run.
	// Without Resume it is an error if the place has checkpoints.
	Resume, Fork bool
}

// Validate returns an error if the options are invalid. Run does the same check.
func (o Options) Validate() error {
	return errors.Join(validThreads("Options", o.Threads), o.Checkpoints.validate())
}

// Progress is the state of a run after a superstep.
type Progress struct {
	Superstep int
	// vertices that ran; vertices whose messages to all neighbours were delivered
	Active, Senders int
	Scheme          string  // how messages to all neighbours were delivered
	Seconds         float64 // the superstep's time
}

// Result is the result of a run: a value for each vertex, and statistics.
type Result[V any] struct {
	graph   *Graph // the graph with the vertices
	values  []V    // by VertexID; may be used while owner is reachable
	owner   *mem.Owner
	job     string // on a cluster
	changed bool   // on a cluster, by a program that changes the graph

	// Supersteps is the number of supersteps. Ended is the reason for the end: "converged", the
	// program's own criterion holds; "iterations", it made the requested number of iterations;
	// "halted", all vertices sleep and no message is left, in a program without a criterion
	// (pregel.Traits.Converges); "limit", the limit of supersteps; "stopped", Coordinator.Stop.
	// Converged is true only for "converged".
	Supersteps int
	Ended      string
	Converged  bool
	// Messages counts the sent messages before combining, a message to all neighbours once per
	// edge. MessagesSent counts the values that were sent between partitions, and BytesSent their
	// bytes.
	Messages, MessagesSent, BytesSent int
	// NumVertices and NumEdges are the size of the graph after the run, as [Graph.NumVertices] and
	// [Graph.NumEdges] count.
	NumVertices int
	NumEdges    uint64
	// Seconds is the time of each superstep. It is NaN if the cluster forgot the time before this
	// process received it.
	Seconds []float64
	// Trace has the record of each superstep, if Options.KeepTrace was set.
	Trace []record.Superstep
	// Aggregates are the values of the program's aggregators after the last superstep, by name.
	// total.Value(res) returns the value of the aggregator total with its type.
	Aggregates map[string]any
	totals
}

// totals makes a Result a pregel.Context.
type totals = pregel.Context

// Run runs a program on a graph to its end. It returns an error if ctx ends, if the program panics
// (a *pregel.ProgramError), or if the program does not fit the graph. If the graph belongs to a
// cluster.Connection, the cluster runs the program that is registered there under the same name.
// Fields that are not parameters must then have their registered values.
func Run[V, M any](ctx context.Context, g *Graph, p pregel.Program[V, M], options ...Options,
) (r *Result[V], err error) {
	defer mem.Recover(&err)
	o, err := one(options)
	if err != nil {
		return nil, err
	}
	if !g.refs.Acquire() {
		return nil, errClosed
	}
	held := true // unless the result's graph shares memory with g
	defer func() {
		if held {
			g.refs.Release()
		}
	}()
	if g.elsewhere != nil {
		return runElsewhere[V](ctx, g, pregel.Erase(p), o)
	}
	program, err := engine.Complete(pregel.Erase(p), o.Zero)
	if err != nil {
		return nil, err
	}
	err = o.run(ctx, g, program,
		func(job *engine.Job, out *bsp.Outcome, records []record.Superstep) {
			r = result[V](g, job, out, records)
			held = r.graph == g
		})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// engine returns the options that the engine checks.
func (o *Options) engine() engine.Options {
	return engine.Options{
		Delivery: delivery.Choice(o.Delivery), Deterministic: o.Deterministic, Seed: o.Seed,
		MaxSupersteps: o.MaxSupersteps, SuperstepTimeout: o.SuperstepTimeout, Log: o.Log,
	}
}

// run runs a program in this process, and calls done with its results.
func (o *Options) run(
	ctx context.Context, g *Graph, p engine.Erased,
	done func(job *engine.Job, out *bsp.Outcome, records []record.Superstep),
) (err error) {
	team := newTeam(o.Threads)
	defer team.Close()
	sink, eo := &recorder{keep: o.KeepTrace}, o.engine()
	eo.Team = team
	if o.Progress != nil {
		eo.Progress = func(p bsp.Progress) { o.Progress(Progress(p)) }
	}
	switch {
	case o.Trace != nil:
		eo.Trace = trace.Tee{sink, trace.NewWriter(o.Trace)}
	case o.KeepTrace:
		eo.Trace = sink
	}
	kept, err := o.keepCheckpoints(ctx, &eo, g.NumVertices())
	if err != nil {
		return err
	}
	complete := false
	defer func() { err = errors.Join(err, kept.End(complete)) }()
	job, err := engine.NewJob(ctx, g.g, p, eo)
	if err != nil {
		return err
	}
	defer job.Close()
	if err := prefillAll(ctx, g, job, o.Columns); err != nil {
		return err
	}
	running, release := eo.Checkpoints.Linger(ctx)
	defer release()
	outcome, err := job.Run(running)
	if err != nil {
		return err
	}
	complete = outcome.Ended.Complete()
	done(job, outcome, sink.records)
	return nil
}

// newResult returns the result of a run without the values of vertices.
func newResult[V any](
	g *Graph, o *bsp.Outcome, seconds []float64, records []record.Superstep,
	aggregates bsp.Aggregates, totals []kernel.Cell,
) *Result[V] {
	return &Result[V]{
		graph: g, Supersteps: o.Supersteps, Ended: string(o.Ended),
		Converged: o.Ended == trace.Converged, Messages: o.Messages, MessagesSent: o.Sent,
		BytesSent: o.Bytes, Seconds: seconds, Trace: records, Aggregates: aggregates.Values(totals),
		totals: kernel.Pregel.Coordinator(0, 0, totals, nil).(pregel.Context),
	}
}

func result[V any](
	g *Graph, job *engine.Job, o *bsp.Outcome, records []record.Superstep,
) *Result[V] {
	r := newResult[V](g, o, slices.Clone(job.Times()), records, job.Aggregates(), job.Totals())
	deal := job.Graph().Deal
	owned := func(part int) []V { return kernel.Elements[V](job.Values(part))[:job.Owned(part)] }
	if deal.Partitions() == 1 {
		ok := false
		r.values = owned(0)
		if r.owner, ok = mem.HandOver(job.Arena(0), r.values); !ok {
			r.values = slices.Clone(r.values) // Clone does not clear the memory first
		}
	} else {
		r.values = make([]V, job.IDs())
		for part := range deal.Partitions() {
			for i, v := range owned(part) {
				r.values[deal.ID(part, uint32(i))] = v
			}
		}
	}
	if changed := job.TakeGraph(); changed != nil {
		r.graph = g.derived(changed)
	}
	r.NumVertices, r.NumEdges = r.graph.NumVertices(), r.graph.NumEdges()
	return r
}

// All yields the input id and the value of every vertex, ordered by VertexID, which is by falling
// degree.
func (r *Result[V]) All() iter.Seq2[uint64, V] {
	return func(yield func(uint64, V) bool) {
		release := r.open()
		defer release()
		for i, v := range r.values {
			if r.graph.g.Absent(pregel.VertexID(i)) {
				continue
			}
			if !yield(r.graph.g.Label(pregel.VertexID(i)), v) {
				return
			}
		}
	}
}

// Value returns the value of a vertex, or zero if the program removed it. It panics if the vertex
// never existed.
func (r *Result[V]) Value(id pregel.VertexID) V {
	v := r.values[id]
	runtime.KeepAlive(r)
	return v
}

// At returns the value of the vertex with an input id, and whether it exists.
func (r *Result[V]) At(label uint64) (v V, ok bool) {
	id, ok := r.graph.Vertex(label)
	if !ok {
		return v, false
	}
	return r.Value(id), true
}

// Graph returns the graph after the run. If the program did not change the graph, that is the graph
// it ran on. Otherwise it is a second graph, which shares memory with the first; other programs can
// run on it. It must stay open while results are read.
//
// On a cluster it is nil if the program changed the graph, because the changed graph ended with the
// job. The result can be read while the graph that the program ran on is open.
func (r *Result[V]) Graph() *Graph {
	if r.changed {
		return nil
	}
	return r.graph
}

// recorder keeps the records of supersteps, if keep is set.
type recorder struct {
	keep    bool
	records []record.Superstep
}

// Record implements trace.Sink.
func (k *recorder) Record(e trace.Event) error {
	if s, ok := e.(*record.Superstep); ok && k.keep {
		k.records = append(k.records, *s.Clone())
	}
	return nil
}
