package engine

import (
	"context"
	"math/bits"
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
type runner[V, M any] struct {
	job      *Job[V, M]
	loaded   *graph.Partition // as the graph was loaded
	part     *graph.Partition // as it is after changes
	arena    *mem.Arena       // of what place makes: the job's, unless the graph may change
	store    *mem.Arena       // of messages that are kept one by one
	hub      atomic.Uint64    // 1 more than the last vertex with so many messages that they want room, of a list program
	changing changing[V]
	team     *parallel.Team
	exchange *delivery.Exchange[M]
	traits   kernel.Traits // of both columns
	// The column of messages to all neighbours, and the second one, for in-neighbours, of a program of direction Either.
	column[M]
	back    *column[M]
	columns []*column[M] // the one, or both

	values   []V
	active   []uint64
	finished []uint64        // by slot: ghosts never are
	inbox    kernel.Inbox[M] // made when first needed
	lists    listInbox[M]
	grids    grids
	early    early

	layout     graph.Layout // of the program's direction
	pulls      []pull[M]    // by block
	pulling    []*pull[M]   // those of this superstep
	tiling     tiling[M]
	light      lightest
	inDegrees  []uint32 // of the edges along which messages come to the first column's receivers
	inEqual    []uint32 // see equalDegrees
	properties []any
	prefilled  map[int]any // of properties, by their numbers: what they have when a run begins

	watcher  Watcher // of messages, or nil
	resends  bool    // Resend is compared with what was sent, in every superstep
	threads  []*thread[V, M]
	outboxes []*kernel.Outbox[M] // the threads'
	tasks    tasks
	chunks   parallel.Counter
	words    []uint32 // the borders of the chunks being handed out
	pushing  kernel.Push
	sending  *column[M]       // whose messages are pushed
	through  *graph.Block     // that is pushed through
	borders  []uint32         // of the ranges of receivers
	ranged   int              // words of senders that are pushed by ranges, from the first on
	hubs     int              // of these, that were pushed by ranges before the others
	bins     parallel.Counter // bins being folded
	emitted  []*kernel.Bins[M]
	sinking  delivery.Sink[M]
	reserved bool           // room in bins for messages over all edges
	came     int            // messages to single vertices, in the last superstep that delivered any
	combine  func(a, b M) M // of messages to single vertices on their way; nil if they travel one by one
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
type thread[V, M any] struct {
	pregel.Engine[V, M]
	outbox   *kernel.Outbox[M]
	requests *kernel.Requests[V] // nil if the program changes no graph
	bins     *kernel.Bins[M]
	in, out  [64]M
	back     [64]M       // as out, for in-neighbours
	push     kernel.Push // the worker's range of a push
	messages []M         // of a list program: those to the vertices of a word, from offsets
	offsets  [65]int
	list     func(i int) []M
	count    counts
	running  bool // in the program
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
	gathering, sweeping time.Duration // of a list program in a pull
}

func newRunner[V, M any](ctx context.Context, j *Job[V, M], p *graph.Partition, team *parallel.Team) (*runner[V, M], error) {
	r := &runner[V, M]{job: j, loaded: p, team: team, stop: &j.stop, arena: j.arena, store: j.newStore()}
	base := r.base()
	r.exchange = delivery.NewExchange[M](base, j.options.Encoding, j.options.Serial)
	r.exchange.Store = r.store
	r.exchange.Tracing = j.options.Trace != nil
	if j.direction == pregel.Either {
		r.back = new(column[M])
	}
	r.columns = []*column[M]{&r.column}
	if r.back != nil {
		r.columns = append(r.columns, r.back)
	}
	r.lists.store = r.store
	r.tasks = tasks{
		r.pullTask, r.inboxTask, r.listsTask, r.startTask, r.rangedTask, r.claimTask, r.emitTask, r.foldTask, r.pullBlockTask, r.searchTask,
		r.addTilesTask, r.leastTask, r.thinTask,
	}
	r.sinking = r.sink
	if j.methods.list == nil && !j.options.Uncombined {
		r.combine = j.methods.combiner.Combine
	}
	r.serialEdges = serialEdges
	r.round = roundEdges
	for _, c := range j.methods.properties {
		r.properties = append(r.properties, make([]any, max(0, c.Number+1-len(r.properties)))...)
	}
	if err := r.beginChanges(); err != nil {
		return nil, err
	}
	if err := r.place(ctx, base); err != nil {
		return nil, err
	}
	for range team.Size() {
		t := r.newThread()
		r.threads, r.outboxes = append(r.threads, t), append(r.outboxes, t.outbox)
	}
	return r, nil
}

// superstep runs a command. r.report is valid until the next call, also after runtime.Goexit in the program.
func (r *runner[V, M]) superstep(ctx context.Context, c *bsp.Command) {
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

func (r *runner[V, M]) work(ctx context.Context, c *bsp.Command) (err error) {
	r.command = c
	if f := r.instead; f != nil {
		r.instead = nil
		return f(ctx)
	}
	if c.Summarize {
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
		t.Worker.Superstep, t.Worker.Phase, t.State().Totals = c.Superstep, c.Phase, c.Totals
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
	if err := r.deliverAndCompute(ctx, c); err != nil {
		return err
	}
	if r.watcher != nil {
		if err := r.watcher.Ended(c.Superstep, r.label); err != nil {
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

func (r *runner[V, M]) fail(err error) {
	r.report.Err = err
	r.stop.Store(true)
}

// settle adds up the workers' counters and cells.
func (r *runner[V, M]) settle() error {
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
		t.outbox.Settle()
		p.Sends += t.outbox.Count
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
func (r *runner[V, M]) run(many bool, chunks []uint32, task func(worker int)) error {
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
func (r *runner[V, M]) failed() error {
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

// unequal says that the vertices of a word differ in degree.
const unequal = ^uint32(0)

// equalDegrees returns the degree that all vertices of a word have, or unequal, for every word, and the sum of the
// degrees. In degree order nearly all words have one degree, so that sums need not read the vertices' degrees.
func equalDegrees(column []uint32) (equal []uint32, sum int) {
	equal = make([]uint32, len(column)/64)
	for w := range equal {
		d := (*[64]uint32)(column[w<<6:])
		equal[w] = d[0]
		for _, x := range d {
			sum += int(x)
			if x != d[0] {
				equal[w] = unequal
			}
		}
	}
	return equal, sum
}

// degrees adds up a degree column at the ones of a word.
func degrees(column, equal []uint32, w int, set uint64) int {
	if d := equal[w]; d != unequal {
		return int(d) * bits.OnesCount64(set)
	}
	d := (*[64]uint32)(column[w<<6:])
	sum := 0
	for ; set != 0; set &= set - 1 {
		sum += int(d[bits.TrailingZeros64(set)&63])
	}
	return sum
}
