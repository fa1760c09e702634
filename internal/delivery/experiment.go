package delivery

import "github.com/superstep-go/superstep/internal/graph"

// Experiment has settings for measurements and tests. Only the lab and tests set them.
type Experiment struct {
	// Encoding forces how columns encode which vertices are present.
	Encoding Encoding
	// Uncombined sends every pushed message separately (Ueno13's naive delivery).
	Uncombined bool
	// Serial sends and receives columns one after the other, and never while edges are walked.
	Serial bool
	// WholeLists makes pulls walk whole lists: no tiles, and not the lightest arcs first.
	WholeLists bool
	// Synchronous delivers every message in the next superstep, never in the same one.
	Synchronous bool
	// Sizes other than 0 replace constants of the engine.
	Sizes Sizes
	// Probe, if not nil, is called with the amount of a kind of work that a partition does. Several
	// threads may call it at once.
	Probe func(kind Work, n int)
}

// Sizes has the thresholds at which the engine chooses another method.
type Sizes struct {
	SerialEdges int // most edges for which one thread does a superstep's work
	RoundEdges  int // edges that a thread puts into bins before these are folded
	FewEdges    int // most edges of a superstep that uses lists of vertices; -1: none does
	FewShared   int // least senders of such a superstep that all workers share
	PartBytes   int // bytes of a part of a column; equal in all partitions
	HubWords    int // words of each partition with the hubs of Lalp; equal in all partitions
	Places      int // most edges that a partition can number
	// Lists are thinned when fewer than one in FewArcs arcs can matter, for the ThinFrom-th time in
	// a run.
	FewArcs, ThinFrom int
	// Tile is the size of tiles. If it is set, the first full pull makes them.
	Tile graph.TileSize
}

// Work is a kind of work that a probe counts.
type Work uint8

const (
	PushedEdges  Work = iota // edges in a task of a push
	AwakeWords               // words examined for vertices that are awake or have messages
	PassedWords              // words examined for messages between partitions, and for their receivers
	MadeTiles                // number of times that tiles are made
	TiledArcs                // arcs in a tile that is pulled
	ThinnedLists             // number of times that lists are thinned
	SharedPulls              // pulls that deliver messages in the superstep that sends them
)
