// Package algorithms has the vertex programs that come with superstep: searches, shortest paths,
// centralities, components, communities, and others. They use only the public API, as your own
// programs do.
//
//	superstep.Run(ctx, g, algorithms.PageRank{}) --> Result[float64]
//
// Each file begins with its program: the type's comment has the definition, the paper, the cost in
// supersteps and messages, and the fields, which are its parameters. The commands superstep
// algorithms and docs/reference/algorithms.md list them.
//
// Read bfs.go first, then pagerank.go for aggregators and a coordinator, and betweenness.go for a
// plan. Package reference has a slow twin of each program, and package verify checks results
// without the engine (--verify).
package algorithms

import "github.com/superstep-go/superstep/pregel"

// Short names for types of package pregel.
type (
	traits        = pregel.Traits
	report[V any] = pregel.Report[V]
	aggregates    = []pregel.Aggregate
	columns       = []pregel.Column
)

// byRepresentative makes reports count the groups whose representatives are the values.
var byRepresentative = report[ID]{Group: func(id ID) ID { return id }}

// scored makes reports rank vertices by their values.
func scored[V int64 | float64](name string) report[V] {
	return scoredBy(name, func(x V) float64 { return float64(x) })
}

// scoredBy makes reports rank vertices by score of their values.
func scoredBy[V any](name string, score func(V) float64) report[V] {
	return report[V]{ScoreName: name, Score: score}
}
