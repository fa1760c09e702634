package engine

import (
	"math/bits"
	"time"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/mem"
)

// listInbox holds uncombined messages by receiver, for list programs.
type listInbox[M any] struct {
	store  *mem.Arena
	to     []uint32
	msg    []M
	starts []uint32 // by local index, one more at the end; empty if no message came
	sorted []M
}

func (l *listInbox[M]) add(to []uint32, msg []M) {
	l.to = mem.Grow(l.store, l.to, len(to))
	l.msg = mem.Grow(l.store, l.msg, len(msg))
	l.to = append(l.to, to...)
	l.msg = append(l.msg, msg...)
}

func (l *listInbox[M]) reset() { l.to, l.msg, l.starts = l.to[:0], l.msg[:0], l.starts[:0] }

// drop leaves messages out by their receivers.
func (l *listInbox[M]) drop(which func(to uint32) bool) {
	n := 0
	for i, to := range l.to {
		if !which(to) {
			l.to[n], l.msg[n] = to, l.msg[i]
			n++
		}
	}
	l.to, l.msg = l.to[:n], l.msg[:n]
}

// build sorts the messages by receiver, in the order they came.
func (l *listInbox[M]) build(owned int) {
	l.starts = l.starts[:0]
	if len(l.to) == 0 {
		return
	}
	if cap(l.starts) < owned+2 {
		l.starts = mem.Grow(l.store, l.starts[:0], owned+2)
	}
	l.starts = l.starts[:owned+2]
	clear(l.starts)
	for _, v := range l.to {
		l.starts[v+2]++
	}
	for i := 2; i < len(l.starts); i++ {
		l.starts[i] += l.starts[i-1]
	}
	l.sorted = mem.Grow(l.store, l.sorted[:0], len(l.msg))[:len(l.msg)]
	for i, v := range l.to {
		l.sorted[l.starts[v+1]] = l.msg[i]
		l.starts[v+1]++
	}
	l.starts = l.starts[:owned+1]
	l.to, l.msg = l.to[:0], l.msg[:0]
}

// of returns the messages to a vertex.
func (l *listInbox[M]) of(local uint32) []M {
	if len(l.starts) == 0 {
		return nil
	}
	return l.sorted[l.starts[local]:l.starts[local+1]]
}

func (r *runner[V, M]) listsTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	r.eachChunk(func(lo, hi int) bool {
		r.computeLists(t, lo, hi, false)
		return true
	})
}

// computeLists runs the vertices of words [lo, hi) that are awake or have messages: those that came one by one, and,
// in a pull, those of the in-neighbours.
func (r *runner[V, M]) computeLists(t *thread[V, M], lo, hi int, pull bool) {
	began, before := time.Now(), time.Duration(0) // since then, at the last word's end
	for w := lo; w < hi; w++ {
		open := ^r.finished[w]
		if last := r.part.Owned - w<<6; last < 64 {
			open &= bitmap.Low(last)
		}
		received := r.gatherWord(t, w, open, pull)
		run := (received | r.active[w]) & open
		if run == 0 {
			r.nothingSent(w)
			continue
		}
		gathered := time.Since(began)
		r.window(t, w, run)
		t.Block.Received = received
		t.running = true
		t.SweepLists(r.job.methods.list, t.list)
		t.running = false
		t.count.receivers += bits.OnesCount64(received)
		r.drain(t, w, false)
		swept := time.Since(began)
		t.count.gathering += gathered - before
		t.count.sweeping += swept - gathered
		before = swept
	}
	t.count.gathering += time.Since(began) - before
}

// tellComputing takes the program's part of a pull, in which gathering lists and running the program go by turns, from the time of
// traversing.
func (r *runner[V, M]) tellComputing() {
	var gathering, sweeping time.Duration
	for _, t := range r.threads {
		gathering, sweeping = gathering+t.count.gathering, sweeping+t.count.sweeping
	}
	if sweeping > 0 {
		times := &r.report.Times
		computing := times.Traverse * sweeping.Seconds() / (gathering + sweeping).Seconds()
		times.Traverse, times.Compute = times.Traverse-computing, times.Compute+computing
	}
}

// gatherWord collects the messages of the vertices open of word w, and returns which got any.
func (r *runner[V, M]) gatherWord(t *thread[V, M], w int, open uint64, pull bool) (received uint64) {
	t.messages = t.messages[:0]
	for i := range 64 {
		t.offsets[i] = len(t.messages)
		if open>>i&1 == 0 {
			continue
		}
		local := uint32(w<<6 + i)
		came := r.lists.of(local)
		r.roomFor(t, local, len(came))
		t.messages = append(t.messages, came...)
		if pull {
			for _, p := range r.pulling {
				lo, hi := p.Row(local)
				r.roomFor(t, local, int(hi-lo))
				t.messages = p.from.gather.gather(&p.Pull, lo, hi, t.messages)
				t.count.walked += int(hi - lo)
			}
		}
		if len(t.messages) > t.offsets[i] {
			received |= 1 << i
		}
	}
	t.offsets[64] = len(t.messages)
	return received
}

// listOf returns the messages of vertex i of the word that gatherWord gathered last.
func (t *thread[V, M]) listOf(i int) []M { return t.messages[t.offsets[i]:t.offsets[i+1]] }
