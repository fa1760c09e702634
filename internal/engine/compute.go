package engine

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/pregel"
)

// compute calls the program for the vertices run of word w and drains their output. The messages of the vertices received are in
// t.Block.In.
func (r *runner[V, M]) compute(t *thread[V, M], w int, run, received uint64) {
	b := &t.Block
	r.window(t, w, run)
	b.Received = received
	m := r.job.methods
	t.running = true
	switch {
	case m.block != nil:
		m.block.ComputeBlock(b)
	case r.traits.Self:
		if i := t.SweepSelf(m.program, r.job.identity); i >= 0 {
			panic(wrongSender{b.ID(i)})
		}
	default:
		t.Sweep(m.program, r.job.identity)
	}
	t.running = false
	t.count.receivers += bits.OnesCount64(received & run)
	r.drain(t, w, r.traits.Self)
}

// window points a thread's block at word w.
func (r *runner[V, M]) window(t *thread[V, M], w int, run uint64) {
	b := &t.Block
	b.Run, b.Awake, b.Received, b.Sent, b.Halt, b.Finish = run, r.active[w]&run, 0, 0, 0, 0
	if r.command.Superstep == 0 {
		b.Awake = run // sources too: no message woke them
	}
	b.Values = (*[64]V)(r.values[w<<6:])
	b.OutDegrees = (*[64]uint32)(r.outDegrees[w<<6:])
	b.InDegrees = (*[64]uint32)(r.inDegrees[w<<6:])
	base := uint32(w << 6)
	t.Place(base, r.part.Global(base))
	b.Out = r.kernel.Window(w, &t.out)
	if r.back != nil {
		t.PlaceBack(r.back.kernel.Window(w, &t.back))
	}
}

// drain moves the output of the vertices of word w from the block to the partition's columns. stored says that the kernel has the
// messages already.
func (r *runner[V, M]) drain(t *thread[V, M], w int, stored bool) {
	b, c := &t.Block, &t.count
	c.computed += bits.OnesCount64(b.Run)
	c.created += r.created(w, b.Run)
	sent := b.Sent & b.Run
	r.write.Words[w] = sent
	edges := 0
	if sent != 0 {
		if r.watcher != nil {
			r.watchAll(b, sent, b.Out)
		}
		if !stored {
			if i := r.kernel.Store(w, sent, b.Out); i >= 0 {
				panic(wrongSender{b.ID(i)})
			}
		}
		edges = degrees(r.outDegrees, r.outEqual, w, sent)
		c.out.senders += bits.OnesCount64(sent)
		c.out.edges += edges
	}
	if r.back != nil {
		r.drainBack(t, w)
	}
	finished := b.Finish & b.Run
	if finished != 0 {
		r.finished[w] |= finished
		c.finished += bits.OnesCount64(finished)
		if finished != sent || &r.inDegrees[0] != &r.outDegrees[0] {
			edges = degrees(r.inDegrees, r.inEqual, w, finished)
		}
		if r.back != nil {
			edges += degrees(r.outDegrees, r.outEqual, w, finished)
		}
		c.finishedEdges += edges
	}
	before := r.active[w]
	after := (before | b.Run) &^ (b.Halt&b.Run | finished)
	if after != before {
		r.active[w] = after
		c.active += bits.OnesCount64(after) - bits.OnesCount64(before)
	}
}

// drainBack moves what the vertices of word w sent to their in-neighbours to the second column.
func (r *runner[V, M]) drainBack(t *thread[V, M], w int) {
	back, b := r.back, &t.Block
	sent, out := t.SentBack()
	sent &= b.Run
	back.write.Words[w] = sent
	if sent == 0 {
		return
	}
	if r.watcher != nil {
		r.watchAll(b, sent, out)
	}
	if i := back.kernel.Store(w, sent, out); i >= 0 {
		panic(wrongSender{b.ID(i)})
	}
	t.count.back.senders += bits.OnesCount64(sent)
	t.count.back.edges += degrees(back.outDegrees, back.outEqual, w, sent)
}

// start runs superstep 0: Init, or else Compute without messages, on every vertex or on the sources alone.
func (r *runner[V, M]) start() error {
	defer r.timed(&r.report.Times.Compute).end()
	if r.job.methods.initial != nil {
		return r.startSources()
	}
	r.writeAll()
	return r.run(r.team.Size() > 1, r.ownChunks(), r.tasks.start)
}

func (r *runner[V, M]) startTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	r.eachChunk(func(lo, hi int) bool {
		for w := lo; w < hi; w++ {
			r.startWord(t, w, r.active[w])
		}
		return true
	})
}

func (r *runner[V, M]) startWord(t *thread[V, M], w int, run uint64) {
	if run == 0 {
		return
	}
	m := r.job.methods
	if m.init == nil && m.list == nil {
		r.compute(t, w, run, 0)
		return
	}
	r.window(t, w, run)
	t.running = true
	switch {
	case m.initBlock != nil:
		m.initBlock.InitBlock(&t.Block)
	case m.init != nil:
		t.SweepInit(m.init)
	default:
		t.offsets, t.messages = [65]int{}, t.messages[:0]
		t.SweepLists(m.list, t.list)
	}
	t.running = false
	r.drain(t, w, m.initBlock != nil && r.traits.Self)
}

func (r *runner[V, M]) startSources() error {
	t := r.threads[0]
	words := map[int]uint64{}
	for _, id := range r.job.methods.sources.Sources() {
		if uint64(id) >= r.changing.ids {
			return r.job.noSource(id)
		}
		if int(uint64(id)%uint64(r.part.Of)) == r.part.Index {
			local := uint64(id) / uint64(r.part.Of)
			if r.isAbsent(uint32(local)) {
				return r.job.noSource(id)
			}
			words[int(local>>6)] |= 1 << (local & 63)
		}
	}
	func() {
		defer r.recover(t)
		for _, w := range slices.Sorted(maps.Keys(words)) {
			r.startWord(t, w, words[w])
			for _, c := range r.columns {
				c.write.Mark(w)
			}
		}
	}()
	return r.failed()
}

// inboxTask runs the vertices that have a message in the inbox or are awake, 64 words at a time.
func (r *runner[V, M]) inboxTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	words := len(r.active)
	all := r.report.Active > 0
	for {
		top := r.chunks.Take(1)
		if top<<6 >= words || r.stop.Load() {
			return
		}
		summary := r.inbox.Has.Summary(top)
		if all {
			summary = ^uint64(0)
		}
		ran, back := uint64(0), uint64(0)
		for ; summary != 0; summary &= summary - 1 {
			w := top<<6 + bits.TrailingZeros64(summary)
			if w >= words {
				break
			}
			received := r.inbox.Has.Words[w] &^ r.finished[w]
			run := received | r.active[w]
			if run == 0 {
				continue
			}
			t.Block.In = (*[64]M)(r.inbox.Msg[w<<6:])
			r.compute(t, w, run, received)
			if r.write.Words[w] != 0 {
				ran |= summary & -summary
			}
			if r.back != nil && r.back.write.Words[w] != 0 {
				back |= summary & -summary
			}
		}
		r.write.Top[top] = ran
		if r.back != nil {
			r.back.write.Top[top] = back
		}
	}
}

func (j *Job[V, M]) noSource(id pregel.VertexID) error {
	if id == pregel.None {
		return fmt.Errorf("%s: the source is not a vertex of %s", j.name, j.graph.Name)
	}
	return fmt.Errorf("%s: source %d: the graph has vertices 0..%d", j.name, id, int64(j.IDs())-1)
}
