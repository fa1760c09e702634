package engine

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/delivery"
)

// sweep runs the vertices of a superstep: those of superstep 0, and later those that are awake or
// have messages.
type sweep struct {
	*partition
	starting, inboxes, lists func(worker int) // method values of startTask, inboxTask and listsTask
}

// start runs superstep 0: Init, or Compute without messages, on every vertex or only on the
// sources.
func (r *sweep) start() error {
	defer r.startTimer(&r.report.Times.Compute).end()
	if r.job.methods.Has("Start") {
		return r.startSources()
	}
	r.markAllWritten()
	return r.run(r.team.Size() > 1, r.ownChunks(), r.starting)
}

func (r *sweep) startTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	r.eachChunk(func(lo, hi int) bool {
		for w := lo; w < hi; w++ {
			r.startWord(t, w, r.active[w], r.active[w])
		}
		return true
	})
}

func (r *sweep) startWord(t *thread, w int, active, run uint64) {
	if run == 0 {
		return
	}
	sent, halted, finished := t.Start(w, run)
	r.drain(t, w, active, run, 0, sent, halted, finished)
	if r.back != nil {
		r.drainBack(t, w, t.SentBack())
	}
}

func (r *sweep) startSources() error {
	t, words := r.threads[0], map[int]uint64{}
	for _, id := range r.instance.Sources() {
		if uint64(id) >= r.changing.ids {
			return r.job.noSource(id)
		}
		if q, local := r.part.Deal.Of(uint32(id)); q == r.part.Index {
			if r.isAbsent(local) {
				return r.job.noSource(id)
			}
			words[int(local>>6)] |= 1 << (local & 63)
		}
	}
	func() {
		defer r.recover(t)
		for _, w := range slices.Sorted(maps.Keys(words)) {
			r.startWord(t, w, 0, words[w])
			for _, c := range r.columns {
				c.write.Mark(w)
			}
		}
	}()
	return r.failed()
}

// inboxTask runs the vertices that are awake or have a message in the inbox, up to 64 words at a
// time.
func (r *sweep) inboxTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	p, finished, has, awake := r.partition, r.finished, r.inbox.Has, r.report.Active > 0
	words, active := len(r.active), uint64(0)
	b, n, looked := t.batch, 0, 0
	for top := p.chunks.Take(1); top<<6 < words && !p.stop.Load(); top = p.chunks.Take(1) {
		summary := has.Summary(top)
		if awake {
			summary |= p.awake.Summary(top)
		}
		looked += bits.OnesCount64(summary)
		for ; summary != 0; summary &= summary - 1 {
			w := top<<6 + bits.TrailingZeros64(summary)
			if w >= words {
				break
			}
			received := has.Words[w] &^ finished[w]
			if awake {
				if active = p.active[w]; active == 0 {
					p.awake.Top[top] &^= summary & -summary
				}
			}
			if run := received | active; run != 0 {
				b.Words[n], b.Run[n], b.Received[n], b.Active[n] = int32(w), run, received, active
				if n++; n == len(b.Words) {
					r.runBatch(t, n)
					n = 0
				}
			}
		}
	}
	r.runBatch(t, n)
	r.probe(delivery.AwakeWords, looked)
}

// runBatch runs n words of a thread's batch. No other thread runs words in the same ranges of 4096
// vertices.
func (r *sweep) runBatch(t *thread, n int) {
	p, b := r.partition, t.batch
	t.Sweep(n)
	for k := range n {
		w := int(b.Words[k])
		if p.drain(t, w, b.Active[k], b.Run[k], b.Received[k], b.Sent[k], b.Halted[k],
			b.Finished[k]); b.Sent[k] != 0 {
			p.write.Mark(w)
		}
		if p.back != nil {
			if p.drainBack(t, w, b.Back[k]); b.Back[k] != 0 {
				p.back.write.Mark(w)
			}
		}
	}
}

// computeInbox runs the vertices that are awake or have a message in the inbox.
func (r *sweep) computeInbox() error {
	defer r.startTimer(&r.report.Times.Compute).end()
	if r.list {
		r.instance.Sort(r.part.Owned)
		r.markAllWritten()
		return r.run(r.team.Size() > 1, r.ownChunks(), r.lists)
	}
	r.makeInbox()
	defer r.inbox.Has.Clear()
	if r.awake.All && r.report.Active < len(r.active) {
		r.awake.Tighten()
	}
	work := r.report.Active
	for _, c := range r.columns {
		work += c.delivering.edges
	}
	if r.command.Sends {
		work += r.received
	}
	// A message takes longer here than an edge in a push. On a lattice, whose messages are in
	// many words, one thread is faster up to some 5,500 of them.
	return r.run(work > 3*r.serialEdges/8 && r.team.Size() > 1, nil, r.inboxes)
}

func (r *sweep) listsTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	r.eachChunk(func(lo, hi int) bool {
		r.computeLists(t, lo, hi, false)
		return true
	})
}

// computeLists runs the vertices of words [lo, hi) that are awake or have messages: those received
// one by one and, in a pull, those of the in-neighbours.
func (r *sweep) computeLists(t *thread, lo, hi int, pull bool) {
	t.BeginLists()
	for w := lo; w < hi; w++ {
		open := ^r.finished[w]
		if last := r.part.Owned - w<<6; last < 64 {
			open &= bitmap.Low(last)
		}
		active := r.active[w]
		run, received, sent, halted, finished, edges := t.Lists(w, open, active, pull)
		t.count.walked += edges
		r.ran(t, w, active, run, received, sent, halted, finished)
	}
	t.EndLists()
}

// splitTraverseTime moves the program's part of a pull from the traverse time to the compute time.
// A pull of a list program alternates between gathering messages and running the program.
func (r *sweep) splitTraverseTime() {
	var gathering, running float64
	for _, t := range r.threads {
		g, s := t.ListTimes()
		gathering, running = gathering+g, running+s
	}
	if running > 0 {
		times := &r.report.Times
		computing := times.Traverse * running / (gathering + running)
		times.Traverse, times.Compute = times.Traverse-computing, times.Compute+computing
	}
}
