package algorithms

import (
	"iter"
	"sort"
	"sync"

	"github.com/superstep-go/superstep/pregel"
)

// corners is the message by which LCC and Triangles find each triangle once. Vertices are ordered
// by falling degree, as their ids are. A vertex looks only at its ends: the neighbours before it. A
// hub has few ends, and no vertex has more than the square root of twice the number of edges (Chiba
// and Nishizeki 1985, Schank and Wagner 2005). So hubs cost no more than other vertices.
//
//	superstep 0  each vertex sends its ends to its neighbours
//	superstep 1  each vertex v intersects its ends with the ends of each end u. A common end z
//	             makes the triangle z < u < v. v keeps its own count, and sends the counts of
//	             its ends
//	superstep 2  each vertex adds the counts that it finds under its id
//
// Lists are sent as messages to all neighbours: once to each partition, and without a copy within a
// process. The program looks at edges, so it cannot run in a grid of partitions with more than one
// row and column: use --grid Nx1.
type corners struct {
	From   ID
	Ends   []end
	Counts []int64 // of each end
}

// end is a neighbour: its id, and in the low two bits facts about the edges to it.
type end uint64

const (
	bothWays end = 1 << iota // there are edges both ways, as always in an undirected graph
	repeated                 // there are several edges, so messages come more than once
	endBits  = iota
)

func (e end) id() ID { return ID(e >> endBits) }

// weight returns the number of ordered pairs, of the two of a vertex and its end, that an edge
// joins.
func (e end) weight() int64 { return 1 + int64(e&bothWays) }

// lightEnds sets the weight of all ends to 1, in place.
func lightEnds(ends []end) []end {
	for i := range ends {
		ends[i] &^= bothWays
	}
	return ends
}

// endsOf returns the neighbours of a vertex below limit, without itself and without duplicates, in
// ascending order.
func endsOf[V any](v *pregel.Vertex[V, corners], limit ID) []end {
	arcs := 0
	out := appendEnds(make([]end, 0, 16), v.OutEdges(), v.ID(), limit, &arcs)
	for range v.InEdges() {
		if arcs == v.OutDegree() { // in- and out-edges are the same: the graph is undirected
			for i := range out {
				out[i] |= bothWays
			}
			return out
		}
		break
	}
	return mergeEnds(out, appendEnds(nil, v.InEdges(), v.ID(), limit, &arcs))
}

// appendEnds appends the ends of edges, which come in ascending order.
func appendEnds(ends []end, edges iter.Seq[pregel.Edge], own, limit ID, arcs *int) []end {
	for e := range edges {
		*arcs++
		switch last := len(ends) - 1; {
		case e.To == own || e.To >= limit:
		case last >= 0 && ends[last].id() == e.To:
			ends[last] |= repeated
		default:
			ends = append(ends, end(e.To)<<endBits)
		}
	}
	return ends
}

// mergeEnds merges the ends of out-edges and in-edges. An end in both has edges both ways.
func mergeEnds(out, in []end) []end {
	if len(in) == 0 {
		return out
	}
	all := make([]end, 0, len(out)+len(in))
	for len(out) > 0 && len(in) > 0 {
		switch x, y := out[0], in[0]; {
		case x.id() < y.id():
			all, out = append(all, x), out[1:]
		case x.id() > y.id():
			all, in = append(all, y), in[1:]
		default:
			all, out, in = append(all, x|y|bothWays|repeated), out[1:], in[1:]
		}
	}
	return append(append(all, out...), in...)
}

// count finds the triangles whose last vertex is v. ends are its ends, and lists the messages. It
// sends the other vertices their counts, and returns the count of v. A triangle adds to the count
// of each corner the weight of the opposite edge.
func count[V any](v *pregel.Vertex[V, corners], ends []end, lists []corners) (own int64) {
	if len(ends) < 2 {
		return 0
	}
	t := endTables.Get().(*endTable)
	t.fill(ends)
	met, next := make([]bool, len(ends)), 0
	for i := range lists {
		from := lists[i].From
		if from >= v.ID() || len(lists[i].Ends) == 0 {
			continue
		}
		// Lists usually come in the order of ends.
		at := next
		if at >= len(ends) || ends[at].id() != from {
			at = findEnd(ends, from)
		}
		if next = at + 1; met[at] {
			continue // the same list again
		}
		met[at] = true
		own += t.common(ends[:at], lists[i].Ends, ends[at])
	}
	counts := t.empty(ends)
	endTables.Put(t)
	if own != 0 {
		v.SendToAllNeighbors(corners{v.ID(), ends, counts})
	}
	return own
}

// endTable maps ids to the ends of a vertex, without searching. All elements are 0, except for the
// ends of the current vertex.
type endTable struct {
	weights []uint8 // weights by id
	counts  []int64 // counts by id
}

var endTables = sync.Pool{New: func() any { return new(endTable) }}

// fill puts ends into an empty table.
func (t *endTable) fill(ends []end) {
	if n := int(ends[len(ends)-1].id()) + 1; n > len(t.weights) {
		n += n / 4
		t.weights, t.counts = make([]uint8, n), make([]int64, n)
	}
	for _, e := range ends {
		t.weights[e.id()] = uint8(e.weight())
	}
}

// empty returns the counts of the ends, and clears the table.
func (t *endTable) empty(ends []end) []int64 {
	counts := make([]int64, len(ends))
	for i, e := range ends {
		counts[i] = t.counts[e.id()]
		t.weights[e.id()], t.counts[e.id()] = 0, 0
	}
	return counts
}

// common intersects ofV, the ends of v before its end u, with ofU, the ends of u. For each common z
// it adds the weight of the edge v-u to the count of z, and the weight of v-z to the count of u. It
// returns the sum of the weights of u-z, which is for v.
func (t *endTable) common(ofV, ofU []end, u end) (atV int64) {
	across, atU := u.weight(), int64(0)
	if len(ofU) > 16*len(ofV) { // look up the shorter list in the longer one
		for _, x := range ofV {
			at := findEnd(ofU, x.id())
			if ofU = ofU[at:]; len(ofU) == 0 {
				break
			}
			if ofU[0].id() == x.id() {
				t.counts[x.id()] += across
				atU += x.weight()
				atV += ofU[0].weight()
			}
		}
		t.counts[u.id()] += atU
		return atV
	}
	weights, counts := t.weights, t.counts[:len(t.weights)]
	// Without branches: about a third of these are ends of v, so a branch would often be
	// mispredicted.
	for _, y := range ofU {
		w := int64(weights[y.id()])
		met := (w + 1) >> 1
		counts[y.id()] += across * met
		atU += w
		atV += y.weight() * met
	}
	counts[u.id()] += atU
	return atV
}

// findEnd returns the position of an id in ends, or where to insert it.
func findEnd(ends []end, id ID) int {
	return sort.Search(len(ends), func(i int) bool { return ends[i].id() >= id })
}

// sum returns the sum of the vertex's counts in the messages lists.
func sum(id ID, lists []corners) (n int64) {
	var again map[ID]bool
	for i := range lists {
		if lists[i].From <= id {
			continue
		}
		at := findEnd(lists[i].Ends, id)
		if lists[i].Ends[at]&repeated != 0 {
			if again[lists[i].From] {
				continue
			}
			if again == nil {
				again = map[ID]bool{}
			}
			again[lists[i].From] = true
		}
		n += lists[i].Counts[at]
	}
	return n
}
