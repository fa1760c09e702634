// Package superstep runs vertex programs (package pregel) on graphs: load a graph, run a program,
// read the values.
//
//	g, err := superstep.Load(ctx, "roads.mtx")
//	source, ok := g.Vertex(42)
//	res, err := superstep.Run(ctx, g, algorithms.BFS{Source: source})
//	for label, parent := range res.All() {
//		...
//	}
//
//	file, generator, edges in memory --Load, FromEdges--> Graph
//	Graph, program, Options          --Run------------------------> Result
//
// A [Result] has the value of a vertex (At), all values (All), the greatest (Top), one field of
// them ([Column]), and the aggregators (total.Value(res)). A vertex column of a program begins with
// what [From] or [FromFile] gives it: an earlier result, a function of input ids, the values in a
// file.
//
// Package command gives your program the whole command line. Package cluster has graphs on a
// cluster, which Run takes, too. Packages below drivers add S3, Parquet and tracing to a program
// that imports them.
//
// Read graph.go first, then run.go and results.go. The engine is in internal/engine; docs/design.md
// is a tour of it. The package's example is a program and its run.
package superstep
