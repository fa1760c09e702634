package engine

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/pregel"
)

// drain takes what the vertices run of word w did to the partition's states.
func (r *runner) drain(t *thread, w int, run, received, sent, halted, finished uint64) {
	c := &t.count
	c.computed += bits.OnesCount64(run)
	c.receivers += bits.OnesCount64(received & run)
	c.created += r.created(w, run)
	r.write.Words[w] = sent
	edges := 0
	if sent != 0 {
		edges = r.out.Sum(w, sent)
		c.out.senders += bits.OnesCount64(sent)
		c.out.edges += edges
	}
	if finished != 0 {
		r.finished[w] |= finished
		c.finished += bits.OnesCount64(finished)
		if finished != sent || r.in != r.out {
			edges = r.in.Sum(w, finished)
		}
		if r.back != nil {
			edges += r.out.Sum(w, finished)
		}
		c.finishedEdges += edges
	}
	before := r.active[w]
	after := (before | run) &^ (halted | finished)
	if after != before {
		r.active[w] = after
		c.active += bits.OnesCount64(after) - bits.OnesCount64(before)
	}
}

// drainBack takes who of word w sent to in-neighbours to the second column.
func (r *runner) drainBack(t *thread, w int, sent uint64) {
	back := r.back
	back.write.Words[w] = sent
	if sent != 0 {
		t.count.back.senders += bits.OnesCount64(sent)
		t.count.back.edges += back.out.Sum(w, sent)
	}
}

// start runs superstep 0: Init, or else Compute without messages, on every vertex or on the sources alone.
func (r *runner) start() error {
	defer r.timed(&r.report.Times.Compute).end()
	if r.job.methods.Has("Initial") {
		return r.startSources()
	}
	r.writeAll()
	return r.run(r.team.Size() > 1, r.ownChunks(), r.tasks.start)
}

func (r *runner) startTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	r.eachChunk(func(lo, hi int) bool {
		for w := lo; w < hi; w++ {
			r.startWord(t, w, r.active[w])
		}
		return true
	})
}

func (r *runner) startWord(t *thread, w int, run uint64) {
	if run == 0 {
		return
	}
	sent, halted, finished := t.Start(w, run)
	r.drain(t, w, run, 0, sent, halted, finished)
	if r.back != nil {
		r.drainBack(t, w, t.SentBack())
	}
}

func (r *runner) startSources() error {
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
func (r *runner) inboxTask(worker int) {
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
		b, n := t.batch, 0
		for ; summary != 0; summary &= summary - 1 {
			w := top<<6 + bits.TrailingZeros64(summary)
			if w >= words {
				break
			}
			received := r.inbox.Has.Words[w] &^ r.finished[w]
			if run := received | r.active[w]; run != 0 {
				b.Words[n], b.Run[n], b.Received[n], b.Active[n] = int32(w), run, received, r.active[w]
				n++
			}
		}
		if n > 0 {
			t.Sweep(n)
		}
		ran, back := uint64(0), uint64(0)
		for k := range n {
			w := int(b.Words[k])
			r.drain(t, w, b.Run[k], b.Received[k], b.Sent[k], b.Halted[k], b.Finished[k])
			if b.Sent[k] != 0 {
				ran |= 1 << (w & 63)
			}
			if r.back != nil {
				if r.drainBack(t, w, b.Back[k]); b.Back[k] != 0 {
					back |= 1 << (w & 63)
				}
			}
		}
		r.write.Top[top] = ran
		if r.back != nil {
			r.back.write.Top[top] = back
		}
	}
}

func (j *Job) noSource(id pregel.VertexID) error {
	if id == pregel.None {
		return fmt.Errorf("%s: the source is not a vertex of %s", j.name, j.graph.Name)
	}
	return fmt.Errorf("%s: source %d: the graph has vertices 0..%d", j.name, id, int64(j.IDs())-1)
}
