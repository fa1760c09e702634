// Package model predicts breadth-first searches of Kronecker graphs on machines that are not at hand: the levels of a search,
// what each phase of every scheme sends, and how long it takes.
//
//	SCALE, edge factor -> Search: levels ---+
//	grid R x C, scheme -------------------> Traffic: bytes, messages by phase
//	kernel rates, network ------------------> Time by phase -> TEPS
package model

import "math"

// The Graph500 generator's probabilities that a bit of the two ends of an edge is 00, 01, 10, 11 (A, B, C, D), as those
// that a bit of one end is 1, at all, and where the other end's is 0 or 1.
const (
	one       = 0.19 + 0.05
	oneAtZero = 0.19 / (0.57 + 0.19)
	oneAtOne  = 0.05 / (0.19 + 0.05)
)

// Level is one superstep of a search: the frontier that it begins with, and what is not reached yet when it begins, the
// frontier aside. All are expected values.
type Level struct {
	Vertices, Edges float64 // of the frontier; edges are counted at both ends, duplicates included
	// Open and OpenEdges are of the vertices that have an edge and are not reached.
	Open, OpenEdges float64
	// Looks is how many edges a pull looks at, hubs first, until each open vertex has found a parent or has none.
	Looks float64
}

// Search is a breadth-first search of a Kronecker graph as a branching process: vertices are of SCALE+1 classes, by the ones
// in their number, since a vertex with k ones has a Poisson number of edges, of mean
//
//	2 M * 0.76^(SCALE-k) * 0.24^k
//
// and an edge leads on to a class with the generator's probabilities. No cycles but those that close at the end: with so
// many edges at the hubs there is little else.
type Search struct {
	Scale, EdgeFactor int
	Connected         float64 // vertices with an edge
	Levels            []Level
}

// class is the vertices with the same number of ones.
type class struct {
	vertices, mean float64
	next           []float64 // probability that an edge leads to each class
	// reached is the probability that a vertex is reached before the frontier, or is of it; before is without the
	// frontier; reach that what an edge leads to is reached.
	reached, before, reach float64
}

// NewSearch predicts the search from a vertex with so many edges; 0 stands for the mean over the vertices that have any, by
// which the roots of Graph500 are drawn.
func NewSearch(scale, edgeFactor int, rootEdges float64) *Search {
	s := &Search{Scale: scale, EdgeFactor: edgeFactor}
	classes := newClasses(scale, edgeFactor)
	stubs := 0.0
	for i := range classes {
		c := &classes[i]
		s.Connected += c.vertices * -math.Expm1(-c.mean)
		stubs += c.vertices * c.mean
	}
	if rootEdges == 0 {
		rootEdges = stubs / s.Connected
	}
	// What an edge leads to is the root with a probability that depends on both ends' classes; one for all is right on average.
	for i := range classes {
		classes[i].reach, classes[i].reached = rootEdges/stubs, rootEdges/stubs
	}
	level := Level{Vertices: 1, Edges: rootEdges, Open: s.Connected - 1, OpenEdges: stubs - rootEdges}
	for level.Vertices >= 0.5 {
		next := Level{}
		for i := range classes {
			c := &classes[i]
			level.Looks += c.looks(classes)
			open := c.vertices * math.Exp(-c.mean*c.reach)
			next.Open += open - c.vertices*math.Exp(-c.mean)
			next.OpenEdges += c.mean * (1 - c.reach) * open
		}
		next.Vertices, next.Edges = level.Open-next.Open, level.OpenEdges-next.OpenEdges
		s.Levels = append(s.Levels, level)
		level = next
		for i := range classes {
			c := &classes[i]
			c.before, c.reached = c.reached, max(c.reached, -math.Expm1(-c.mean*c.reach))
		}
		for i := range classes {
			classes[i].reach = classes[i].reaches(classes)
		}
	}
	return s
}

// reaches returns the probability that an edge leads to a vertex that is reached.
func (c *class) reaches(classes []class) float64 {
	sum := 0.0
	for k, p := range c.next {
		sum += p * classes[k].reached
	}
	return sum
}

// looks returns how many edges the class's open vertices look at. None leads to a vertex reached before the frontier: it
// would be reached itself. The others are tried by the classes of their ends, those with the most edges first.
func (c *class) looks(classes []class) float64 {
	old := 0.0
	for k, p := range c.next {
		old += p * classes[k].before
	}
	looks, none := 0.0, 1.0 // found in the classes tried
	for k, p := range c.next {
		end := &classes[k]
		edges := c.mean * p * (1 - end.before)
		hit := 1.0
		if end.before < 1 {
			hit = (end.reached - end.before) / (1 - end.before)
		}
		if hits := edges * hit; hits > 1e-12 {
			looks += none * -math.Expm1(-hits) / hit
			none *= math.Exp(-hits)
		} else {
			looks += none * edges
		}
	}
	return c.vertices * math.Exp(-c.mean*old) * looks
}

func newClasses(scale, edgeFactor int) []class {
	classes := make([]class, scale+1)
	stubs := 2 * float64(edgeFactor) * math.Exp2(float64(scale))
	for k := range classes {
		c := &classes[k]
		c.vertices = choose(scale, k)
		c.mean = stubs * math.Pow(1-one, float64(scale-k)) * math.Pow(one, float64(k))
		c.next = make([]float64, scale+1)
		for i := 0; i <= scale-k; i++ {
			p := binomial(scale-k, i, oneAtZero)
			for j := 0; j <= k; j++ {
				c.next[i+j] += p * binomial(k, j, oneAtOne)
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

func binomial(n, k int, p float64) float64 {
	return choose(n, k) * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
}
