package kernel

import (
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/mem"
)

// Placement describes the partition that an Instance is made for.
type Placement struct {
	Binding
	// Ways is how many columns of messages to all neighbours there are: 2 for Either.
	Ways int
	// Size is the number of owned vertices, rounded up to whole words.
	Size                  int
	Partition, Partitions int
	OutDegrees, InDegrees []uint32
	// Store is where messages that are kept one by one lie.
	Store *mem.Arena
	// Hub is set to 1 more than the last vertex with so many messages that they want room.
	Hub *atomic.Uint64
}

// ColumnPull is a traversal, and the column whose messages cross it.
type ColumnPull struct {
	*Pull
	Way int
}

// Batch is up to 64 words of vertices that a Lane sweeps, and what came of each.
type Batch struct {
	// Words are their numbers; Run the vertices to run, Received those with a message, and
	// Active those awake.
	Words                 [64]int32
	Run, Received, Active [64]uint64
	// Sent are the vertices that sent to all neighbours, Back those that sent to in-neighbours
	// apart; Halted voted to halt, and Finished finished.
	Sent, Back, Halted, Finished [64]uint64
}
