// Package model predicts breadth-first searches of Kronecker graphs on machines that are not at
// hand: the levels of a search, what each phase of every scheme sends, and how long it takes.
//
//	SCALE, edge factor -> Search: levels ---+
//	grid R x C, scheme -------------------> Traffic: bytes, messages by phase
//	kernel rates, network ------------------> Time by phase -> TEPS
package model

import "math"

// The Graph500 generator's probabilities that a bit of the two ends of an edge is 00, 01, 10, 11
// (A, B, C, D), as those that a bit of one end is 1, at all, and where the other end's is 0 or 1.
const (
	one       = 0.19 + 0.05
	oneAtZero = 0.19 / (0.57 + 0.19)
	oneAtOne  = 0.05 / (0.19 + 0.05)
)

// Level is one superstep of a search: the frontier that it begins with, and the vertices not
// reached when it begins. All are expected values; edges are stored ones, duplicates and loops
// apart, counted at each end.
type Level struct {
	Vertices float64 `json:"vertices"` // of the frontier
	Edges    float64 `json:"edges"`
	// Likely is the probability that the search gets here: below 1 where less than a few vertices
	// are expected.
	Likely float64 `json:"likely"`
	// Open and OpenEdges are of the vertices that have an edge and are not reached.
	Open      float64 `json:"open"`
	OpenEdges float64 `json:"open_edges"`
	// Looks is how many edges a pull looks at, hubs first, until each open vertex has found a
	// parent or has none.
	Looks float64 `json:"looks"`

	classes []classShare
}

// classShare is what a class adds to a level.
type classShare struct {
	vertices, isolated float64 // in all; those without an edge
	edges              float64 // of one that has any
	frontier           float64
	// when the level begins, isolated ones included: of these the edges are Poisson, of the open
	// not
	unreached float64
	hits      float64 // edges that one of the unreached has into the frontier
	all       float64 // edges that any vertex of the class has into the frontier
}

// Search is a breadth-first search of a Kronecker graph, as expected: edges are drawn
// independently, and vertices fall into SCALE+1 classes, by the ones in their number. A vertex with
// k ones has a Poisson number of edges, of mean
//
//	2 M * 0.76^(SCALE-k) * 0.24^k
//
// whose other ends have each bit by the generator's probabilities.
type Search struct {
	Scale      int     `json:"scale"`
	EdgeFactor int     `json:"edge_factor"`
	Connected  float64 `json:"connected"` // vertices with an edge
	Edges      float64 `json:"edges"`     // stored, at each end
	Levels     []Level `json:"levels"`
}

// class is the vertices with the same number of ones.
type class struct {
	vertices float64
	isolated float64 // probability of no edge
	edges    float64 // expected, of one vertex
	ends     []end
	// before and reached are the probabilities that a vertex is reached before the frontier, and
	// with it.
	before, reached float64
}

// end is vertices that are alike to a vertex of a class: of how many ones, how many they are, and
// with what probability there is an edge to each.
type end struct {
	class           int
	vertices, there float64
}

// leastVertices is the frontier of the last level: less, and a search has hardly ever got so far.
const leastVertices = 0.1

// NewSearch predicts the search from a vertex with so many stored edges; 0 stands for the mean over
// the vertices that have any, by which the roots of Graph500 are drawn.
func NewSearch(scale, edgeFactor int, rootEdges float64) *Search {
	s := &Search{Scale: scale, EdgeFactor: edgeFactor}
	classes := newClasses(scale, edgeFactor)
	for i := range classes {
		c := &classes[i]
		s.Connected += c.vertices * (1 - c.isolated)
		s.Edges += c.vertices * c.edges
	}
	if rootEdges == 0 {
		rootEdges = s.Edges / s.Connected
	}
	root(classes, rootEdges)
	level := Level{Vertices: 1, Edges: rootEdges, Likely: 1, Open: s.Connected - 1, OpenEdges: s.Edges - rootEdges}
	for level.Vertices >= leastVertices {
		next := Level{}
		reached := make([]float64, len(classes))
		for i := range classes {
			c := &classes[i]
			level.Looks += c.looks(classes)
			open, edges := c.open(classes, len(s.Levels) == 0)
			next.Open += open - c.vertices*c.isolated
			next.OpenEdges += edges
			reached[i] = max(c.reached, 1-open/c.vertices)
			level.classes = append(level.classes, c.share(classes, open))
		}
		next.Vertices, next.Edges = level.Open-next.Open, level.OpenEdges-next.OpenEdges
		next.Likely = -math.Expm1(-next.Vertices)
		s.Levels = append(s.Levels, level)
		level = next
		for i := range classes {
			classes[i].before, classes[i].reached = classes[i].reached, reached[i]
		}
	}
	return s
}

