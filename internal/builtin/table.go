package builtin

import (
	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/pregel"
)

// representative describes the name of a group of vertices.
const representative = "named by the member with most edges, of equals the first in the input"

// of returns the entry of a program. help is one line.
func of[V, M any](name string, p pregel.Program[V, M], help string) engine.Registered {
	r := engine.Register(name, pregel.Erase(p))
	r.Help, r.KeepWeights = help, false
	return r
}

// keeping is of, for a program that reads the weights of edges itself. (A program whose combiner
// needs weights gets them anyway.)
func keeping[V, M any](name string, p pregel.Program[V, M], help string) engine.Registered {
	r := of(name, p, help)
	r.KeepWeights = true
	return r
}

// Programs returns the built-in programs, ordered by name. A new algorithm needs an entry here and
// one in the certificates of internal/cli. go generate ./internal/reference documents it.
func Programs() engine.Registry {
	search := of("bfs", algorithms.BFS{},
		"breadth-first search: the parent or the level of every vertex")
	search.Or(engine.Register("", pregel.Erase(algorithms.BFSLevels{})),
		"output", "the parent or the level of each vertex", "parent", "level")
	paths := of("sssp", algorithms.SSSP[float64]{},
		"lengths of shortest paths from a source, with weights that are not negative")
	paths.Or(engine.Register("", pregel.Erase(algorithms.SSSP[float32]{})),
		"weights", "the type of weights and distances", "float64", "float32")
	return engine.Registry{
		of("betweenness", algorithms.Betweenness{},
			"betweenness centrality, by shortest paths from some or all vertices"),
		search,
		of(
			"cdlp", pregel.List(algorithms.CDLP{}),
			"communities by label propagation, as defined by LDBC Graphalytics; a label is a vertex",
		),
		of(
			"cg", algorithms.CG{},
			"the solution of Ax = b by conjugate gradients for a symmetric matrix A; b is --column b=FILE or -p ones=true",
		),
		of("closeness", algorithms.Closeness{},
			"closeness and harmonic centrality, by distances from some or all vertices"),
		of("coloring", pregel.List(algorithms.Coloring{}),
			"a color for every vertex, so that no edge joins two vertices of one color"),
		of("degrees", pregel.List(algorithms.Degrees{}),
			"the numbers of out-edges, in-edges and all edges of every vertex"),
		of("eigenvector", algorithms.Eigenvector{}, "eigenvector centrality, by power iteration"),
		of("hits", algorithms.HITS{}, "hubs and authorities, by hyperlink-induced topic search"),
		of(
			"hyperball", algorithms.HyperBall{},
			"estimates of the number of vertices that every vertex reaches, and of its harmonic centrality",
		),
		of("kcore", algorithms.KCore{}, "the core number of every vertex, or one k-core"),
		of("lcc", pregel.List(algorithms.LCC{}),
			"local clustering coefficients, as defined by LDBC Graphalytics"),
		keeping("louvain", algorithms.Louvain{},
			"communities of high modularity in an undirected graph, each "+representative),
		of("matching", pregel.List(algorithms.Matching{}),
			"a maximal matching: disjoint pairs of neighbours"),
		of("mis", algorithms.MIS{}, "a maximal independent set"),
		keeping("msf", algorithms.MSF{},
			"a minimum spanning forest of an undirected graph, each tree "+representative),
		of("pagerank", algorithms.PageRank{},
			"PageRank; vertices without out-edges give their rank to all vertices"),
		of("scc", algorithms.SCC{}, "strongly connected components, each "+representative),
		paths,
		of("triangles", pregel.List(algorithms.Triangles{}),
			"the number of triangles of every vertex"),
		of("walks", pregel.List(algorithms.Walks{}),
			"random walks from every vertex, of first order or node2vec's"),
		of("wcc", algorithms.WCC{}, "weakly connected components, each "+representative),
	}
}
