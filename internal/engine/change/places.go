package change

import (
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// Places returns, for each arc with properties in the edge columns of direction d, its index before
// the change. It returns nil if no arc has moved.
func Places(d pregel.Direction, changed *graph.Changed, outBefore int) []uint32 {
	out, in := changed.OutFrom, changed.InFrom
	switch {
	case d == pregel.In:
		return in
	case d == pregel.Out:
		return out
	case out == nil && in == nil:
		return nil
	}
	// an edge column of both directions has the out-lists first, then the in-lists (state.Lists)
	places := make([]uint32, 0, len(changed.Partition.Out.Adj)+len(changed.Partition.In.Adj))
	list := func(from []uint32, n, offset int) {
		for i := range n {
			at := uint32(i)
			if from != nil {
				at = from[i]
			}
			if at != graph.NewPlace {
				at += uint32(offset)
			}
			places = append(places, at)
		}
	}
	list(out, len(changed.Partition.Out.Adj), 0)
	list(in, len(changed.Partition.In.Adj), outBefore)
	return places
}
