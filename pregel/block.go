package pregel

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// Block is 64 consecutive vertices of a partition, held as columns. The engine fills the input
// columns; the program, through [Vertex] or directly in ComputeBlock and InitBlock, writes the
// output columns; the engine reads them. Vertex i of the block has bit i in every word and the id
// First + i*Stride.
//
// These two write Values, Out, Sent, Halt and Finish, for the vertices of Run only; everything else
// is read-only (docs/design/block-columns.md). A Block belongs to one goroutine and is only valid
// during the call.
type Block[V, M any] struct {
	// Run marks the vertices to compute: those awake or with a message, and not finished. The
	// engine ignores all other bits of the output words.
	Run uint64
	// Awake marks the vertices of Run that had not voted to halt, in superstep 0 all; the others
	// were woken by a message.
	Awake uint64
	// Received marks the vertices of Run with a message, In[i]. Elsewhere In holds anything; in
	// superstep 0, where there are no messages, In may be nil.
	Received uint64
	In       *[64]M
	// Values are the vertices' values, read and written in place. At the end of the graph some
	// belong to no vertex.
	Values *[64]V

	// Sent marks the vertices whose message Out[i] goes to all their neighbours. Under
	// combiners.Sender the message is the vertex's id, and Out need not be written by a
	// ComputeBlock.
	Sent uint64
	Out  *[64]M
	// Halt marks the vertices that voted to halt, Finish those that are finished: they never run
	// again, and messages to them are dropped.
	Halt, Finish uint64

	First, Stride VertexID
	// by the program's Direction; they may be the graph's own: only to be read
	OutDegrees, InDegrees *[64]uint32

	*partition
	back   back[M]
	watch  func(from VertexID, message any) // of tests, gets each message when it is sent; or nil
	outbox *kernel.Outbox[M]
	// reduces two messages of a vertex to all its neighbours; nil where each must arrive by itself
	combine func(a, b M) M
	change  Change[V]
}

// ID returns the id of vertex i.
func (b *Block[V, M]) ID(i int) VertexID { return b.First + VertexID(i)*b.Stride }

// Take copies the elements of from at the one bits of which to to: for a ComputeBlock whose
// vertices take their messages as values.
func Take[T any](to, from *[64]T, which uint64) {
	const dense = 24 // elements above which it is faster to visit all
	switch n := bits.OnesCount64(which); {
	case n == 64:
		*to = *from
	case n > dense:
		for i := 0; i < 64; i += 4 {
			// All are read in any case, or the choice would be a branch that nobody can predict.
			a, b, c, d := to[i], to[i+1], to[i+2], to[i+3]
			x, y, z, w := from[i], from[i+1], from[i+2], from[i+3]
			if which&1 != 0 {
				a = x
			}
			if which&2 != 0 {
				b = y
			}
			if which&4 != 0 {
				c = z
			}
			if which&8 != 0 {
				d = w
			}
			to[i], to[i+1], to[i+2], to[i+3] = a, b, c, d
			which >>= 4
		}
	default:
		for ; which != 0; which &= which - 1 {
			i := uint32(bits.TrailingZeros64(which))
			*mem.At(to, i) = *mem.At(from, i)
		}
	}
}
