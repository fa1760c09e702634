package pregel

// Delta says how a graph changes between runs, by input ids. What is removed is removed first.
type Delta struct {
	// RemoveVertices go with all their edges, in both directions. RemoveEdges are taken from the graph with all edges parallel to
	// them; one that is not there is ignored. Their vertices must be in the graph.
	RemoveVertices []uint64
	RemoveEdges    []InputEdge
	// AddVertices are added if they are not there, and so are the ends of AddEdges. An edge that is there already becomes what the
	// graph's rule for duplicates says, the one that is there if they are refused, and a loop what that for loops says.
	AddVertices []uint64
	AddEdges    []InputEdge
}

// InputEdge is an edge between input ids. In an undirected graph it is the same from either end; in one without weights Weight has no
// effect, and it has none for an edge that is removed.
type InputEdge struct {
	From, To uint64
	Weight   float64
}
