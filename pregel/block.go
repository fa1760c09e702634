package pregel

import (
	"fmt"
	"math/bits"
)

// Block is a run of 64 vertices held as columns, the boundary between programs and the engine: the engine fills the
// input columns, the program (through [Vertex], or itself in ComputeBlock) the output columns, the engine drains them.
// Vertex i of the block has bit i in every word and the id First + i*Stride.
//
// A ComputeBlock writes Values, Out, Sent, Halt and Finish, for vertices of Run alone; everything else is to be read
// (docs/design/block-columns.md). A Block belongs to one goroutine and is only valid during the call.
type Block[V, M any] struct {
	// Run marks the vertices to compute: those awake, or with a message, and not finished. The engine looks at no other
	// bit of the output words.
	Run uint64
	// Awake marks the vertices of Run that were awake anyhow, in superstep 0 all; the others were woken by a message.
	Awake uint64
	// Received marks the vertices of Run with a message, In[i]. Elsewhere In holds anything; in superstep 0, where there
	// are no messages, In may be nil.
	Received uint64
	In       *[64]M
	// Values are the vertices' values, read and written in place. At the end of the graph some belong to no vertex.
	Values *[64]V

	// Sent marks the vertices whose message Out[i] goes to all their neighbours. Under combiners.Sender the message is
	// the vertex's id, and Out need not be written by a ComputeBlock.
	Sent uint64
	Out  *[64]M
	// Halt marks the vertices that voted to halt, Finish those that are done for good: halted and deaf to messages.
	Halt, Finish uint64

	First, Stride         VertexID
	OutDegrees, InDegrees *[64]uint32 // by the program's Direction; they may be the graph's own: only to be read

	// Base is the local index of vertex 0 in its partition.
	Base uint32
	// Worker is the goroutine's view of the superstep.
	Worker *Worker
	// Outbox takes the messages of Send.
	Outbox *Outbox[M]
	// Combine reduces two messages of one vertex to all its neighbours; nil where each must arrive by itself.
	Combine func(a, b M) M

	cursor Vertex[V, M]
}

// ID returns the id of vertex i.
func (b *Block[V, M]) ID(i int) VertexID { return b.First + VertexID(i)*b.Stride }

// Take replaces the elements of to at the ones of which by those of from: what a ComputeBlock does whose vertices take
// their messages for values.
func Take[T any](to, from *[64]T, which uint64) {
	const dense = 24 // elements above which it is faster to look at all
	switch n := bits.OnesCount64(which); {
	case n == 64:
		*to = *from
	case n > dense:
		for i, x := range to {
			y := from[i] // read in any case, or the choice would be a branch that nobody can predict
			if which>>uint(i)&1 != 0 {
				x = y
			}
			to[i] = x
		}
	default:
		for ; which != 0; which &= which - 1 {
			i := bits.OnesCount64(which&-which-1) & 63
			to[i] = from[i]
		}
	}
}

// Sweep calls Compute of p for every vertex of Run, in rising order; identity is the message of those without one.
func (b *Block[V, M]) Sweep(p Program[V, M], identity M) {
	v, sent, received := b.begin(), b.Sent, b.Received
	for run := b.Run; run != 0; run &= run - 1 {
		i := v.move(run)
		if received>>i&1 != 0 {
			p.Compute(v, b.In[i])
		} else {
			p.Compute(v, identity)
		}
		if v.sent {
			sent |= 1 << i
			b.Out[i] = v.message
		}
	}
	b.end(sent)
}

// SweepSelf is Sweep for a program whose only message is the sender's own id, of which presence says everything: Out is
// not written. It returns the first vertex that sent anything else, or -1.
func (b *Block[V, M]) SweepSelf(p Program[V, M], identity M) (wrong int) {
	v, sent, received := b.begin(), b.Sent, b.Received
	message := any(&v.message).(*VertexID)
	wrong = -1
	for run := b.Run; run != 0; run &= run - 1 {
		i := v.move(run)
		if received>>i&1 != 0 {
			p.Compute(v, b.In[i])
		} else {
			p.Compute(v, identity)
		}
		if v.sent {
			sent |= 1 << i
			if *message != v.id && wrong < 0 {
				wrong = int(i)
			}
		}
	}
	b.end(sent)
	return wrong
}

// SweepInit calls Init of p for every vertex of Run, in rising order.
func (b *Block[V, M]) SweepInit(p Initializing[V, M]) {
	v, sent := b.begin(), b.Sent
	for run := b.Run; run != 0; run &= run - 1 {
		i := v.move(run)
		p.Init(v)
		if v.sent {
			sent |= 1 << i
			b.Out[i] = v.message
		}
	}
	b.end(sent)
}

// SweepLists calls Compute of p for every vertex of Run, in rising order, with the messages that messages returns.
func (b *Block[V, M]) SweepLists(p ListProgram[V, M], messages func(i int) []M) {
	v, sent := b.begin(), b.Sent
	for run := b.Run; run != 0; run &= run - 1 {
		i := v.move(run)
		p.Compute(v, messages(int(i)))
		if v.sent {
			sent |= 1 << i
			b.Out[i] = v.message
		}
	}
	b.end(sent)
}

// begin sets the cursor up for a sweep. What the program does to it, end takes over.
func (b *Block[V, M]) begin() *Vertex[V, M] {
	v := &b.cursor
	v.b, v.values, v.halt, v.finish = b, b.Values, 0, 0
	return v
}

func (b *Block[V, M]) end(sent uint64) {
	v := &b.cursor
	b.Sent, b.Halt, b.Finish = sent, b.Halt|v.halt, b.Finish|v.finish
	v.b = nil
}

// move takes the cursor to the lowest vertex of run.
func (v *Vertex[V, M]) move(run uint64) uint32 {
	i := uint32(bits.TrailingZeros64(run)) & 63
	v.i, v.bit, v.id, v.sent = i, run&-run, v.b.First+VertexID(i)*v.b.Stride, false
	return i
}

// Current returns the vertex that a Sweep which panicked was at, and forgets it; None after any other panic.
func (b *Block[V, M]) Current() VertexID {
	if b.cursor.b == nil {
		return None
	}
	b.cursor.b = nil
	return b.cursor.id
}

// sendAgain is SendToAllNeighbors for a vertex that has called it before in this superstep: a neighbour gets both
// messages combined, or, in a list program and under combiners.Count, the second by itself.
func (v *Vertex[V, M]) sendAgain(m M) {
	if v.b.Combine != nil {
		v.message = v.b.Combine(v.message, m)
		return
	}
	if why := v.b.Worker.NoEdges; why != nil {
		panic(fmt.Errorf("SendToAllNeighbors twice in a superstep, without a combiner for the two: %w", why))
	}
	for e := range v.Edges() {
		v.Send(e.To, m)
	}
}
