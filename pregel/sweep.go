package pregel

import (
	"math/bits"
	"time"

	"github.com/superstep-go/superstep/internal/mem"
)

// The functions sweep* call the program for the vertices of a block in ascending order. All calls
// of Compute and Init for single vertices are here.

// sweep calls Compute. identity is the message of a vertex without one.
func (l *lane[V, M]) sweep(p Program[V, M], identity M) {
	b, v := &l.Block, l.begin()
	for run := b.Run; run != 0; run &= run - 1 {
		if i := v.move(run); b.Received&v.bit != 0 {
			p.Compute(v, *mem.At(b.In, i))
		} else {
			p.Compute(v, identity)
		}
		if v.sent&sentOne != 0 { // fields of v are in memory: nothing is saved around the call
			b.Sent |= v.bit
			*mem.At(b.Out, v.i) = v.message
		}
	}
	l.end(b.Sent)
}

// sweepSelf is sweep for a program whose only message is the sender's own id. The bits in Sent
// imply the messages, so sweepSelf does not write Out. It returns the first vertex that sent any
// other message, or -1.
func (l *lane[V, M]) sweepSelf(p Program[V, M], identity M) (wrong int) {
	b, v := &l.Block, l.begin()
	message := any(&v.message).(*VertexID)
	l.wrong = -1
	for run := b.Run; run != 0; run &= run - 1 {
		if i := v.move(run); b.Received&v.bit != 0 {
			p.Compute(v, *mem.At(b.In, i))
		} else {
			p.Compute(v, identity)
		}
		if v.sent&sentOne != 0 { // fields of v are in memory: nothing is saved around the call
			if b.Sent |= v.bit; *message != v.id && l.wrong < 0 {
				l.wrong = int(v.i)
			}
		}
	}
	l.end(b.Sent)
	return l.wrong
}

// sweepInit calls init.
func (l *lane[V, M]) sweepInit(init func(v *Vertex[V, M])) {
	b, v := &l.Block, l.begin()
	for run := b.Run; run != 0; run &= run - 1 {
		v.move(run)
		init(v)
		if v.sent&sentOne != 0 {
			b.Sent |= v.bit
			*mem.At(b.Out, v.i) = v.message
		}
	}
	l.end(b.Sent)
}

// sweepLists calls Compute of a list program with the messages that gather collected.
func (l *lane[V, M]) sweepLists(p ListProgram[V, M]) {
	b, v := &l.Block, l.begin()
	for run := b.Run; run != 0; run &= run - 1 {
		i := v.move(run)
		p.Compute(v, l.messages[l.offsets[i]:l.offsets[i+1]])
		if v.sent&sentOne != 0 {
			b.Sent |= v.bit
			*mem.At(b.Out, v.i) = v.message
		}
	}
	l.end(b.Sent)
}

// begin prepares the cursor for a sweep. end moves the cursor's output to the block.
func (l *lane[V, M]) begin() *Vertex[V, M] {
	v := &l.cursor
	v.b, v.values, v.halt, v.finish = &l.Block, l.Block.Values, 0, 0
	l.own.begin()
	return v
}

func (l *lane[V, M]) end(sent uint64) {
	b, v := &l.Block, &l.cursor
	b.Sent, b.Halt, b.Finish = sent, b.Halt|v.halt, b.Finish|v.finish
	v.b = nil
}

// move points the cursor at the lowest vertex of run, and returns its position in the block.
func (v *Vertex[V, M]) move(run uint64) uint32 {
	i := uint32(bits.TrailingZeros64(run)) & 63
	v.i, v.bit, v.id, v.sent = i, run&-run, v.b.First+VertexID(i)*v.b.Stride, 0
	return i
}

func (l *lane[V, M]) Lists(
	w int, open, active uint64, pull bool,
) (run, received, sent, halted, finished uint64, walked int) {
	received, walked = l.gather(w, open, pull)
	if run = (received | active) & open; run == 0 {
		return run, received, 0, 0, 0, walked
	}
	gathered := time.Now()
	l.window(w, run, active)
	l.Block.Received = received
	l.running = true
	l.sweepLists(l.listProgram())
	l.running = false
	sent, halted, finished = l.drain(w, false)
	l.endWord(gathered)
	return run, received, sent, halted, finished, walked
}

// gather collects the messages of the vertices open of word w. received marks the vertices that got
// any; walked counts the edges.
func (l *lane[V, M]) gather(w int, open uint64, pull bool) (received uint64, walked int) {
	n, messages := l.of, l.messages[:0]
	pulls := n.pulls
	if !pull {
		pulls = nil
	}
	for i := range 64 {
		l.offsets[i] = len(messages)
		if open>>i&1 == 0 {
			continue
		}
		local := uint32(w<<6 + i)
		if came := n.lists.of(local); len(came) > 0 {
			messages = append(l.roomFor(messages, local, len(came)), came...)
		}
		for k := range pulls {
			p := pulls[k].Pull
			lo, hi := p.Row(local)
			messages = l.roomFor(messages, local, int(hi-lo))
			messages = n.ways[pulls[k].Way].gather.gather(p, lo, hi, messages)
			walked += int(hi - lo)
		}
		if len(messages) > l.offsets[i] {
			received |= 1 << i
		}
	}
	l.offsets[64], l.messages = len(messages), messages
	return received, walked
}

// hub is the number of messages from which roomFor reserves their memory at once. Few adjacency
// lists are so long.
const hub = 1 << 16

// roomFor reserves memory for the n messages along a list, if the word then has hub messages or
// more; a list may bring millions. It records the vertex if n is at least hub (part.hub). It
// reserves hub more, for the next vertices of the word: otherwise one more message would make
// append copy all messages to Go's heap.
func (l *lane[V, M]) roomFor(messages []M, local uint32, n int) []M {
	if n >= hub {
		l.of.hub.Store(uint64(local) + 1)
	}
	if cap(messages)-len(messages) < n && len(messages)+n >= hub {
		messages = mem.Grow(l.of.store, messages, n+hub)
		l.messages = messages[:0] // release the old array
	}
	return messages
}
