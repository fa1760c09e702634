package superstep

import (
	"context"
	"errors"
	"io"
	"iter"
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

// Delivery says how messages to neighbours reach their receivers.
type Delivery uint8

// How messages to neighbours reach their receivers.
const (
	// every superstep as the model predicts to be the fastest
	Auto     = Delivery(delivery.ChooseAuto)
	Push     = Delivery(delivery.ChoosePush)     // the best push there is
	Naive    = Delivery(delivery.ChooseNaive)    // pushed along the senders' own edges
	Mirrored = Delivery(delivery.ChooseMirrored) // sent once to each partition, pushed there
	// pulled; in a grid with both sides above 1, through the whole block at once
	Whole = Delivery(delivery.ChooseBlockPull)
	// pulled; in such a grid by sub-steps along the row, for combiners that want any one message
	// (Nakao20, 3.5)
	Ring = Delivery(delivery.ChooseRingPull)
	// sent once to each partition, pulled by the receivers
	Pull = Delivery(delivery.ChoosePull)
)

// String returns the delivery's name: auto, push, naive and so on.
func (d Delivery) String() string { return delivery.Choice(d).String() }

// Options say how a program is run. The zero value runs it as fast as it goes, on all processors.
type Options struct {
	// Threads is how many threads the run uses, of all partitions together; 0 is one for each
	// processor.
	Threads  int
	Delivery Delivery
	// Deterministic makes every value the same for any threads, partitions and delivery: First and
	// Sender keep the least id, and floats are added in the order of ids.
	Deterministic bool
	// Seed chooses the random numbers that the program gets from Vertex.Rand. The same seed gives
	// the same numbers.
	Seed uint64
	// Zero names the program's parameters whose zero is meant: a field that is zero has the
	// parameter's default otherwise.
	Zero []string
	// MaxSupersteps ends the run after so many; 0 is no limit.
	MaxSupersteps int
	// SuperstepTimeout ends the run, with an error that names the superstep, when one takes longer;
	// 0 is no limit. A Compute that does not return is waited for.
	SuperstepTimeout time.Duration
	// Trace gets a JSON object a line for each superstep, after one that begins the run and before
	// one that ends it (docs/reference/formats.md). KeepTrace keeps the supersteps' in the result.
	Trace     io.Writer
	KeepTrace bool
	// Columns are columns of the program that begin with the values of earlier results, functions
	// or files, those of edges with files alone: superstep.From(column, result),
	// superstep.FromFile(column, path).
	Columns     []Input
	Checkpoints CheckpointOptions
	// Progress, if not nil, is called after each superstep.
	Progress func(Progress)
	// Log gets the lines that the program logs; several goroutines may call it at once.
	Log func(line string)
}

// CheckpointOptions say where and when a run keeps checkpoints, and whether it goes on from one.
type CheckpointOptions struct {
	// Place is where a run in this process keeps checkpoints, its state between two supersteps: a
	// directory, which is made if there is none, or s3://BUCKET/PREFIX, a place for each run; by
	// default nowhere. They are stored beside the run, every Every supersteps or Interval; without
	// either as often as pays by what one costs and MTBF, the mean time between failures, default
	// 24 h. A run waits for a disk that is too slow for Every or Interval. When ctx ends, it leaves
	// a checkpoint of where it is, within 20 s. Strict ends the run when two in a row cannot be
	// stored; otherwise Log gets a line for each. They are removed when the run is done, unless
	// Keep leaves the last ones; those of a run that fails, is interrupted or comes to its limit
	// stay.
	//
	// On a cluster the master says where jobs keep theirs (master.Options.Checkpoints), and Every,
	// Interval, MTBF and Strict when this one takes them, if any is given; Place, Keep and Resume
	// are refused.
	Place          string
	Every          int
	Interval, MTBF time.Duration
	Strict, Keep   bool
	// Resume continues from the newest checkpoint that is in order, or begins if there is none.
	// Program, parameters, graph, Seed and Deterministic must be those of the run before. With
	// Fork, parameters and Seed may be others: then it is another run, and Log gets a line that
	// says so. Its checkpoints take the place of the first run's. Threads, partitions and Delivery
	// may be others. Without Resume a place that has checkpoints is refused.
	Resume, Fork bool
}

// Validate returns what is wrong with the options, as Run does.
func (o Options) Validate() error {
	return errors.Join(validThreads("Options", o.Threads), o.Checkpoints.validate())
}

// Progress is how far a run is.
type Progress struct {
	Superstep int
	// vertices that ran, and those whose messages to neighbours were delivered
	Active, Senders int
	Scheme          string  // how messages to neighbours were delivered
	Seconds         float64 // of the superstep
}

// Result is what a run left: a value for each vertex, and how it went.
type Result[V any] struct {
	graph   *Graph // that has the vertices
	values  []V    // by handle
	job     string // on a cluster
	changed bool   // on a cluster, by a program that changes the graph

	// Supersteps is how many ran. Ended says how the run ended: "converged", the program's own
	// criterion held; "iterations", it made all that it was asked for; "halted", all vertices slept
	// and no message was left, in a program without a criterion (pregel: Converges); "limit", of
	// supersteps; "stopped", by Coordinator.Stop. Converged is true of the first alone.
	Supersteps int
	Ended      string
	Converged  bool
	// Messages counts the messages sent, a message to all neighbours once for each edge, before
	// combining; MessagesSent the values that crossed between partitions, and BytesSent their
	// bytes.
	Messages, MessagesSent, BytesSent int
	// NumVertices and NumEdges are of the graph as the program left it, counted as
	// [Graph.NumVertices] and [Graph.NumEdges] do.
	NumVertices int
	NumEdges    uint64
	// Seconds is the time of each superstep; NaN where a cluster had forgotten it before this
	// process heard of it.
	Seconds []float64
	// Trace is what each superstep did, if it was kept.
	Trace []record.Superstep
	// Aggregates are the values of the program's aggregators after the last superstep that ran, by
	// name: total.Value(res) is one of them, in its type.
	Aggregates map[string]any
	totals
}

// totals makes a Result a pregel.Context.
type totals = pregel.Context

// Run runs a program on a graph to its end. It fails when ctx ends, when the program panics (with a
// *pregel.ProgramError), and when the program does not fit the graph. On a graph of a
// cluster.Connection the cluster runs it, under the name by which it is registered: its fields that
// are no parameters must be as they were registered.
func Run[V, M any](ctx context.Context, g *Graph, p pregel.Program[V,
	M], options ...Options,
) (r *Result[V], err error) {
	defer mem.Recover(&err)
	o, err := one(options)
	if err != nil {
		return nil, err
	}
	if !g.refs.Acquire() {
		return nil, errClosed
	}
	held := true // unless the graph of the result keeps what it shares with g
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

// run runs a program in this process, and passes on what it leaves.
func (o *Options) run(
	ctx context.Context, g *Graph, p engine.Erased,
	done func(job *engine.Job, out *bsp.Outcome, records []record.Superstep),
) (err error) {
	team := newTeam(o.Threads)
	defer team.Close()
	sink := &recorder{keep: o.KeepTrace}
	eo := engine.Options{
		Team: team, Delivery: delivery.Choice(o.Delivery), Deterministic: o.Deterministic,
		Seed:          o.Seed,
		MaxSupersteps: o.MaxSupersteps, SuperstepTimeout: o.SuperstepTimeout, Log: o.Log,
	}
	if o.Progress != nil {
		eo.Progress = func(p bsp.Progress) {
			o.Progress(Progress{p.Superstep, p.Active, p.Senders, p.Scheme.String(), p.Seconds})
		}
	}
	switch {
	case o.Trace != nil:
		eo.Trace = trace.Tee{sink, trace.NewWriter(o.Trace)}
	case o.KeepTrace:
		eo.Trace = sink
	}
	kept, err := o.keepCheckpoints(ctx, &eo, p, g.NumVertices())
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

// newResult is the result of a run without the values of vertices.
func newResult[V any](
	g *Graph, o *bsp.Outcome, seconds []float64, records []record.Superstep,
	aggregates bsp.Aggregates, totals []kernel.Cell,
) *Result[V] {
	return &Result[V]{
		graph: g, Supersteps: o.Supersteps, Ended: string(o.Ended),
		Converged: o.Ended == trace.Converged, Messages: o.Messages,
		MessagesSent: o.Sent, BytesSent: o.Bytes, Seconds: seconds, Trace: records,
		Aggregates: aggregates.Values(totals),
		totals:     kernel.Pregel.Coordinator(0, 0, totals, nil).(pregel.Context),
	}
}

func result[V any](g *Graph, job *engine.Job, o *bsp.Outcome, records []record.Superstep) *Result[V] {
	r := newResult[V](g, o, slices.Clone(job.Times()), records, job.Aggregates(), job.Totals())
	of := len(job.Graph().Parts)
	owned := func(part int) []V { return kernel.Elements[V](job.Values(part))[:job.Owned(part)] }
	if of == 1 {
		r.values = slices.Clone(owned(0)) // which clears nothing first
	} else {
		r.values = make([]V, job.IDs())
		for part := range of {
			for i, v := range owned(part) {
				r.values[part+i*of] = v
			}
		}
	}
	if changed := job.TakeGraph(); changed != nil {
		r.graph = g.derived(changed)
	}
	r.NumVertices, r.NumEdges = r.graph.NumVertices(), r.graph.NumEdges()
	return r
}

// All yields the input id and the value of every vertex, in the order of handles: by falling
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

// Value returns the value of a vertex, zero if the program has removed it. It panics if there never
// was such a vertex.
func (r *Result[V]) Value(id pregel.VertexID) V { return r.values[id] }

// At returns the value of the vertex with an input id, and whether there is one.
func (r *Result[V]) At(label uint64) (v V, ok bool) {
	id, ok := r.graph.Vertex(label)
	if !ok {
		return v, false
	}
	return r.values[id], true
}

// Graph returns the graph that the program ran on or, if it has changed that, as it has left it: a
// graph of its own, on which other programs run, and which keeps what it shares with the first. It
// must stay open while results are read.
//
// It is nil of a program that changes the graph, on a cluster: what has become of the graph is gone
// with the job there. The result is read while the graph that the program ran on is open.
func (r *Result[V]) Graph() *Graph {
	if r.changed {
		return nil
	}
	return r.graph
}

// recorder holds records, if they are to be kept.
type recorder struct {
	keep    bool
	records []record.Superstep
}

// Record takes an event.
func (k *recorder) Record(e trace.Event) error {
	if s, ok := e.(*record.Superstep); ok && k.keep {
		k.records = append(k.records, *s.Clone())
	}
	return nil
}
