package kernel

import (
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/mem"
)

// Placement describes the partition of an Instance.
type Placement struct {
	Binding
	// Ways is the number of columns of messages to all neighbours: 2 for direction Either, else 1.
	Ways int
	// Size is the number of owned vertices, rounded up to whole words.
	Size                  int
	OutDegrees, InDegrees []uint32
	// Store is the arena for messages that are stored one by one.
	Store *mem.Arena
	// Hub is set to 1 more than the last vertex with so many messages that they need their own
	// memory.
	Hub *atomic.Uint64
}

// ColumnPull is a pull, and the number of the column whose messages it delivers.
type ColumnPull struct {
	*Pull
	Way int
}

// Batch has up to 64 words of vertices for Lane.Sweep, and the results of each.
type Batch struct {
	// Words has their numbers. Run are the vertices to run, Received those with a message, and
	// Active those awake.
	Words                 [64]int32
	Run, Received, Active [64]uint64
	// Sent are the vertices that sent to all neighbours, Back those that sent separately to
	// in-neighbours, Halted those that voted to halt, and Finished those that finished.
	Sent, Back, Halted, Finished [64]uint64
}

// Few has what some vertices did in a superstep with few messages.
type Few struct {
	// Rows has the vertices that sent to all neighbours. Their lists are not set.
	Rows []Row
	// Finished are the vertices that finished, Awake those that neither finished nor voted to halt.
	Finished, Awake []uint32
}
