// Package model predicts breadth-first searches of Kronecker graphs on other machines: the levels
// of a search, what each phase of every scheme sends, and how long it takes. Start with search.go,
// then traffic.go and machine.go.
//
//	SCALE, edge factor -> Search: levels ---+
//	grid R x C, scheme -------------------> Traffic: bytes, messages by phase
//	kernel rates, network ------------------> Time by phase -> TEPS
package model

import "math"

// The Graph500 generator draws one bit of both ends of an edge as 00, 01, 10, 11 with probabilities
// A, B, C, D. These are the probabilities that a bit of one end is 1: in total, and given that the
// other end's bit is 0 or 1.
const (
	one       = 0.19 + 0.05
	oneAtZero = 0.19 / (0.57 + 0.19)
	oneAtOne  = 0.05 / (0.19 + 0.05)
)

// Level is a superstep of a search: its frontier, and the vertices that are unreached when it
// begins. All numbers are expected values. Edges are stored edges, without duplicates and loops,
// counted at each end.
type Level struct {
	Vertices float64 `json:"vertices"` // of the frontier
	Edges    float64 `json:"edges"`
	// Likely is the probability that the search reaches this level. It is below 1 if only a few
	// vertices are expected.
	Likely float64 `json:"likely"`
	// Open and OpenEdges count the unreached vertices with edges, and their edges.
	Open      float64 `json:"open"`
	OpenEdges float64 `json:"open_edges"`
	// Looks is the number of edges that a pull looks at, hubs first, until each open vertex has
	// found a parent or has none.
	Looks float64 `json:"looks"`

	classes []classShare
}

// classShare is the contribution of a class to a level.
type classShare struct {
	vertices, isolated float64 // in total; without an edge
	edges              float64 // of a vertex with edges
	frontier           float64
	// when the level begins, including isolated vertices: their numbers of edges are Poisson
	// distributed, unlike those of open vertices
	unreached float64
	hits      float64 // edges of an unreached vertex into the frontier
	all       float64 // edges of any vertex of the class into the frontier
}

// Search is the expected breadth-first search of a Kronecker graph. Edges are independent. Vertices
// belong to scale+1 classes by the number of ones in their id. A vertex with k ones has a Poisson
// distributed number of edges with mean
//
//	2 M * 0.76^(SCALE-k) * 0.24^k
//
// The bits of the other ends have the generator's probabilities.
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
	// including it.
	before, reached float64
}

// end is a set of vertices that are equivalent for a vertex of a class: their number of ones, their
// number, and the probability of an edge to each.
type end struct {
	class           int
	vertices, there float64
}

// leastVertices is the minimum frontier of a level. A search hardly ever gets to a level with less.
const leastVertices = 0.1

// NewSearch predicts the search from a vertex with this number of stored edges. 0 means the mean
// over vertices with edges, from which Graph500 draws roots.
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

// share describes the class in a level. after is the number of its open vertices after the level.
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

// root makes a vertex with this number of edges the reached one. It has a probability for each
// class, scaled so that its expected edges equal its edges.
func root(classes []class, edges float64) {
	likely := make([]float64, len(classes)) // logarithms
	most := math.Inf(-1)
	for i := range classes {
		c := &classes[i]
		// Poisson, without common factors
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

// open returns the number of the class's vertices that are unreached without an edge to a reached
// vertex, and the number of their edges. At first only one vertex is reached, of unknown class, so
// these cases exclude each other.
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

// looks returns the number of edges that the class's open vertices look at. No edge leads to a
// vertex reached before the frontier, otherwise the open vertex would be reached. The other edges
// are tried in the order of their ends' degrees, highest first.
func (c *class) looks(classes []class) float64 {
	log, looks, none := 0.0, 0.0, 1.0 // none is the probability of no hit so far
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
				i := ones - j // this many ones of the other end are where the vertex has zeros
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
