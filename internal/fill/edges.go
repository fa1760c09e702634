package fill

import (
	"fmt"
	"sort"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/pregel"
)

// setEdge sets the value of an edge.
//
// An edge has a position in the list of each end, if the property has these lists and the end is
// local. Binary search finds it. The values of stored parallel edges are assigned one after the
// other. The order in the lists is not that of the input, but if the edges have equal weights, or
// none, nothing distinguishes them.
func (c *Column) setEdge(
	from, to pregel.VertexID, v *graphio.Value, find engine.Find,
) (found, expected string) {
	if found, expected := engine.SetText(c.scratch, v.Text, find); found != "" {
		return found, expected
	}
	if from == to && c.graph.Options.DropLoops {
		return "", ""
	}
	v.OfID = true // for errors
	c.Count++
	for _, end := range []struct {
		at, other pregel.VertexID
		in        bool
	}{{from, to, false}, {to, from, true}} {
		if end.in && !c.graph.Directed && from == to {
			break // a loop is stored once
		}
		partition, local := c.graph.Deal.Of(uint32(end.at))
		for _, way := range c.Ways[partition] {
			if way.In == end.in || !c.graph.Directed {
				if found, expected = c.put(partition, local, way, end.other, v); found != "" {
					return found, expected
				}
			}
		}
	}
	return "", ""
}

// put sets a value in the list of a vertex.
func (c *Column) put(
	partition int, local uint32, way engine.EdgeWay, other pregel.VertexID, v *graphio.Value,
) (found, expected string) {
	lo, hi := way.Row(local)
	list := way.Adj[lo:hi]
	first := sort.Search(len(list), func(i int) bool { return way.ID(list[i]) >= uint64(other) })
	n := sort.Search(len(list)-first,
		func(i int) bool { return way.ID(list[first+i]) > uint64(other) })
	begin := lo + uint32(first)
	values, seen := c.values[partition], c.seen[partition]
	had := sort.Search(n, func(i int) bool { return !bitmap.Get(seen, begin+way.Offset+uint32(i)) })
	switch {
	case n == 0:
		return fmt.Sprintf("an edge from %s to %s", v.Vertex(0), v.Vertex(1)),
			"one of " + c.graph.Name
	case had == n && n == 1 && c.merged():
		if first := values.Index(int(begin +
			way.Offset)); c.graph.Options.Duplicates != graph.FirstDuplicate &&
			!first.Equal(c.scratch) {
			return fmt.Sprintf("another value of the edge from %s to %s", v.Vertex(0), v.Vertex(1)),
				fmt.Sprintf("the same of parallel edges that were merged by --duplicates %v",
					c.graph.Options.Duplicates)
		}
		return "", ""
	case had == n:
		return fmt.Sprintf("the edge from %s to %s again", v.Vertex(0), v.Vertex(1)),
			fmt.Sprintf("as many as %s has, which is %d", c.graph.Name, n)
	case had == 0 && !alike(way, begin, n):
		return fmt.Sprintf("one of parallel edges from %s to %s with other weights", v.Vertex(0),
				v.Vertex(1)),
			"one edge, as --duplicates first, min and sum make of them: which one a value is of is not known"
	}
	place := begin + way.Offset + uint32(had)
	bitmap.Set(seen, place)
	values.Index(int(place)).Set(c.scratch)
	return "", ""
}

// merged reports whether parallel edges of the input were stored as one.
func (c *Column) merged() bool {
	d := c.graph.Options.Duplicates
	return d == graph.FirstDuplicate || d == graph.LeastDuplicate || d == graph.SumDuplicates
}

// alike reports whether n edges have the same weight.
func alike(l engine.EdgeWay, begin uint32, n int) bool {
	for i := begin + 1; i < begin+uint32(n); i++ {
		if l.Weights32 != nil && l.Weights32[i] != l.Weights32[begin] || l.Weights64 != nil &&
			l.Weights64[i] != l.Weights64[begin] {
			return false
		}
	}
	return true
}

// Missing returns, as found and expected, a local edge without a value, if there is one, and the
// number of such edges. Vertices need no value.
func (c *Column) Missing() (found, expected string) {
	if !c.OfEdges {
		return "", ""
	}
	missing := 0
	for i, p := range c.graph.Parts {
		if p == nil {
			continue
		}
		for _, way := range c.Ways[i] {
			bitmap.Each(way.Bits, func(local uint32) {
				lo, hi := way.Row(local)
				for j := lo; j < hi; j++ {
					at, other := p.Global(local), pregel.VertexID(way.ID(way.Adj[j]))
					twice := other < at && !c.graph.Directed && c.here(other) || way.In &&
						c.here(other) && len(c.Ways[i]) > 1
					if bitmap.Get(c.seen[i], j+way.Offset) || twice {
						continue
					}
					if missing++; missing == 1 {
						found = c.between(at, other, way.In)
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
	return "no value of " + found, "one of every edge of " + c.graph.Name
}

// here reports whether a vertex's list is local.
func (c *Column) here(id pregel.VertexID) bool {
	partition, _ := c.graph.Deal.Of(uint32(id))
	return c.graph.Parts[partition] != nil
}

// between describes the edge between a local vertex and another, as far as their input ids are
// known.
func (c *Column) between(at, other pregel.VertexID, in bool) string {
	label := c.graph.Label(at)
	switch {
	case c.graph.Order == nil && !c.here(other):
		return fmt.Sprintf("an edge of vertex %d", label)
	case in:
		return fmt.Sprintf("the edge from %d to %d", c.graph.Label(other), label)
	}
	return fmt.Sprintf("the edge from %d to %d", label, c.graph.Label(other))
}
