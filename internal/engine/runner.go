package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// runner runs the supersteps of one partition in a job. Each of its parts implements one step or
// method, and has a small state.
type runner struct {
	*partition
	sweep       sweep
	push        pusher
	pull        puller
	ring        ringPull
	tiles       tiling
	light       lightest
	early       early
	few         few
	saving      saver
	summarizing summarizer
	changer     changer

	prefilled map[int]kernel.Column // initial values of properties, by their numbers
	// For messages to single vertices; nil if they are sent uncombined.
	combine delivery.Combiner
	watcher Watcher                         // or nil
	instead func(ctx context.Context) error // runs in place of the next superstep; or nil
}

// assemble makes the parts. The method values for the team's loops are made once, because a closure
// per superstep would be garbage.
func (r *runner) assemble() {
	p := r.partition
	r.tiles.partition, r.light.partition, r.early.partition = p, p, p
	r.few.partition, r.few.light = p, &r.light
	r.few.pushTasks, r.few.runTasks = r.few.pushTask, r.few.runTask
	r.few.did = make([]didFew, p.team.Size())
	r.saving.partition, r.summarizing.partition, r.changer.partition = p, p, p
	s := &r.sweep
	s.partition, s.starting, s.inboxes, s.lists = p, s.startTask, s.inboxTask, s.listsTask
	r.tiles.add = r.tiles.addTilesTask
	r.light.leastTask, r.light.thinTask = r.light.findLeast, r.light.thinLists
	round := cmp.Or(p.job.options.Sizes.RoundEdges, roundEdges)
	r.push = pusher{partition: p, light: &r.light, round: round}
	u := &r.push
	u.ranging, u.claiming, u.emitting, u.foldingBins = u.rangedTask, u.claimTask, u.emitTask,
		u.foldTask
	r.pull = puller{partition: p, sweep: s, tiles: &r.tiles, light: &r.light, early: &r.early}
	r.pull.pullingWords, r.pull.pullingBlock = r.pull.pullTask, r.pull.pullBlockTask
	r.ring.puller, r.ring.searching = &r.pull, r.ring.searchTask
}

// thread is the state of one worker of a partition's team.
type thread struct {
	Lane
	batch    *kernel.Batch
	requests *kernel.Requests // nil if the program does not change the graph
	push     kernel.Push      // the worker's range of a push
	rows     [256]kernel.Row  // rows that are pushed at a time
	count    counts
	_        [64]byte
}

// counts has a worker's counters of a superstep.
type counts struct {
	computed, receivers int
	created             int // vertices that messages created
	active              int // change in the number of awake vertices
	finished            int
	finishedEdges       int // in-edges of the vertices that finished
	out, back           sending
	walked              int
}

func newRunner(
	ctx context.Context, j *Job, p *graph.Partition, team *parallel.Team,
) (*runner, error) {
	r := &runner{partition: &partition{
		job: j, loaded: p, team: team, stop: &j.stop, arena: j.arena, store: j.newStore(),
		shared:      j.options.Shared.part(p.Index),
		serialEdges: cmp.Or(j.options.Sizes.SerialEdges, delivery.SerialEdges),
	}}
	r.assemble()
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
	r.sinking, r.folding = r.sink, r.instance.Take
	if !r.list && !j.options.Uncombined {
		r.combine = r.instance
	}
	for _, c := range j.methods.properties {
		r.properties = append(r.properties,
			make([]kernel.Column, max(0, c.Number+1-len(r.properties)))...)
	}
	if err := r.beginChanges(); err != nil {
		return nil, err
	}
	if err := r.place(ctx, base); err != nil {
		return nil, err
	}
	for range team.Size() {
		t := r.newThread()
		r.threads, r.outboxes, r.lanes = append(r.threads, t), append(r.outboxes, t.Sends()),
			append(r.lanes, t.Lane)
	}
	return r, nil
}

// superstep runs a command. r.report is valid until the next call, even after runtime.Goexit in the
// program.
func (r *runner) superstep(ctx context.Context, c *bsp.Command) {
	returned := false
	defer func() {
		v := recover()
		if returned {
			return
		}
		if err := r.failure.Load(); err != nil { // it includes the vertex
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
		return r.changeAtEnd(ctx)
	case c.Ended:
		return r.summarizing.summarize(ctx)
	}
	r.few.begin(c, r.saving.resends)
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
		s := t.State()
		s.Superstep, s.Phase, s.Totals = c.Superstep, c.Phase, c.Totals
	}
	if c.Superstep == 0 {
		if err := r.countBase(ctx); err != nil {
			return err
		}
	}
	if err := r.saving.checkResend(c); err != nil {
		return err
	}
	if c.Save > 0 {
		r.saving.save(c)
	}
	if r.watcher != nil {
		r.watcher.Began(r.job.methods.program.Program)
	}
	if err := r.deliverAndCompute(ctx); err != nil {
		return err
	}
	if r.watcher != nil {
		if err := r.watcher.Ended(c.Superstep, r.job.methods.program.Program, r.label); err != nil {
			return err
		}
	}
	waited := r.exchange.Waited
	if r.report.Account, err = r.exchange.End(ctx); err != nil {
		return err
	}
	r.report.Times.Wait += (r.exchange.Waited - waited).Seconds()
	r.freeRetired()
	if err := r.settle(); err != nil {
		return err
	}
	if err := r.early.sendAhead(); err != nil {
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
	if err := r.light.estimate(); err != nil {
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
