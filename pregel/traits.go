package pregel

// Traits are facts about a program, which its optional method Traits returns. The zero value fits
// most programs. The engine asks once for each job.
type Traits struct {
	// Direction tells along which edges SendToAllNeighbors sends.
	Direction Direction
	// Monotone promises that a message has no effect unless it is better, by the combiner, than all
	// earlier ones to the vertex: others need not be delivered.
	Monotone bool
	// Asynchronous, of a Monotone program, allows a message to arrive in the superstep that sends
	// it. The numbers of supersteps and messages then depend on chance. It happens in one
	// partition, in a NonNegative program that combines by MinPlus or MinPlusSender, and not in
	// deterministic runs.
	Asynchronous bool
	// NonNegative refuses a graph with an edge of negative weight.
	NonNegative bool
	// Converges tells that a run in which all vertices sleep and no message is left has converged:
	// reports say halted otherwise.
	Converges bool
	// Mutates allows the program to add and remove vertices and edges (Malewicz 2010, 3.4).
	// CreateOnMessage, of such a program, has a message to a removed vertex make it anew, with the
	// zero value: otherwise the message is dropped.
	Mutates, CreateOnMessage bool
	// MaxSupersteps is how many supersteps there are at most, for estimates of the time left; 0 is
	// unknown.
	MaxSupersteps int
	// Aggregators and Columns list those that the program uses.
	Aggregators []Aggregate
	Columns     []Column
	// InputIDs tells that values, of type uint64, are input ids of vertices, and so are groups:
	// both are written as the input calls the vertex.
	InputIDs bool
	// Help describes the program in one line, for the command algorithms.
	Help string
}

// Report tells what reports and pages show of the values of a run. A program's optional method
// Report returns it; a function that is nil is left out.
type Report[V any] struct {
	// Score has the ten vertices of the highest scores listed. ScoreName is what the score is.
	Score     func(v V) float64
	ScoreName string
	// Reached has the vertices counted for which it is true.
	Reached func(v V) bool
	// Group has groups counted that are named by a vertex, such as components; a vertex whose group
	// is None is in none. Number has groups counted that are named by a number, such as colors.
	Group  func(v V) VertexID
	Number func(v V) uint64
}

// GraphInfo is what a program's Validate gets to know of the graph.
type GraphInfo struct {
	// NumVertices and NumEdges are those of the graph: its arcs as stored, where an undirected edge
	// is two and an undirected loop one.
	NumVertices, NumEdges uint64
	// Directed says that edges point one way, Weighted that they have weights here.
	Directed, Weighted bool
	Partitions         int
}

// Plan says which programs run before the program whose method Plan returns it. Package plan makes
// plans, whose Steps are for the engine; the zero value is an empty one.
type Plan struct{ Steps any }
