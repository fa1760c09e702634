package pregel

import (
	"iter"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
)

// longer is the ratio of lengths above which searching the longer of two lists is faster than
// merging both.
const longer = 8

// Common yields the vertex's edges whose To is in list, in the order of [Vertex.Edges]. A list may
// be a neighbour's message, for example. The int is the first position of To in the list. Parallel
// edges are yielded separately. The list must be in ascending order; the To of a vertex's edges in
// one direction are. Common takes time proportional to the sum of both lengths. If one list is far
// longer, the time is proportional to the length of the shorter times the logarithm of the longer.
// The job fails in a grid of partitions with both sides above 1.
func (v *cursor) Common(list []VertexID) iter.Seq2[int, Edge] {
	v.needEdges("Common")
	lists, local := v.state.Edges, v.local()
	if _, ok := v.ownOutEdges(); ok {
		return v.changedCommon(list)
	}
	return func(yield func(int, Edge) bool) {
		next, more := uint32(0), true
		for _, l := range lists {
			if next, more = eachCommon(l, local, next, list, yield); !more {
				return
			}
		}
	}
}

// CountCommon returns the number of edges that [Vertex.Common] yields, in less time.
func (v *cursor) CountCommon(list []VertexID) int {
	n := 0
	if _, ok := v.ownOutEdges(); ok {
		for range v.changedCommon(list) {
			n++
		}
		return n
	}
	v.needEdges("CountCommon")
	for _, l := range v.state.Edges {
		n += countCommon(l, v.local(), list)
	}
	return n
}

// changedCommon does what Common does, for a vertex that has changed its own edges: it yields the
// edges to the vertices of list.
func (v *cursor) changedCommon(list []VertexID) iter.Seq2[int, Edge] {
	return func(yield func(int, Edge) bool) {
		for e := range v.Edges() {
			if i, ok := slices.BinarySearch(list, e.To); ok && !yield(i, e) {
				return
			}
		}
	}
}

// eachCommon calls yield for every edge of the vertex's adjacency list whose To is in list, as
// eachEdge does for all edges.
func eachCommon(
	l *kernel.EdgeLists, local, first uint32, list []VertexID, yield func(int, Edge) bool,
) (next uint32, more bool) {
	lo, hi := l.Row(local)
	shift := first - lo // modulo 2^32
	next = first + hi - lo
	searchRow, searchList := unlike(int(hi-lo), len(list))
	i := 0
	for lo < hi && i < len(list) {
		switch to := VertexID(l.ID(l.Adj[lo])); {
		case to == list[i]:
			if !yield(i, edgeAt(l, lo, uint64(lo+shift)<<32|uint64(lo+l.Offset))) {
				return 0, false
			}
			lo++
		case to < list[i] && searchRow:
			lo = seekRow(l, lo, hi, list[i])
		case to < list[i]:
			lo++
		case searchList:
			i = seekList(list, i, to)
		default:
			i++
		}
	}
	return next, true
}

func countCommon(l *kernel.EdgeLists, local uint32, list []VertexID) int {
	lo, hi := l.Row(local)
	if lo == hi || len(list) == 0 {
		return 0
	}
	n, i := 0, 0
	if searchRow, searchList := unlike(int(hi-lo), len(list)); searchRow || searchList {
		for lo < hi && i < len(list) {
			switch to := VertexID(l.ID(l.Adj[lo])); {
			case to == list[i]:
				n++
				lo++
			case to < list[i]:
				lo = seekRow(l, lo, hi, list[i])
			default:
				i = seekList(list, i, to)
			}
		}
		return n
	}
	// Merge without branches on the comparison, because a processor would mispredict half of them.
	row := l.Adj[lo:hi]
	for j := 0; j < len(row) && i < len(list); {
		to, want := VertexID(l.ID(row[j])), list[i]
		same, less, more := 0, 0, 0
		if to == want {
			same = 1
		}
		if to <= want {
			less = 1
		}
		if to > want {
			more = 1
		}
		n, j, i = n+same, j+less, i+more
	}
	return n
}

// unlike returns which of a row and a list of these lengths to search, if one is far longer.
func unlike(row, list int) (searchRow, searchList bool) {
	return row/longer > list, list/longer > row
}

// seekRow returns the first position in Adj[lo:hi] of a neighbour with an id of at least id, or hi.
// It doubles its steps from lo on, so that it finds a near position in few steps (galloping search;
// Bentley, Yao 1976).
func seekRow(l *kernel.EdgeLists, lo, hi uint32, id VertexID) uint32 {
	step := uint32(1)
	for step < hi-lo && VertexID(l.ID(l.Adj[lo+step])) < id {
		lo, step = lo+step, 2*step
	}
	for hi = min(hi, lo+step); lo < hi; {
		if mid := lo + (hi-lo)/2; VertexID(l.ID(l.Adj[mid])) < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// seekList is seekRow for list[i:].
func seekList(list []VertexID, i int, id VertexID) int {
	step, end := 1, len(list)
	for step < end-i && list[i+step] < id {
		i, step = i+step, 2*step
	}
	for end = min(end, i+step); i < end; {
		if mid := i + (end-i)/2; list[mid] < id {
			i = mid + 1
		} else {
			end = mid
		}
	}
	return i
}
