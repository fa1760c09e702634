package delivery

import "github.com/superstep-go/superstep/internal/graph"

// Experiment has what is changed to measure it. Only the lab and tests set it.
type Experiment struct {
	// Encoding forces how columns name the vertices that are present.
	Encoding Encoding
	// Uncombined sends every pushed message by itself (Ueno13's naive delivery).
	Uncombined bool
	// Serial sends and receives columns one after the other, and none while edges are walked.
	Serial bool
	// WholeLists has pulls walk whole lists: not tiles of them, nor the lightest arcs first.
	WholeLists bool
	// Synchronous has every message wait for the next superstep.
	Synchronous bool
	// Sizes are used instead of the engine's constants, where they are not 0.
	Sizes Sizes
	// Probe, if not nil, is called with how much of a kind of work a partition does, by several
	// threads at once.
	Probe func(kind Work, n int)
}

// Sizes are amounts of work from which the engine does it in another way.
type Sizes struct {
	SerialEdges int // up to which one thread does a superstep's work
	RoundEdges  int // that a thread puts into bins before these are folded
	PartBytes   int // of a part of a column; the same in all partitions
	Places      int // edges of a partition that can be numbered
	// Lists are thinned when fewer than one in FewArcs arcs can matter, in the ThinFrom-th
	// superstep of a run in which that is so.
	FewArcs, ThinFrom int
	// Tile is the size of tiles, which are then made at the first full pull.
	Tile graph.TileSize
}

// Work is a kind of work that a probe counts.
type Work uint8

const (
	PushedEdges  Work = iota // the edges of a task of a push
	AwakeWords               // words looked at for vertices that have messages or are awake
	MadeTiles                // tiles are made
	TiledArcs                // the arcs of a tile that is pulled
	ThinnedLists             // lists are thinned
	SharedPulls              // a pull delivers messages in the superstep in which they are sent
)
