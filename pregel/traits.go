package pregel

// Traits are facts about a program. The program's optional method Traits returns them. The zero
// value fits most programs. The engine calls Traits once per job.
type Traits struct {
	// Direction selects the edges along which SendToAllNeighbors sends.
	Direction Direction
	// Monotone promises that a message has no effect unless the combiner prefers it to all earlier
	// messages to the vertex. The engine may drop the other messages.
	Monotone bool
	// Asynchronous allows a Monotone program's message to arrive in the superstep that sends it.
	// The numbers of supersteps and messages then vary from run to run. The engine does this only
	// in one partition, only for a NonNegative program with combiner MinPlus or MinPlusSender, and
	// not in deterministic runs.
	Asynchronous bool
	// NonNegative makes a graph with an edge of negative weight an error.
	NonNegative bool
	// Converges means that a run has converged when all vertices sleep and no message is left.
	// Otherwise reports show such a run as halted.
	Converges bool
	// Mutates allows the program to add and remove vertices and edges (Malewicz 2010, 3.4).
	// CreateOnMessage, together with Mutates, makes a message to a removed vertex create the vertex
	// again, with the zero value. Otherwise such a message is dropped.
	Mutates, CreateOnMessage bool
	// MaxSupersteps is the greatest possible number of supersteps, for estimates of the time left.
	// 0 means unknown.
	MaxSupersteps int
	// Aggregators and Columns list the aggregators and columns that the program uses.
	Aggregators []Aggregate
	Columns     []Column
	// InputIDs means that values, of type uint64, are input ids of vertices, and groups too. Output
	// then has the vertices' names, if the input has names.
	InputIDs bool
	// Help describes the program in one line, for the command algorithms.
	Help string
}

// Report selects the statistics of values that reports and pages show. A program's optional method
// Report returns it. All functions are optional.
type Report[V any] struct {
	// Score makes reports list the ten vertices with the highest scores. ScoreName is the name of
	// the score.
	Score     func(v V) float64
	ScoreName string
	// Reached makes reports count the vertices for which it returns true.
	Reached func(v V) bool
	// Group makes reports count groups that are named by a vertex, such as components. None means
	// that the vertex is in no group. Number does the same for groups that are named by a number,
	// such as colors.
	Group  func(v V) VertexID
	Number func(v V) uint64
}

// GraphInfo describes the graph to a program's Validate.
type GraphInfo struct {
	// NumVertices is the number of vertices. NumEdges is the number of stored arcs: an undirected
	// edge has two, an undirected loop one.
	NumVertices, NumEdges uint64
	// Directed: edges have a direction. Weighted: edges have weights in this run.
	Directed, Weighted bool
	Partitions         int
}

// Plan lists the programs that run before the program whose method Plan returns it. Package plan
// makes plans. Steps is for the engine. The zero value is an empty plan.
type Plan struct{ Steps any }
