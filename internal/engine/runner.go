package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// runner runs the supersteps of one partition in a job, and holds the columns of its vertices.
//
// Invariant: between supersteps, active &^ finished == active; every bit beyond Owned is zero in all bitmaps.
type runner struct {
	job      *Job
	loaded   *graph.Partition // as the graph was loaded
	part     *graph.Partition // as it is after changes
	arena    *mem.Arena       // of what place makes: the job's, unless the graph may change
	store    *mem.Arena       // of messages that are kept one by one
	instance pregel.Instance  // what the partition has of the program's types
	hub      atomic.Uint64    // 1 more than the last vertex with so many messages that they want room, of a list program
	changing changing
	team     *parallel.Team
	exchange *delivery.Exchange
	traits   kernel.Traits // of both columns
	// The column of messages to all neighbours, and the second one, for in-neighbours, of a program of direction Either.
	column
	back    *column
	columns []*column // the one, or both

	list     bool // the program is a list program
	active   []uint64
	finished []uint64       // by slot: ghosts never are
	inbox    delivery.Inbox // made when first needed
	grids    grids
	early    early

	layout     graph.Layout        // of the program's direction
	pulls      []pull              // by block
	pulling    []*pull             // those of this superstep
	passed     []kernel.ColumnPull // these, as the instance has them
	tiling     tiling
	light      lightest
	weighed    *graph.Partition // whose greatest weight is greatest
	greatest   float64
	in         *graph.Degrees // of the edges along which messages come to the first column's receivers
	shared     *sharedPart
	properties []kernel.Column       // the program's of shared, by their numbers
	prefilled  map[int]kernel.Column // what these have when a run begins

	watcher  Watcher // or nil
	resends  bool    // Resend is compared with what was sent, in every superstep
	threads  []*thread
	outboxes []kernel.Sends // the threads'
	lanes    []pregel.Lane  // theirs
	tasks    tasks
	chunks   parallel.Counter
	words    []uint32 // the borders of the chunks being handed out
	pushing  kernel.Push
	sending  *column          // whose messages are pushed
	through  *graph.Block     // that is pushed through
	borders  []uint32         // of the ranges of receivers
	ranged   int              // words of senders that are pushed by ranges, from the first on
	hubs     int              // of these, that were pushed by ranges before the others
	bins     parallel.Counter // bins being folded
	emitted  []kernel.Pairs
	sinking  delivery.Sink     // sink, bound once
	folding  delivery.Sink     // the instance's Take, bound once
	reserved bool              // room in bins for messages over all edges
	came     int               // messages to single vertices, in the last superstep that delivered any
	combine  delivery.Combiner // of messages to single vertices on their way; nil if they travel one by one
	// serialEdges is the number of edges from which the team shares a superstep's work, and round the number of pairs that a worker
	// emits before the bins are folded. Tests lower them.
	serialEdges, round int

	command *bsp.Command
	instead func(ctx context.Context) error // of the superstep that is commanded next, or nil
	report  bsp.Report
	alone   [1]*bsp.Report
	printed uint64 // see print, once it was asked for
	inEdges int    // along which messages may come to all owned vertices
	stop    *atomic.Bool
	failure atomic.Pointer[bsp.ProgramError]
}

// tasks are the loops that the team runs, bound once: a closure for each superstep would be garbage.
type tasks struct {
	pull, inbox, lists, start, ranged, claim, emit, fold func(worker int)
	pullBlock, search, addTiles, least, thin             func(worker int)
}

// thread is the state of one worker of a partition's team.
type thread struct {
	pregel.Lane
	batch    *kernel.Batch
	requests *kernel.Requests // nil if the program changes no graph
	push     kernel.Push      // the worker's range of a push
	count    counts
	_        [64]byte
}

// counts are a worker's counters of a superstep.
type counts struct {
	computed, receivers int
	created             int // of the computed, by messages to them
	active              int // change in the number of awake vertices
	finished            int
	finishedEdges       int // in-edges of the vertices that finished
	out, back           sending
	walked              int
}

func newRunner(ctx context.Context, j *Job, p *graph.Partition, team *parallel.Team) (*runner, error) {
	r := &runner{job: j, loaded: p, team: team, stop: &j.stop, arena: j.arena, store: j.newStore()}
	r.shared = new(sharedPart)
	if s := j.options.Shared; s != nil {
		r.shared = s.part(p.Index)
	}
	base := r.base()
	r.instance, r.list = j.methods.Instance(), j.methods.List
	r.exchange = delivery.NewExchange(base, r.instance.Messages(), j.options.Experiment)
	r.exchange.Store = r.store
	r.exchange.Tracing = j.options.Trace != nil
	if j.direction == pregel.Either {
		r.back = &column{way: 1}
	}
	r.columns = []*column{&r.column}
	if r.back != nil {
		r.columns = append(r.columns, r.back)
	}
	r.tasks = tasks{
		r.pullTask, r.inboxTask, r.listsTask, r.startTask, r.rangedTask, r.claimTask, r.emitTask, r.foldTask, r.pullBlockTask, r.searchTask,
		r.addTilesTask, r.leastTask, r.thinTask,
	}
	r.sinking, r.folding = r.sink, r.instance.Take
	if !r.list && !j.options.Uncombined {
		r.combine = r.instance
	}
	r.serialEdges = serialEdges
	r.round = roundEdges
	for _, c := range j.methods.properties {
		r.properties = append(r.properties, make([]kernel.Column, max(0, c.Number+1-len(r.properties)))...)
	}
	if err := r.beginChanges(); err != nil {
		return nil, err
	}
	if err := r.place(ctx, base); err != nil {
		return nil, err
	}
	for range team.Size() {
		t := r.newThread()
		r.threads, r.outboxes, r.lanes = append(r.threads, t), append(r.outboxes, t.Sends()), append(r.lanes, t.Lane)
	}
	return r, nil
}

