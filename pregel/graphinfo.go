package pregel

// GraphInfo is what a program's Validate gets to know of the graph.
type GraphInfo struct {
	// NumVertices and NumEdges are those of the graph: its arcs as stored, where an undirected edge is two and an undirected loop one.
	NumVertices, NumEdges uint64
	// Directed says that edges point one way, Weighted that they have weights here.
	Directed, Weighted bool
	Partitions         int
}
