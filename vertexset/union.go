package vertexset

import (
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// Union makes a combiner of messages that are sets: a vertex gets the union of its messages. A
// message costs a merge of two Roaring bitmaps; for up to 64 vertices combiners.OrBits is faster.
// The sets must belong to the same graph or to none.
func Union() pregel.Combiner[Set] { return combiners.Func(Set{}, union) }

// UnionOf makes an aggregator of the union of the sets that vertices add.
func UnionOf(name string) pregel.Aggregator[Set] { return pregel.NewAggregator(name, nil, union) }

// union panics if the sets belong to different graphs. The engine reports the panic as the
// program's error.
func union(a, b Set) Set {
	both, err := a.Union(b)
	if err != nil {
		panic(err)
	}
	return both
}
