package graph

// limits are the sizes from which on a graph is built in another way, or in pieces. Tests change them, so that small graphs are
// built as large ones are.
var limits = struct {
	linkGrain     int // neighbours that are linked between two looks at whether to go on
	bucketArcs    int // about how many arcs a bucket holds: its sort then works in the second-level cache
	narrowBuckets int // how many buckets there may be of arcs of 32 bits
	indexedArcs   int // from how many arcs on a bucket's weights are not sorted by their index: it has indexBits
	chunkCost     int // about how much work a chunk of a traversal is: edges, and 64 for each word of vertices
	idBits        int // how many bits of an arc tell its neighbour, at the least
}{1 << 20, 1 << 16, 8 << 10, 1 << indexBits, 1 << 14, 1}
