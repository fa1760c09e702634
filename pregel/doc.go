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
// A parameter is a string, boolean, integer, float, a type made of one of these, time.Duration
// (1m30s), [VertexID] (given as an input id or a name), or a slice of these; maps and other structs
// are refused. A slice is given with commas: sources=1,5,9. In a slice of strings a backslash
// escapes a comma or a backslash; a backslash alone is a slice of one empty string. The tag default
// has the value of a parameter that is not given; default:"" is an empty slice. A VertexID, or a
// slice of them, without a default must be given. With zero:"refused" nobody may give 0.
//
// # Methods
//
// Compute(v *Vertex[V, M], msg M) is required. msg is all messages to v, reduced by the combiner;
// without a message it is the combiner's identity, and [Vertex.HasMessage] is false. Combiner is
// required, except in a [List] program.
//
// All others are optional. The engine finds them once per job, and refuses a method with one of
// these names and another signature.
//
//	Traits() Traits                  facts about the program: its direction, aggregators, columns...
//	Combiner() Combiner[M]           reduces messages to one vertex
//	Init(v *Vertex[V, M])            runs instead of Compute in superstep 0
//	Start() (V, []VertexID)          the value of all vertices, which begin halted, and the vertices
//	                                 on which alone superstep 0 runs
//	Validate(g *GraphInfo) error     refuses parameters, when g is nil: VertexIDs in fields may be
//	                                 None then; and refuses a graph before superstep 0
//	Coordinate(c *Coordinator)       runs once before every superstep, 0 included
//	ComputeBlock(b *Block[V, M])     does the work of Compute for up to 64 vertices; deterministic
//	                                 runs call Compute
//	InitBlock(b *Block[V, M])        does the work of Init likewise
//	Plan() Plan                      returns programs that run first (package plan)
//	Resolve(r Resolution[V]) (V, bool)
//	                                 if Traits has Mutates: decides whether a vertex exists, and its
//	                                 value
//	Report() Report[V]               what reports show of the values: scores, groups
//	MarshalBinary() ([]byte, error)  with UnmarshalBinary([]byte) error: keeps the program's own state
//	                                 in checkpoints. Without them a checkpoint has its parameters
//	                                 only. A plan with such a program has no checkpoints
//	Resend(v *Vertex[V, M])          sends again what v sent to all neighbours in superstep
//	                                 v.Superstep, from its value and columns at the end of that
//	                                 superstep. Checkpoints then leave these messages out.
//	                                 Aggregators and the phase are not available in it
//	Output(dst []byte, v V) []byte   appends a value as text. Without it VertexIDs in a value are
//	                                 written as input ids
//	OutputLabels(dst []byte, v V, label func(dst []byte, id VertexID) []byte) []byte
//	                                 Output for values with VertexIDs. label appends what the input
//	                                 calls a vertex: its id, or its name with a backslash before
//	                                 blanks, colons, semicolons and backslashes. A cluster calls it
//	                                 up to three times; label appends zeros until the last time
//
// # Semantics
//
// Every vertex is active in superstep 0. Messages sent in superstep s are read in s+1. A vertex
// that voted to halt sleeps until a message wakes it. A vertex that called Finish never runs again.
// The run ends when no vertex is active and no message reached an unfinished one, when Coordinate
// halts or stops it, or at the limit of supersteps; reports say which. Where Coordinate halts it,
// it has converged.
//
// One program value serves all vertices from several goroutines: its fields are read-only while it
// runs. A [Vertex] is valid during the call only. Random numbers ([Vertex.Rand]) depend on the
// seed, the vertex's input id and the superstep alone.
//
// A program that Mutates may add and remove vertices and edges. A vertex sees changes of its own
// edges at once. All others hold from the next superstep on: for each vertex edges are removed
// first, then the vertex, then the vertex is added, then edges. Messages already sent travel along
// the edges as they were. The loaded graph stays as it is; superstep.Result.Graph has the changes.
//
// A panic in a method fails the run with a [*ProgramError], and so do [Coordinator.Fail] and
// runtime.Goexit, which testing.T.FailNow calls: methods run on goroutines of the engine.
package pregel

import (
	"fmt"
	"math"
	"strconv"
)

// VertexID is the engine's handle of a vertex: its rank by falling degree, from 0, the same for any
// number of partitions. [Vertex.Label] gives the id the vertex has in the input.
type VertexID uint64

// None is the VertexID of no vertex.
const None VertexID = math.MaxUint64

// String returns the handle as a number, and that of no vertex as None.
func (id VertexID) String() string {
	if id == None {
		return "None"
	}
	return strconv.FormatUint(uint64(id), 10)
}

// Direction says which edges SendToAllNeighbors, Edges and the degrees go by. It has no effect on
// an undirected graph.
type Direction uint8

const (
	Out  Direction = iota // along the edges: to out-neighbours
	In                    // along the reversed edges: to in-neighbours
	Both                  // both ways: a neighbour joined both ways counts twice
	// Either is Out, but SendAlong may send in the other direction too: a program that has phases
	// in both. Messages of either direction are a column of their own, which takes memory.
	Either
)

// String returns out, in, both or either.
func (d Direction) String() string {
	if d > Either {
		return fmt.Sprintf("Direction(%d)", uint8(d))
	}
	return [...]string{"out", "in", "both", "either"}[d]
}
