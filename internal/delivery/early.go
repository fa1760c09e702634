package delivery

import "math"

// EarlyOrder is the order of the chunks in a pull that sends messages ahead, while other vertices
// still run (SendAhead). Vertices are numbered by falling degree, so the first part of a column
// consists of hubs, and its vertices take most of the time. In ascending order nearly all other
// parts would become ready only near the end of the pull. So the chunks run in this order:
//
//	words   0 ... hubs | the rest of the first part | later parts ... end
//	runs    1st        | 3rd                        | 2nd
//
// The first hubs still run first: their long lists read the message column in order, which brings
// the column into the cache.
type EarlyOrder struct {
	Hubs int // the chunks below Hubs have the first hubs
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

// Ran returns which words have run after the first k chunks.
func (o EarlyOrder) Ran(k int, chunks []uint32) Ran {
	switch later := len(chunks) - 1 - o.Tail; {
	case k <= o.Hubs:
		return Ran{Below: int(chunks[k])}
	case k <= o.Hubs+later:
		end := chunks[o.Tail+k-o.Hubs]
		return Ran{Below: int(chunks[o.Hubs]), From: int(chunks[o.Tail]), To: int(end)}
	default:
		return Ran{Below: int(chunks[k-later]), From: int(chunks[o.Tail]), To: math.MaxInt}
	}
}
