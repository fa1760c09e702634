// Package algorithms has the vertex programs that come with superstep: searches, shortest paths,
// centralities, components, communities, and others. They use the public API alone, as your own
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