// superstep runs a command. r.report is valid until the next call, also after runtime.Goexit in the program.
func (r *runner) superstep(ctx context.Context, c *bsp.Command) {
	returned := false
	defer func() {
		v := recover()
		if returned {
			return
		}
		if err := r.failure.Load(); err != nil { // which knows the vertex
			r.fail(err)
		} else if err := r.job.over.Load(); err != nil {
			r.fail(*err)
		} else {
			r.fail(bsp.Failure(r.job.name, v, c.Superstep))
		}
	}()
	if err := r.work(ctx, c); err != nil {
		r.fail(err)
	}
	returned = true
}

func (r *runner) work(ctx context.Context, c *bsp.Command) (err error) {
	r.command = c
	if f := r.instead; f != nil {
		r.instead = nil
		return f(ctx)
	}
	switch {
	case c.Ended && c.Change:
		return r.changeAtEnd(ctx, c)
	case c.Ended:
		return r.summarize(ctx, c)
	}
	p := &r.report
	r.delivering = sending{p.Senders - p.BackSenders, p.SenderEdges - p.BackEdges}
	if r.back != nil {
		r.back.delivering = sending{p.BackSenders, p.BackEdges}
	}
	delivered := p.Senders
	p.Begin()
	p.Delivered = delivered
	r.exchange.Begin(c.Superstep)
	start := time.Now()
	for _, t := range r.threads {
		t.count = counts{}
		t.ListTimes()
		worker := t.Worker()
		worker.Superstep, worker.Phase, t.State().Totals = c.Superstep, c.Phase, c.Totals
	}
	if c.Superstep == 0 {
		if err := r.countBase(ctx); err != nil {
			return err
		}
	}
	if err := r.checkResend(c); err != nil {
		return err
	}
	if c.Save > 0 {
		r.save(c)
	}
	if r.watcher != nil {
		r.watcher.Began(r.job.methods.program.Program)
	}
	if err := r.deliverAndCompute(ctx, c); err != nil {
		return err
	}
	if r.watcher != nil {
		if err := r.watcher.Ended(c.Superstep, r.job.methods.program.Program, r.label); err != nil {
			return err
		}
	}
	waited := r.exchange.Waited
	if r.report.Account, err = r.exchange.End(ctx, c.Superstep); err != nil {
		return err
	}
	r.report.Times.Wait += (r.exchange.Waited - waited).Seconds()
	r.freeLeft()
	if err := r.settle(); err != nil {
		return err
	}
	if err := r.sendAhead(c); err != nil {
		return err
	}
	r.report.Times.Total = time.Since(start).Seconds()
	return nil
}

func (r *runner) fail(err error) {
	r.report.Err = err
	r.stop.Store(true)
}

// settle adds up the workers' counters and cells.
func (r *runner) settle() error {
	p := &r.report
	p.Senders, p.SenderEdges, p.BackSenders, p.BackEdges, p.Sends = 0, 0, 0, 0, 0
	for _, t := range r.threads {
		c := &t.count
		p.Computed += c.computed
		p.Created += c.created
		p.Receivers += c.receivers
		p.Active += c.active
		p.Unfinished -= c.finished
		p.UnfinishedEdges -= c.finishedEdges
		p.Senders += c.out.senders + c.back.senders
		p.SenderEdges += c.out.edges + c.back.edges
		p.BackSenders += c.back.senders
		p.BackEdges += c.back.edges
		p.Walked += c.walked
		p.Sends += t.Settle()
		if t.requests != nil {
			p.Requests += len(t.requests.List)
		}
	}
	if err := r.estimate(); err != nil {
		return err
	}
	p.Sent, p.Bytes, p.Peers = r.exchange.Sent, r.exchange.Bytes, r.exchange.Peers
	cells := r.threads[0].State().Cells
	for _, t := range r.threads[1:] {
		for i, c := range t.State().Cells {
			if c != nil {
				cells[i].Merge(c)
				c.Reset()
			}
		}
	}
	p.Cells = cells
	r.check()
	return nil
}

// run calls a task on the team, or on the caller alone, over chunks of words.
func (r *runner) run(many bool, chunks []uint32, task func(worker int)) error {
	r.words = chunks
	r.chunks.Reset(0)
	if many {
		r.team.Run(task)
	} else {
		task(0)
	}
	return r.failed()
}

// failed returns why the superstep cannot go on: the program's failure, or that of another partition.
func (r *runner) failed() error {
	if err := r.failure.Load(); err != nil {
		return err
	}
	if err := r.job.over.Load(); err != nil {
		return *err
	}
	if r.stop.Load() {
		return errStopped
	}
	return nil
}
