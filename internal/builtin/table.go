package builtin

import (
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// entry is a built-in program in the table.
type entry struct {
	program engine.Registered
	help    string // one line
	choices []choice
	// weights says that the program looks at the weights of edges itself. Those that its combiner wants are there anyhow.
	weights bool
}

// choice is a parameter of two words: with the second, the program is another one of the same parameters.
type choice struct {
	parameter, help string
	words           [2]string
	program         engine.Registered
}

// representative says how a group of vertices is named.
const representative = "named by the member with most edges, of equals the first in the input"

// table is the built-in programs by name, in alphabetical order. A new algorithm is an entry here, and one in the certificates of
// internal/cli; go generate ./internal/reference documents it.
func table() []entry {
	return []entry{
		{
			program: engine.Register("betweenness", pregel.Erase(algorithms.Betweenness{})),
			help:    "betweenness centrality, by shortest paths from some or all vertices",
		},
		{
			program: engine.Register("bfs", pregel.Erase(algorithms.BFS{})),
			help:    "breadth-first search: the parent or the level of every vertex",
			choices: []choice{{"output", "the parent or the level of each vertex", [2]string{"parent", "level"}, engine.Register("", pregel.Erase(algorithms.BFSLevels{}))}},
		},
		{
			program: engine.Register("cdlp", pregel.Erase(pregel.List(algorithms.CDLP{}))),
			help:    "communities by label propagation, as defined by LDBC Graphalytics; a label is a vertex",
		},
		{
			program: engine.Register("cg", pregel.Erase(algorithms.CG{})),
			help:    "the solution of Ax = b by conjugate gradients for a symmetric matrix A; b is --column b=FILE or -p ones=true",
		},
		{
			program: engine.Register("closeness", pregel.Erase(algorithms.Closeness{})),
			help:    "closeness and harmonic centrality, by distances from some or all vertices",
		},
		{
			program: engine.Register("coloring", pregel.Erase(pregel.List(algorithms.Coloring{}))),
			help:    "a color for every vertex, so that no edge joins two vertices of one color",
		},
		{
			program: engine.Register("degrees", pregel.Erase(pregel.List(algorithms.Degrees{}))),
			help:    "the numbers of out-edges, in-edges and all edges of every vertex",
		},
		{
			program: engine.Register("eigenvector", pregel.Erase(algorithms.Eigenvector{})),
			help:    "eigenvector centrality, by power iteration",
		},
		{
			program: engine.Register("hits", pregel.Erase(algorithms.HITS{})),
			help:    "hubs and authorities, by hyperlink-induced topic search",
		},
		{
			program: engine.Register("hyperball", pregel.Erase(algorithms.HyperBall{})),
			help:    "estimates of the number of vertices that every vertex reaches, and of its harmonic centrality",
		},
		{
			program: engine.Register("kcore", pregel.Erase(algorithms.KCore{})),
			help:    "the core number of every vertex, or one k-core",
		},
		{
			program: engine.Register("lcc", pregel.Erase(pregel.List(algorithms.LCC{}))),
			help:    "local clustering coefficients, as defined by LDBC Graphalytics",
		},
		{
			program: engine.Register("louvain", pregel.Erase(algorithms.Louvain{})), weights: true,
			help: "communities of high modularity in an undirected graph, each " + representative,
		},
		{
			program: engine.Register("matching", pregel.Erase(pregel.List(algorithms.Matching{}))),
			help:    "a maximal matching: disjoint pairs of neighbours",
		},
		{
			program: engine.Register("mis", pregel.Erase(algorithms.MIS{})),
			help:    "a maximal independent set",
		},
		{
			program: engine.Register("msf", pregel.Erase(algorithms.MSF{})), weights: true,
			help: "a minimum spanning forest of an undirected graph, each tree " + representative,
		},
		{
			program: engine.Register("pagerank", pregel.Erase(algorithms.PageRank{})),
			help:    "PageRank; vertices without out-edges give their rank to all vertices",
		},
		{
			program: engine.Register("scc", pregel.Erase(algorithms.SCC{})),
			help:    "strongly connected components, each " + representative,
		},
		{
			program: engine.Register("sssp", pregel.Erase(algorithms.SSSP[float64]{})),
			help:    "lengths of shortest paths from a source, with weights that are not negative",
			choices: []choice{{"weights", "the type of weights and distances", [2]string{"float64", "float32"}, engine.Register("", pregel.Erase(algorithms.SSSP[float32]{}))}},
		},
		{
			program: engine.Register("triangles", pregel.Erase(pregel.List(algorithms.Triangles{}))),
			help:    "the number of triangles of every vertex",
		},
		{
			program: engine.Register("walks", pregel.Erase(pregel.List(algorithms.Walks{}))),
			help:    "random walks from every vertex, of first order or node2vec's",
		},
		{
			program: engine.Register("wcc", pregel.Erase(algorithms.WCC{})),
			help:    "weakly connected components, each " + representative,
		},
	}
}
