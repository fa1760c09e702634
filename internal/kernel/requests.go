package kernel

// RequestKind is a kind of change of the graph.
type RequestKind uint8

const (
	AddEdge RequestKind = iota
	RemoveEdge
	AddVertex
	RemoveVertex
)

// Request is a program's request to change the graph: the vertex Of, or its edge to To.
type Request struct {
	Of, To uint64
	By     uint64 // the vertex that requests it
	Weight float64
	Kind   RequestKind
	Value  uint32 // of an AddVertex: index of the vertex's value in AddedValues
}

// Requests has the requests of one goroutine's vertices in a superstep, in their order.
type Requests struct {
	List []Request
	// NextID is the first id that no vertex has had. Limit is the first id that no vertex may get
	// yet.
	NextID, Limit uint64
	// Merge returns the weight of two parallel edges that are stored as one; it is nil if both are
	// stored. Loops tells whether loops are stored. Weigh returns a weight as the graph stores it.
	Merge func(stored, added float64) float64
	Loops bool
	Weigh func(weight float64) float64
	// Weighted means that a message changes by the weight of the edge that it crosses.
	Weighted bool
}
