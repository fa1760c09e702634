package verify

import (
	"math/rand/v2"
	"slices"

	"github.com/superstep-go/superstep/algorithms/reference"
)

// partition is a partition of an undirected graph into communities, with the weights between all
// vertices.
type partition struct {
	r         reference.Graph
	weight    [][]float64 // a loop counts twice
	degree    []float64
	total     float64
	community []int
}

// alone makes a community of each vertex.
func alone(r reference.Graph) *partition {
	p := &partition{r: r, degree: make([]float64, r.N)}
	for v := range r.N {
		p.weight, p.community = append(p.weight, make([]float64, r.N)), append(p.community, v)
	}
	for i, a := range r.Arcs {
		for _, ends := range [][2]int{a, {a[1], a[0]}} {
			p.weight[ends[0]][ends[1]] += r.Weights[i]
			p.degree[ends[0]] += r.Weights[i]
			p.total += r.Weights[i]
		}
	}
	return p
}

// modularity computes modularity by its definition.
func (p *partition) modularity() (q float64) {
	for u, c := range p.community {
		for v, d := range p.community {
			if c == d && p.total > 0 {
				q += (p.weight[u][v] - p.degree[u]/p.total*p.degree[v]) / p.total
			}
		}
	}
	return q
}

// gain returns the modularity gained by merging two disjoint sets of vertices.
func (p *partition) gain(a, b []int) (gain float64) {
	for _, u := range a {
		for _, v := range b {
			gain += 2 * (p.weight[u][v] - p.degree[u]/p.total*p.degree[v]) / p.total
		}
	}
	return gain
}

// members returns the vertices for which is returns true.
func (p *partition) members(is func(v int) bool) (all []int) {
	for v := range p.r.N {
		if is(v) {
			all = append(all, v)
		}
	}
	return all
}

// in returns the members of a community except one vertex.
func (p *partition) in(community, but int) []int {
	return p.members(func(v int) bool { return v != but && p.community[v] == community })
}

// enter puts vertices into a community.
func (p *partition) enter(vertices []int, community int) {
	for _, v := range vertices {
		p.community[v] = community
	}
}

// unused returns the number of an empty community.
func (p *partition) unused() int { return slices.Max(p.community) + 1 }

// part returns the members of a vertex's community that paths of positive weight inside it connect
// to the vertex.
func (p *partition) part(of int) []int {
	joined := newUnion(p.r.N)
	for u := range p.r.N {
		for v, w := range p.weight[u] {
			if w > 0 && p.community[u] == p.community[v] {
				joined.join(u, v)
			}
		}
	}
	return p.members(func(v int) bool { return joined.find(v) == joined.find(of) })
}

// improve makes the first change that increases modularity or repairs connectivity: it moves a
// vertex to another or a new community, merges two communities if merges is true, or splits off a
// disconnected part. It reports whether it made a change.
func (p *partition) improve(merges bool) bool {
	for v := range p.r.N {
		own := p.community[v]
		stay := p.in(own, v)
		for u := range p.r.N {
			if c := p.community[u]; c != own && p.gain([]int{v}, p.in(c, v))-p.gain([]int{v},
				stay) > 1e-12 {
				p.enter([]int{v}, c)
				return true
			}
		}
		if p.gain([]int{v}, stay) < -1e-12 {
			p.enter([]int{v}, p.unused())
			return true
		}
		if part := p.part(v); len(part) <= len(stay) {
			p.enter(part, p.unused())
			return true
		}
	}
	for u := range p.r.N {
		for v := range u {
			if a, b := p.community[u], p.community[v]; merges && a != b &&
				p.gain(p.in(a, -1), p.in(b, -1)) > 1e-12 {
				p.enter(p.in(a, -1), b)
				return true
			}
		}
	}
	return false
}

// settle improves until no change is left.
func (p *partition) settle(merges bool) *partition {
	for p.total > 0 && p.improve(merges) {
	}
	if p.total == 0 { // every vertex is separate
		*p = *alone(p.r)
	}
	return p
}

// names returns the communities by their representatives.
func (p *partition) names() []uint64 { return representativesOf(p.r, p.community) }

// of returns the partition with other communities, which may have any names.
func (p *partition) of(names []uint64) *partition {
	other := *p
	other.community = make([]int, p.r.N)
	for v, c := range names {
		other.community[v] = int(c) % (2 * p.r.N)
	}
	return &other
}

// right reports whether names has the representatives of communities that cannot be improved.
func (p *partition) right(names []uint64) bool {
	other := p.of(names)
	return slices.Equal(other.names(), names) && (p.total > 0 && !other.improve(true) ||
		p.total == 0 && slices.Equal(names, alone(p.r).names()))
}

// wrongCommunities returns mistakes in Louvain's communities. The result still uses representatives
// as names.
func wrongCommunities(p *partition) (all []mistake[uint64]) {
	mistaken := func(name string, change func(rng *rand.Rand, p *partition)) {
		all = append(all,
			mistake[uint64]{name, func(rng *rand.Rand, _ reference.Graph, x []uint64) {
				other := p.of(x)
				change(rng, other)
				copy(x, other.names())
			}})
	}
	mistaken("nobody moved", func(_ *rand.Rand, p *partition) { *p = *alone(p.r) })
	mistaken("all in one", func(_ *rand.Rand, p *partition) { clear(p.community) })
	mistaken("no communities merged",
		func(_ *rand.Rand, p *partition) { *p = *alone(p.r).settle(false) })
	mistaken("the last step is missing", func(_ *rand.Rand, p *partition) {
		before := alone(p.r)
		for last := slices.Clone(before.community); p.total > 0 &&
			before.improve(true); last = slices.Clone(before.community) {
			p.community = last
		}
	})
	mistaken("a vertex in another community", func(rng *rand.Rand, p *partition) { p.community[rng.IntN(p.r.N)] = p.community[rng.IntN(p.r.N)] })
	mistaken("a vertex alone",
		func(rng *rand.Rand, p *partition) { p.community[rng.IntN(p.r.N)] = p.unused() })
	mistaken("two communities merged", func(rng *rand.Rand, p *partition) {
		p.enter(p.in(p.community[rng.IntN(p.r.N)], -1), p.community[rng.IntN(p.r.N)])
	})
	mistaken("one split in halves", func(rng *rand.Rand, p *partition) {
		all := p.in(p.community[rng.IntN(p.r.N)], -1)
		p.enter(all[:len(all)/2], p.unused())
	})
	mistaken("one that is not connected", func(rng *rand.Rand, p *partition) {
		far := p.in(p.community[rng.IntN(p.r.N)], -1)
		for v := range p.r.N {
			if near := p.in(p.community[v], -1); !slices.ContainsFunc(far, func(u int) bool {
				return slices.ContainsFunc(near,
					func(v int) bool { return u == v || p.weight[u][v] > 0 })
			}) {
				p.enter(far, p.community[v])
				return
			}
		}
	})
	return all
}

// wrongModularities returns mistakes in the reported modularity.
func wrongModularities(p *partition) []mistake[float64] {
	of := func(p *partition) func(float64) float64 { return func(float64) float64 { return p.modularity() } }
	together := alone(p.r)
	clear(together.community)
	return append(floats(), one("of nobody moved", of(alone(p.r))),
		one("of all in one", of(together)),
		one("from one end of each edge", func(q float64) float64 { return q/2 - 0.5 }))
}
