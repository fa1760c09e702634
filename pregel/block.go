package pregel

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// Block is 64 consecutive vertices of a partition, as arrays with one element per vertex. The
// engine fills the input fields. The program writes the output fields, through [Vertex] or directly
// in ComputeBlock and InitBlock. Then the engine reads them. Bit i of each word belongs to vertex i
// of the block, whose id is First + i*Stride.
//
// ComputeBlock and InitBlock write Values, Out, Sent, Halt and Finish, for the vertices of Run
// only. They must not change any other field (docs/design/block-columns.md). A Block belongs to one
// goroutine and is only valid during the call.
type Block[V, M any] struct {
	// Run marks the vertices to compute: the vertices that are awake or have a message, and are not
	// finished. The engine ignores all other bits of the output words.
	Run uint64
	// Awake marks the vertices of Run that had not voted to halt. A message woke the other vertices
	// of Run. In superstep 0 all vertices are awake.
	Awake uint64
	// Received marks the vertices of Run with a message, In[i]. All other elements of In are
	// undefined. In may be nil in superstep 0, which has no messages.
	Received uint64
	In       *[64]M
	// Values are the vertices' values, to be read and written in place. In the last block of a
	// partition some elements may belong to no vertex.
	Values *[64]V

	// Sent marks the vertices whose message Out[i] goes to all their neighbours. Under
	// combiners.Sender the message is the vertex's id, and ComputeBlock need not write Out.
	Sent uint64
	Out  *[64]M
	// Halt marks the vertices that voted to halt. Finish marks the vertices that are finished: they
	// never run again, and messages to them are dropped.
	Halt, Finish uint64

	First, Stride VertexID
	// The degrees in the program's Direction. They may be the graph's own arrays: read only.
	OutDegrees, InDegrees *[64]uint32

	*partition
	back   back[M]
	watch  func(from VertexID, message any) // a test's observer of each sent message; or nil
	outbox *kernel.Outbox[M]
	// combine reduces two messages of a vertex to all its neighbours. It is nil if each message
	// must be delivered separately.
	combine func(a, b M) M
	change  Change[V]
}

// ID returns the id of vertex i.
func (b *Block[V, M]) ID(i int) VertexID { return b.First + VertexID(i)*b.Stride }

// Take copies element i of from to to, for each bit i that is set in which. A ComputeBlock uses it
// if vertices take their messages as values.
func Take[T any](to, from *[64]T, which uint64) {
	const dense = 24 // above this number of elements it is faster to visit all
	switch n := bits.OnesCount64(which); {
	case n == 64:
		*to = *from
	case n > dense:
		for i := 0; i < 64; i += 4 {
			// Load all elements, so that the compiler can use conditional moves. Branches on random
			// bits would be mispredicted.
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
