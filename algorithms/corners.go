package algorithms

import (
	"iter"
	"sort"
	"sync"

	"github.com/superstep-go/superstep/pregel"
)

// corners is how triangles are found, each once, for LCC and Triangles. Vertices are ordered by
// falling degree, as their ids are, and a vertex looks only to those before it, its ends: of a hub
// these are few, and of any vertex at most as many as the root of twice the number of edges (Chiba
// and Nishizeki 1985, Schank and Wagner 2005). So hubs cost no more than others.
//
//	superstep 0  each vertex sends its ends to its neighbours
//	superstep 1  a vertex v looks for what its ends have in common with the ends of each end u: with a common z < u < v the three
//	             are a triangle. It takes its own count, and sends those that its ends are to have
//	superstep 2  each vertex adds the counts that it finds under its id
//
// Lists travel in columns, once to each partition, and are not copied within a process. A program
// that asks for vertices' edges cannot be run in a grid of partitions with both sides above 1: that
// wants --grid Nx1.
type corners struct {
	From   ID
	Ends   []end
	Counts []int64 // of each end
}

// end is a vertex that edges lead to: its id, and in the low two bits what is known of these edges.
type end uint64

const (
	bothWays end = 1 << iota // they lead both ways, as all of an undirected graph do
	repeated                 // they are more than one, so that messages come more than once
	endBits  = iota
)

func (e end) id() ID { return ID(e >> endBits) }

// weight is how many of the two ordered pairs that a vertex and its end make are joined.
func (e end) weight() int64 { return 1 + int64(e&bothWays) }

// lightEnds returns ends of weight 1 each, in place.
func lightEnds(ends []end) []end {
	for i := range ends {
		ends[i] &^= bothWays
	}
	return ends
}

// endsOf returns the neighbours of a vertex that are below a limit, other than itself, in rising
// order, each once.
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

// appendEnds appends the ends of edges, which rise.
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

// mergeEnds merges the ends of out- and in-edges. A vertex in both is joined both ways.
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

// count finds the triangles of which v is the last vertex, by its ends, and sends the others their
// counts; it returns v's. A vertex's count of a triangle is the weight of the edge across from it.
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
		// Lists come in the order of ends as a rule.
		at := next
		if at >= len(ends) || ends[at].id() != from {
			at = findEnd(ends, from)
		}
		if next = at + 1; met[at] {
			continue // a list that came before
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

// endTable finds a vertex's ends by their ids without searching. All but the ends of the vertex at
// hand are 0.
type endTable struct {
	weights []uint8 // of the end of an id
	counts  []int64 // what it is to have
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

// empty returns the counts of the ends in a table, and takes them out.
func (t *endTable) empty(ends []end) []int64 {
	counts := make([]int64, len(ends))
	for i, e := range ends {
		counts[i] = t.counts[e.id()]
		t.weights[e.id()], t.counts[e.id()] = 0, 0
	}
	return counts
}

// common intersects the ends of v before an end u, and those of u. For each z in both it counts for
// z the weight of the edge from v to u, which is across from it, and for u that from v to z; it
// returns the sum for v of those from u to z.
func (t *endTable) common(ofV, ofU []end, u end) (atV int64) {
	across, atU := u.weight(), int64(0)
	if len(ofU) > 16*len(ofV) { // then the shorter list is looked up in the longer one
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
	// Without a branch, which would be foreseen badly: about a third of these are ends of v.
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

// findEnd returns the place of an id among ends, or where it would be.
func findEnd(ends []end, id ID) int {
	return sort.Search(len(ends), func(i int) bool { return ends[i].id() >= id })
}

// sum returns the counts of a vertex in those that came.
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
