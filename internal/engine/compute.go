package engine

import (
	"fmt"
	"math/bits"

	"github.com/superstep-go/superstep/pregel"
)

// drain updates the partition's states after vertices of word w ran. active are the vertices that
// were awake before.
func (r *partition) drain(t *thread, w int, active, run, received, sent, halted, finished uint64) {
	c := &t.count
	c.computed += bits.OnesCount64(run)
	c.receivers += bits.OnesCount64(received & run)
	if a := r.changing.absent; a != nil { // those that did not exist before do now
		c.created += bits.OnesCount64(a[w] & run)
		a[w] &^= run
	}
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
	if after := (active | run) &^ (halted | finished); after != active {
		r.active[w] = after
		r.awake.MarkShared(w)
		c.active += bits.OnesCount64(after) - bits.OnesCount64(active)
	}
}

// drainBack records the vertices of word w that sent separately to in-neighbours, in the second
// column.
func (r *partition) drainBack(t *thread, w int, sent uint64) {
	back := r.back
	back.write.Words[w] = sent
	if sent != 0 {
		t.count.back.senders += bits.OnesCount64(sent)
		t.count.back.edges += back.out.Sum(w, sent)
	}
}

func (j *Job) noSource(id pregel.VertexID) error {
	if id == pregel.None {
		return fmt.Errorf("%s: the source is not a vertex of %s", j.name, j.graph.Name)
	}
	return fmt.Errorf("%s: source %d: the graph has vertices 0..%d", j.name, id, int64(j.IDs())-1)
}
