package delivery

import "math"

// EarlyOrder is the order in which chunks of vertices run in a pull that sends what they send
// before all have run. Vertices are in degree order: those of a column's first part, hubs, take
// most of the walk, so that nearly all of the column would be ready at its end. So chunks run in
// another order:
//
//	words   0 ... hubs | the rest of the first part | later parts ... end
//	runs    1st        | 3rd                        | 2nd
//
// The first hubs still come first: their long lists read the column of messages in order, and so
// bring it into the cache.
type EarlyOrder struct {
	Hubs int // the first hubs are the chunks below it
	Tail int // the first chunk of the later parts
}

// Chunk returns which of n chunks runs as the k-th.
func (o EarlyOrder) Chunk(k, n int) int {
	switch later := n - o.Tail; {
	case k < o.Hubs:
		return k
	case k < o.Hubs+later:
		return o.Tail + k - o.Hubs
	default:
		return k - later
	}
}

// Ran says which words have run when the first k of the chunks have.
func (o EarlyOrder) Ran(k int, chunks []uint32) Ran {
	switch later := len(chunks) - 1 - o.Tail; {
	case k <= o.Hubs:
		return Ran{Below: int(chunks[k])}
	case k <= o.Hubs+later:
		return Ran{Below: int(chunks[o.Hubs]), From: int(chunks[o.Tail]), To: int(chunks[o.Tail+k-o.Hubs])}
	default:
		return Ran{Below: int(chunks[k-later]), From: int(chunks[o.Tail]), To: math.MaxInt}
	}
}
