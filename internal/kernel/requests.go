package kernel

// RequestKind is what a program asks for.
type RequestKind uint8

const (
	AddEdge RequestKind = iota
	RemoveEdge
	AddVertex
	RemoveVertex
)

// Request asks for a change of the graph: of the vertex Of, or of its edge to To.
type Request struct {
	Of, To uint64
	By     uint64 // the vertex that asks
	Weight float64
	Kind   RequestKind
	Value  uint32 // of an AddVertex: where in the column of values that goes with the requests
}

// Requests are what the vertices of one goroutine asked for in a superstep, in the order in which
// they did.
type Requests struct {
	List []Request
	// NextID is the first id that no vertex has had, and Limit the first that none may have yet.
	NextID, Limit uint64
	// Merge returns the weight of two parallel edges that are stored as one; nil if both are kept.
	// Loops says whether loops are stored, and Weigh returns a weight as it is stored.
	Merge func(stored, added float64) float64
	Loops bool
	Weigh func(weight float64) float64
	// Weighted says that messages to neighbours change by the weight of the edge they cross.
	Weighted bool
}
