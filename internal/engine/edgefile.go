package engine

import (
	"fmt"
	"reflect"
	"sort"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// edgeWay is lists whose edges have a property, and which way these go.
type edgeWay struct {
	*kernel.EdgeLists
	in bool // of a directed graph: the lists are of those that the arcs go to
}

// edgeWays returns the lists whose edges have properties.
func (r *runner) edgeWays() []edgeWay {
	var s kernel.State
	r.edgeLists(&s)
	var ways []edgeWay
	if !s.Out[0].Other {
		ways = append(ways, edgeWay{s.Out[0], false})
	}
	if !s.In[0].Other && s.In[0] != s.Out[0] {
		ways = append(ways, edgeWay{s.In[0], true})
	}
	return ways
}

// EdgeText sets the values of an edge property from their texts. Make it with NewEdgeText.
//
// An edge has a place in the list of each end, as far as the property has these lists and the ends are here, which is found by binary search. The
// values of parallel edges that are stored go to these one after the other. Their order in the lists is not that of the input, but
// if they have the same weight, or none, nothing else tells them apart.
type EdgeText struct {
	graph   *graph.Graph
	ways    map[int][]edgeWay
	values  map[int]reflect.Value // []T by partition here
	seen    map[int][]uint64      // bits of edges in values that have theirs
	scratch reflect.Value         // a T
	Count   int                   // of values that were set, or were those of edges set before
}

// NewEdgeText returns an EdgeText of what a property begins with.
func NewEdgeText(p *Prefilled, g *graph.Graph) (*EdgeText, error) {
	if err := readable(p.Property); err != nil {
		return nil, err
	}
	t := &EdgeText{graph: g, ways: p.ways, values: map[int]reflect.Value{}, seen: map[int][]uint64{}, scratch: reflect.New(p.Type()).Elem()}
	for i, storage := range p.Storage {
		t.values[i] = reflect.ValueOf(storage.Slice())
		t.seen[i] = make([]uint64, bitmap.Words(t.values[i].Len()))
	}
	return t, nil
}

// Set sets the value of the edge between two vertices, at those of its ends that are here. It returns what is wrong, if anything, as found and
// expected.
func (t *EdgeText) Set(from, to pregel.VertexID, v *graphio.Value, find Find) (found, expected string) {
	if found, expected := misfitOf(setValue(t.scratch, v.Text, find)); found != "" {
		return found, expected
	}
	if from == to && t.graph.Options.DropLoops {
		return "", ""
	}
	v.OfID = true // if anything is wrong
	t.Count++
	parts := uint64(len(t.graph.Parts))
	for _, end := range []struct {
		at, other pregel.VertexID
		in        bool
	}{{from, to, false}, {to, from, true}} {
		if end.in && !t.graph.Directed && from == to {
			break // a loop is stored once
		}
		partition := int(uint64(end.at) % parts)
		for _, way := range t.ways[partition] {
			if way.in == end.in || !t.graph.Directed {
				if found, expected = t.put(partition, way, end.at, end.other, v); found != "" {
					return found, expected
				}
			}
		}
	}
	return "", ""
}

// put sets a value in the list of a vertex.
func (t *EdgeText) put(partition int, way edgeWay, at, other pregel.VertexID, v *graphio.Value) (found, expected string) {
	lo, hi := way.Row(uint32(uint64(at) / uint64(len(t.graph.Parts))))
	list := way.Adj[lo:hi]
	first := sort.Search(len(list), func(i int) bool { return way.ID(list[i]) >= uint64(other) })
	n := sort.Search(len(list)-first, func(i int) bool { return way.ID(list[first+i]) > uint64(other) })
	begin := lo + uint32(first)
	values, seen := t.values[partition], t.seen[partition]
	had := sort.Search(n, func(i int) bool { return !bitmap.Get(seen, begin+way.Offset+uint32(i)) })
	switch {
	case n == 0:
		return fmt.Sprintf("an edge from %s to %s", v.Vertex(0), v.Vertex(1)), "one of " + t.graph.Name
	case had == n && n == 1 && t.merged():
		if first := values.Index(int(begin + way.Offset)); t.graph.Options.Duplicates != graph.FirstDuplicate && !first.Equal(t.scratch) {
			return fmt.Sprintf("another value of the edge from %s to %s", v.Vertex(0), v.Vertex(1)),
				fmt.Sprintf("the same of parallel edges that were merged by --duplicates %v", t.graph.Options.Duplicates)
		}
		return "", ""
	case had == n:
		return fmt.Sprintf("the edge from %s to %s again", v.Vertex(0), v.Vertex(1)), fmt.Sprintf("as many as %s has, which is %d", t.graph.Name, n)
	case had == 0 && !way.alike(begin, n):
		return fmt.Sprintf("one of parallel edges from %s to %s with other weights", v.Vertex(0), v.Vertex(1)),
			"one edge, as --duplicates first, min and sum make of them: which one a value is of is not known"
	}
	place := begin + way.Offset + uint32(had)
	bitmap.Set(seen, place)
	values.Index(int(place)).Set(t.scratch)
	return "", ""
}

// merged reports whether parallel edges of the input were stored as one.
func (t *EdgeText) merged() bool {
	d := t.graph.Options.Duplicates
	return d == graph.FirstDuplicate || d == graph.LeastDuplicate || d == graph.SumDuplicates
}

// alike reports whether n edges have the same weight.
func (l edgeWay) alike(begin uint32, n int) bool {
	for i := begin + 1; i < begin+uint32(n); i++ {
		if l.Weights32 != nil && l.Weights32[i] != l.Weights32[begin] || l.Weights64 != nil && l.Weights64[i] != l.Weights64[begin] {
			return false
		}
	}
	return true
}

// Missing returns, as found and expected, which edge here has no value, if there is one, and how many have none.
func (t *EdgeText) Missing() (found, expected string) {
	missing := 0
	for i, p := range t.graph.Parts {
		if p == nil {
			continue
		}
		for _, way := range t.ways[i] {
			bitmap.Each(way.Bits, func(local uint32) {
				lo, hi := way.Row(local)
				for j := lo; j < hi; j++ {
					at, other := p.Global(local), pregel.VertexID(way.ID(way.Adj[j]))
					twice := other < at && !t.graph.Directed && t.here(other) || way.in && t.here(other) && len(t.ways[i]) > 1
					if bitmap.Get(t.seen[i], j+way.Offset) || twice {
						continue
					}
					if missing++; missing == 1 {
						found = t.between(at, other, way.in)
					}
				}
			})
		}
	}
	if missing == 0 {
		return "", ""
	}
	if missing > 1 {
		found += fmt.Sprintf(", nor of %d more", missing-1)
	}
	return "no value of " + found, "one of every edge of " + t.graph.Name
}

// here reports whether a vertex's list is here.
func (t *EdgeText) here(id pregel.VertexID) bool {
	return t.graph.Parts[uint64(id)%uint64(len(t.graph.Parts))] != nil
}

// between names the edge of a vertex here to or from another, as far as their input ids are known.
func (t *EdgeText) between(at, other pregel.VertexID, in bool) string {
	label := t.graph.Label(at)
	switch {
	case t.graph.Order == nil && !t.here(other):
		return fmt.Sprintf("an edge of vertex %d", label)
	case in:
		return fmt.Sprintf("the edge from %d to %d", t.graph.Label(other), label)
	}
	return fmt.Sprintf("the edge from %d to %d", label, t.graph.Label(other))
}