// share describes the class in a level after which so many of its vertices are open.
func (c *class) share(classes []class, after float64) classShare {
	s := classShare{
		vertices: c.vertices, isolated: c.vertices * c.isolated, edges: c.edges / (1 - c.isolated),
		frontier: c.vertices * (c.reached - c.before), unreached: c.vertices * (1 - c.reached),
	}
	if 0 < after && after < s.unreached {
		s.hits = math.Log(s.unreached / after)
	}
	for _, e := range c.ends {
		s.all += e.vertices * e.there * (classes[e.class].reached - classes[e.class].before)
	}
	return s
}

// root makes a vertex with so many edges the one that is reached, by the probabilities that it is
// of each class. These are scaled so that it has as many edges as it has.
func root(classes []class, edges float64) {
	likely := make([]float64, len(classes)) // logarithms
	most := math.Inf(-1)
	for i := range classes {
		c := &classes[i]
		// Poisson, but for what is the same for all
		likely[i] = math.Log(c.vertices) + edges*math.Log(c.edges) - c.edges
		most = max(most, likely[i])
	}
	all := 0.0
	for i := range classes {
		classes[i].reached = math.Exp(likely[i] - most)
		all += classes[i].reached
	}
	mean := 0.0
	for i := range classes {
		c := &classes[i]
		c.reached /= all
		mean += c.reached * c.edges
	}
	for i := range classes {
		c := &classes[i]
		c.reached = min(c.reached*edges/mean/c.vertices, 1)
	}
}

// open returns how many of the class's vertices are not reached and have no edge to one that is,
// and how many edges those have. At first one vertex alone is reached, of whichever class: the ways
// in which it may have the edge exclude each other.
func (c *class) open(classes []class, first bool) (vertices, edges float64) {
	log, each, root := 0.0, 0.0, c.reached
	for _, e := range c.ends {
		r := classes[e.class].reached
		log += e.vertices * math.Log1p(-r*e.there)
		root += e.vertices * r * e.there
		if r < 1 {
			each += e.vertices * e.there * (1 - r) / (1 - r*e.there)
		}
	}
	if vertices = c.vertices * math.Exp(log); first {
		vertices = max(c.vertices*(1-root), 0)
	}
	return vertices, vertices * each
}

// looks returns how many edges the class's open vertices look at. None leads to a vertex reached
// before the frontier: it would be reached itself. The others are tried by the classes of their
// ends, those with the most edges first.
func (c *class) looks(classes []class) float64 {
	log, looks, none := 0.0, 0.0, 1.0 // the probability of no hit so far
	for _, e := range c.ends {
		end := &classes[e.class]
		log += e.vertices * math.Log1p(-end.before*e.there)
		if end.before >= 1 {
			continue
		}
		there := e.there * (1 - end.before) / (1 - end.before*e.there)
		hit := (end.reached - end.before) / (1 - end.before)
		if miss := e.vertices * math.Log1p(-there*hit); miss < -1e-12 {
			looks += none * -math.Expm1(miss) / hit
			none *= math.Exp(miss)
		} else {
			looks += none * e.vertices * there
		}
	}
	return c.vertices * math.Exp(log) * looks
}

func newClasses(scale, edgeFactor int) []class {
	classes := make([]class, scale+1)
	stubs := 2 * float64(edgeFactor) * math.Exp2(float64(scale))
	for k := range classes {
		c := &classes[k]
		c.vertices = choose(scale, k)
		mean := stubs * math.Pow(1-one, float64(scale-k)) * math.Pow(one, float64(k))
		c.isolated = math.Exp(-mean)
		for ones := range scale + 1 {
			for j := max(0, ones-(scale-k)); j <= min(k, ones); j++ {
				i := ones - j // of the other end's ones so many where the vertex has zeros
				p := math.Pow(oneAtZero, float64(i)) * math.Pow(1-oneAtZero, float64(scale-k-i)) *
					math.Pow(oneAtOne, float64(j)) * math.Pow(1-oneAtOne, float64(k-j))
				e := end{ones, choose(scale-k, i) * choose(k, j), -math.Expm1(-mean * p)}
				c.ends = append(c.ends, e)
				c.edges += e.vertices * e.there
			}
		}
	}
	return classes
}

func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c)
}
