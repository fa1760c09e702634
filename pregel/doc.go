// Package pregel is the API that vertex programs are written against (Malewicz 2010): vertices that
// run in supersteps, halt and wake on messages; combiners, aggregators, a coordinator.
// docs/concepts.md explains these words, docs/programs.md shows how to write and test a program.
//
// # Where it stands
//
//	program  --methods-->  pregel  --erased types-->  engine
//	                         |                          |
//	                         +--- Vertex, Block <-------+   a call of Compute for each vertex
//
// A program imports pregel and package combiners. Package superstep runs it. This package erases
// the types V and M, so that the engine has no type parameters. Read vertex.go first, then
// program.go and aggregator.go; erased.go, instance.go, lane.go and sweep.go are for the engine.
// The package's example is a whole program with its run.
//
// # A program
//
// A program is a struct. V is the type of a vertex's value and M the type of a message; Go infers
// both from the methods. Exported fields with a param tag are its parameters on the command line:
//
//	Source pregel.VertexID `param:"source" help:"vertex to count from"`
//	Limit  int             `param:"limit" default:"10" help:"how far to go"`
//
// A parameter is a string, boolean, integer, float, a type defined from one of these, time.Duration
// (1m30s), [VertexID] (given as an input id or a name), or a slice of these. Maps and other structs
// are errors. The elements of a slice are separated by commas: sources=1,5,9. In a slice of strings
// a backslash escapes a comma or a backslash; a backslash alone is a slice of one empty string. The
// tag default has the value that a parameter has if it is not given; default:"" is an empty slice.
// A VertexID, or a slice of them, without a default must be given. With zero:"refused" the value 0
// is an error.
//
// # Methods
//
// Compute(v *Vertex[V, M], msg M) is required. The combiner has reduced all messages to v to msg.
// If v has no message, msg is the combiner's identity and [Vertex.HasMessage] is false. Combiner is
// required, except in a [List] program.
//
// All other methods are optional. The engine looks for them once per job. A method with one of
// these names and another signature is an error.
//
//	Traits() Traits                  facts about the program: its direction, aggregators,
//	                                 columns...
//	Combiner() Combiner[M]           reduces messages to one vertex
//	Init(v *Vertex[V, M])            runs instead of Compute in superstep 0
//	Start() (V, []VertexID)          the initial value of all vertices, which begin halted, and
//	                                 the only vertices that run in superstep 0
//	Validate(g *GraphInfo) error     checks the parameters if g is nil (VertexIDs in fields may be
//	                                 None then), else checks the graph before superstep 0
//	Coordinate(c *Coordinator)       runs once before every superstep, 0 included
//	ComputeBlock(b *Block[V, M])     does the work of Compute for up to 64 vertices; deterministic
//	                                 runs and supersteps with few messages call Compute
//	InitBlock(b *Block[V, M])        does the work of Init for up to 64 vertices
//	Plan() Plan                      returns programs that run first (package plan)
//	Resolve(r Resolution[V]) (V, bool)
//	                                 if Traits has Mutates: returns a vertex's value, and whether
//	                                 the vertex exists
//	Report() Report[V]               the statistics of values that reports show: scores, groups
//	MarshalBinary() ([]byte, error)  with UnmarshalBinary([]byte) error: saves the program's own
//	                                 state in checkpoints. Without them a checkpoint has the
//	                                 parameters only. A plan with such a program has no
//	                                 checkpoints
//	Resend(v *Vertex[V, M])          sends again what v sent to all neighbours in superstep
//	                                 v.Superstep, from its value and columns at the end of that
//	                                 superstep. Checkpoints then leave these messages out.
//	                                 Aggregators and the phase are not available in it
//	Output(dst []byte, v V) []byte   appends a value as text. Without Output, VertexIDs in a value
//	                                 are written as input ids
//	OutputLabels(dst []byte, v V, label func(dst []byte, id VertexID) []byte) []byte
//	                                 Output for values with VertexIDs. label appends a vertex as
//	                                 the input writes it: its id, or its name with a backslash
//	                                 before blanks, colons, semicolons and backslashes. A cluster
//	                                 calls it up to three times; label appends zeros until the
//	                                 last time
//
// # Semantics
//
// Every vertex is active in superstep 0. Messages sent in superstep s are read in s+1. A vertex
// that voted to halt sleeps until a message wakes it. A vertex that called Finish never runs again.
// The run ends when no vertex is active and no unfinished vertex has a message, when Coordinate
// halts or stops the run, or at the limit of supersteps. Reports show which of these ended the run.
// A run that Coordinate halted has converged.
//
// One program value serves all vertices from several goroutines: its fields are read-only while it
// runs. A [Vertex] is valid during the call only. Random numbers ([Vertex.Rand]) depend on the
// seed, the vertex's input id and the superstep alone.
//
// A program that Mutates may add and remove vertices and edges. A vertex sees changes of its own
// edges at once. All other changes take effect in the next superstep. For each vertex the engine
// first removes edges, then removes the vertex, then adds the vertex, then adds edges. Messages
// already sent travel along the old edges. The loaded graph does not change; superstep.Result.Graph
// has the changes.
//
// A panic in a method fails the run with a [*ProgramError]. [Coordinator.Fail] and runtime.Goexit
// do so too. Methods run on goroutines of the engine, so a test's program must not call
// testing.T.FailNow, which calls runtime.Goexit.
package pregel

import (
	"fmt"
	"math"
	"strconv"
)

// VertexID is the engine's id of a vertex: the vertex's rank by falling degree, from 0. It does not
// depend on the number of partitions. [Vertex.Label] returns the vertex's id in the input.
type VertexID uint64

// None is the VertexID of no vertex.
const None VertexID = math.MaxUint64

// String returns the id as a decimal number, or "None".
func (id VertexID) String() string {
	if id == None {
		return "None"
	}
	return strconv.FormatUint(uint64(id), 10)
}

// Direction selects the edges that SendToAllNeighbors, Edges and the degrees use. It has no effect
// on an undirected graph.
type Direction uint8

const (
	Out  Direction = iota // along the edges: to out-neighbours
	In                    // along the reversed edges: to in-neighbours
	Both                  // both ways: a neighbour with an edge each way counts twice
	// Either is Out, but SendAlong may also send along in-edges. It is for programs with phases in
	// both directions. The messages to in-neighbours need memory of their own.
	Either
)

// String returns out, in, both or either.
func (d Direction) String() string {
	if d > Either {
		return fmt.Sprintf("Direction(%d)", uint8(d))
	}
	return [...]string{"out", "in", "both", "either"}[d]
}
