// Package pregel is the API that vertex programs are written against (Malewicz 2010): vertices that run in supersteps, halt, and
// wake on messages; combiners, aggregators, master compute. Package superstep runs programs.
//
// # A program
//
// A program is a struct. Its exported fields with a param tag are its parameters on the command line: strings, booleans,
// integers, floats, types made of these, time.Duration (1m30s), [VertexID], given as input id, and slices of all these, but no
// maps or other structs. A slice is given with commas, sources=1,5,9, or as nothing, which is the empty one; in a slice of strings
// a backslash stands before a comma or backslash that belongs to a string, and anywhere else is itself; alone it is the slice of an
// empty string. A field with the tag default has that value when none is given; without one a VertexID or a slice of them must be
// given, and default:"" is the empty slice. In Go a field that is zero has its default, too, but for vertices, and for parameters that
// superstep.Options.Zero names. A tag unless:"other" leaves the default out where the parameter other is given. Its methods are its behaviour. V is the type of a vertex's value and M the type of a
// message, both inferred from the methods.
//
//	type Hops struct {
//		Source pregel.VertexID `param:"source" help:"vertex to count from"`
//	}
//
//	func (Hops) Combiner() pregel.Combiner[int64] { return combiners.Min[int64]() }
//
//	func (p Hops) Init(v *pregel.Vertex[int64, int64]) {
//		v.Set(math.MaxInt64)
//		v.VoteToHalt()
//		if v.ID() == p.Source {
//			p.Compute(v, 0)
//		}
//	}
//
//	func (Hops) Compute(v *pregel.Vertex[int64, int64], hops int64) {
//		if hops < v.Value() {
//			v.Set(hops)
//			v.SendToAllNeighbors(hops + 1)
//		}
//		v.VoteToHalt()
//	}
//
// # Methods
//
// Required: Compute(v *Vertex[V, M], msg M), where msg is all messages to v reduced by the combiner, and the
// combiner's identity when none came ([Vertex.HasMessage] tells); and, but for a [List] program, Combiner.
//
// Optional, each found once per job; a method with one of these names and another signature is refused:
//
//	Combiner() Combiner[M]                how messages to one vertex are reduced
//	Validate() error                      refuses parameters that make no sense; called with and without
//	                                      a graph, and without one VertexIDs in fields are None
//	Init(v *Vertex[V, M])                 runs instead of Compute in superstep 0
//	Initial() V                           with Sources: every vertex starts halted with this value,
//	Sources() []VertexID                  and superstep 0 runs on these vertices alone
//	Direction() Direction                 which edges messages follow: Out (default), In, Both, or Either,
//	                                      for a program that says so with each (SendAlong)
//	Monotone()                            a message that is no better, by the combiner, than one the
//	                                      vertex has had before has no effect, and is not delivered
//	Asynchronous()                        with Monotone: a message may also reach vertices in the superstep in which it is
//	                                      sent, so that how many supersteps and messages a run takes depends on chance.
//	                                      It does so in one partition, if the program is NonNegative and combines by
//	                                      MinPlus or MinPlusSender, and not in runs that must be deterministic
//	ValidateGraph(g GraphInfo) error      refuses a graph before superstep 0, such as one that is not directed;
//	                                      as in Validate, VertexIDs in fields may be None
//	NonNegative()                         a graph with an edge of negative weight is refused
//	Aggregators() []Aggregate             the aggregators the program uses
//	Columns() []Column                    the property columns the program uses; a run may fill those that are not Private
//	Coordinate(c *Coordinator)            master compute: before every superstep, 0 included. It has a copy of the program of its
//	                                      own: vertices do not see a field that it changes; aggregators and the phase tell them
//	ComputeBlock(b *Block[V, M])          does the work of Compute for up to 64 vertices at once; runs
//	                                      that must be deterministic call Compute all the same
//	InitBlock(b *Block[V, M])             likewise for Init, in superstep 0
//	MaxSupersteps() int                   how many supersteps the program runs at most, those of its plan included, or 0 if that
//	                                      is not known: the time left is estimated by it, and nothing else; called with and
//	                                      without a graph, as Validate
//	Plan() Plan                           programs that run first, in the same run (package plan)
//	Mutations() Mutations                 the program adds or removes vertices or edges
//	Resolve(r Resolution[V]) (V, bool)    with Mutations: what becomes of a vertex that is to be added or removed
//	Group(v V) VertexID                   the group that a vertex with value v is in, such as its component, or None; or Group(v V)
//	                                      uint64, by numbers: reports say how many groups there are, and which are the largest
//	Score(v V) float64                    reports name the ten vertices of the highest scores
//	ScoreName() string                    what the score is, in a word or two, for reports
//	Reached(v V) bool                     reports count the vertices with such values
//	MarshalBinary() ([]byte, error)       with UnmarshalBinary([]byte) error: its own state, for checkpoints: fields that Coordinate
//	                                      changes, and reads in a later superstep; of programs without these two nothing but parameters is kept,
//	                                      and of plans with such a program there are no checkpoints
//	Resend(v *Vertex[V, M])               sends to all neighbours again what v sent to them in superstep v.Superstep, the last one: its
//	                                      value and columns are as they were at the end of that, while aggregators and the phase
//	                                      may not be asked for. Checkpoints have no such messages then; it is called of the vertices
//	                                      that sent when a run goes on from one, and package pregeltest compares
//	Output(dst []byte, v V) []byte        appends a value as text, for result files; without it VertexIDs in values,
//	                                      their fields and elements are written as input ids
//	OutputLabels(dst []byte, v V, label func(VertexID) uint64) []byte
//	                                      Output for values that name vertices, whose input ids label returns; on a cluster
//	                                      it is called twice for a value, and the first time label returns 0
//
// # What a vertex sees
//
// A [Vertex] has its value, its edges, all by Edges or one by Edge(i), aggregators, columns, and random numbers, which depend on
// the seed of the run, the vertex's input id and the superstep alone. One step of a random walk is
//
//	v.SendAlongEdge(v.Rand().IntN(v.OutDegree()), walker)
//
// Common and CountCommon intersect its edges with a sorted list of ids: what two vertices have in common, if one sends the other
// its list.
//
// # Changing the graph
//
// A program with the method Mutations may call AddEdge, RemoveEdge, AddEdgeBetween, RemoveEdgeBetween, AddVertex and RemoveVertex of a vertex
// (Malewicz 2010, 3.4). A vertex sees what it does to its own edges at once; all else holds from the next superstep on, before which, for
// each vertex, edges are removed, then the vertex, then the vertex is added, then edges. What was sent before arrives along the edges
// as they were. The loaded graph stays as it is; superstep.Result.Graph has the changes. A superstep in which anything changes costs a copy
// of the lists that change.
//
// # Results
//
// What a run leaves, besides the vertices' values, are the program's aggregators: superstep.Result has them, so that total.Value(res) is
// what an aggregator total ended with, and the reports of the command line, traces and the page show them by name. A result is the
// input of another run where superstep.From gives its values to a [VertexColumn], which Init and Compute read from superstep 0 on; so is a
// function of the vertices' input ids, and with superstep.FromFile a file of lines "id value".
//
// # Semantics
//
// Every vertex is active in superstep 0. Messages sent in superstep S are read in S+1. A vertex that voted to halt is
// skipped until a message wakes it; one that called Finish never runs again. The run ends when no vertex is active and
// no message reached an unfinished one, when Coordinate halts or stops it, or at the limit of supersteps.
//
// A panic in a method fails the run with a [*ProgramError], and so do [Coordinator.Fail] and runtime.Goexit, which testing.T.FailNow calls: methods run on
// goroutines of the engine, and not on that of who runs the program.
package pregel

import (
	"fmt"
	"math"
)

// VertexID is the engine's handle of a vertex: its rank by falling degree, from 0, the same for any number of
// partitions. [Vertex.Label] gives the id the vertex has in the input.
type VertexID uint64

// None is the VertexID of no vertex.
const None VertexID = math.MaxUint64

// Direction says which edges SendToAllNeighbors, Edges and the degrees go by. It has no effect on an undirected graph.
type Direction uint8

const (
	Out  Direction = iota // along the edges: to out-neighbours
	In                    // along the reversed edges: to in-neighbours
	Both                  // both ways: a neighbour joined both ways counts twice
	// Either is Out, but SendAlong may send in the other direction too: a program that has phases in both. Messages of either
	// direction are a column of their own, which takes memory.
	Either
)

// String returns out, in, both or either.
func (d Direction) String() string {
	if d > Either {
		return fmt.Sprintf("Direction(%d)", uint8(d))
	}
	return [...]string{"out", "in", "both", "either"}[d]
}
