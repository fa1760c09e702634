package pregel

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Engine is for the engine that runs programs, which reaches the unexported parts of this package through it. Programs do not need
// it, and it may change in any version.
//
// Its zero value must be bound. It holds the block of one goroutine, and calls the program for its vertices; the calls of
// a sweep are the only ones for each vertex.
type Engine[V, M any] struct {
	Block  Block[V, M]
	Worker Worker
	cursor Vertex[V, M]
	wrong  int // see SweepSelf
}

// Bind sets what is the same in all supersteps of a goroutine. combine reduces two messages of one vertex to all its
// neighbours; it is nil where each must arrive by itself.
func (e *Engine[V, M]) Bind(w Worker, label func(VertexID) uint64, s kernel.State, outbox *kernel.Outbox[M], combine func(a, b M) M) {
	w.label, w.state = label, s
	e.Worker = w
	e.Block.Worker, e.Block.outbox, e.Block.combine = &e.Worker, outbox, combine
}

// State returns the part of the worker that programs reach only through methods.
func (e *Engine[V, M]) State() *kernel.State { return &e.Worker.state }

// Place sets the local index and the id of the block's first vertex.
func (e *Engine[V, M]) Place(base uint32, first VertexID) { e.Block.base, e.Block.First = base, first }

// Sweep calls Compute of p for every vertex of Run, in rising order; identity is the message of those without one.
func (e *Engine[V, M]) Sweep(p Program[V, M], identity M) {
	b, v := &e.Block, e.begin()
	for run := b.Run; run != 0; run &= run - 1 {
		if i := v.move(run); b.Received&v.bit != 0 {
			p.Compute(v, b.In[i])
		} else {
			p.Compute(v, identity)
		}
		if v.sent&sentOne != 0 { // what is kept in memory is not saved around the call
			b.Sent |= v.bit
			b.Out[v.i&63] = v.message
		}
	}
	e.end(b.Sent)
}

// SweepSelf is Sweep for a program whose only message is the sender's own id, of which presence says everything: Out is
// not written. It returns the first vertex that sent anything else, or -1.
func (e *Engine[V, M]) SweepSelf(p Program[V, M], identity M) (wrong int) {
	b, v := &e.Block, e.begin()
	message := any(&v.message).(*VertexID)
	e.wrong = -1
	for run := b.Run; run != 0; run &= run - 1 {
		if i := v.move(run); b.Received&v.bit != 0 {
			p.Compute(v, b.In[i])
		} else {
			p.Compute(v, identity)
		}
		if v.sent&sentOne != 0 { // what is kept in memory is not saved around the call
			if b.Sent |= v.bit; *message != v.id && e.wrong < 0 {
				e.wrong = int(v.i)
			}
		}
	}
	e.end(b.Sent)
	return e.wrong
}

// SweepInit calls Init of p for every vertex of Run, in rising order.
func (e *Engine[V, M]) SweepInit(p interface{ Init(v *Vertex[V, M]) }) {
	b, v := &e.Block, e.begin()
	sent := b.Sent
	for run := b.Run; run != 0; run &= run - 1 {
		i := v.move(run)
		p.Init(v)
		if v.sent&sentOne != 0 {
			sent |= 1 << i
			b.Out[i] = v.message
		}
	}
	e.end(sent)
}

// SweepLists calls Compute of p for every vertex of Run, in rising order, with the messages that messages returns.
func (e *Engine[V, M]) SweepLists(p ListProgram[V, M], messages func(i int) []M) {
	b, v := &e.Block, e.begin()
	sent := b.Sent
	for run := b.Run; run != 0; run &= run - 1 {
		i := v.move(run)
		p.Compute(v, messages(int(i)))
		if v.sent&sentOne != 0 {
			sent |= 1 << i
			b.Out[i] = v.message
		}
	}
	e.end(sent)
}

// begin prepares the cursor for a sweep; end moves its output to the block.
func (e *Engine[V, M]) begin() *Vertex[V, M] {
	v := &e.cursor
	v.b, v.values, v.halt, v.finish, v.random.of = &e.Block, e.Block.Values, 0, 0, None
	if c := e.Block.changes; c != nil {
		c.of = None
	}
	return v
}

func (e *Engine[V, M]) end(sent uint64) {
	b, v := &e.Block, &e.cursor
	b.Sent, b.Halt, b.Finish = sent, b.Halt|v.halt, b.Finish|v.finish
	v.b = nil
}

// move takes the cursor to the lowest vertex of run.
func (v *Vertex[V, M]) move(run uint64) uint32 {
	i := uint32(bits.TrailingZeros64(run)) & 63
	v.i, v.bit, v.id, v.sent = i, run&-run, v.b.First+VertexID(i)*v.b.Stride, 0
	return i
}

// Current returns, once, the vertex whose call panicked in a sweep; None after any other panic.
func (e *Engine[V, M]) Current() VertexID {
	if e.cursor.b == nil {
		return None
	}
	e.cursor.b = nil
	return e.cursor.id
}

// Unlist returns the program inside p when p was made by [List].
func (e *Engine[V, M]) Unlist(p Program[V, M]) (ListProgram[V, M], bool) {
	l, ok := p.(listed[V, M])
	return l.program, ok
}

// Aggregate returns the kernel's description of an aggregator.
func (e *Engine[V, M]) Aggregate(a Aggregate) kernel.Aggregate { return a.aggregate() }

// Property returns the kernel's description of a property column.
func (e *Engine[V, M]) Property(c Column) kernel.Property { return c.column() }

// Coordinator makes the Coordinator of a run, with the aggregators' totals, indexed by their numbers. log, if not nil, takes its lines.
func (e *Engine[V, M]) Coordinator(vertices, edges uint64, totals []kernel.Cell, log func(line string)) *Coordinator {
	return &Coordinator{NumVertices: vertices, NumEdges: edges, cells: totals, log: log}
}

// Totals gives access to aggregators' totals, indexed by their numbers, when their run is over.
func (e *Engine[V, M]) Totals(totals []kernel.Cell) Totals { return final(totals) }

// final is the Totals of a run that is over.
type final []kernel.Cell

func (f final) totals() []kernel.Cell { return f }
