package pregel

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Resolution is what was asked about one vertex in a superstep, for a program's method Resolve,
// which returns the vertex's value and whether it exists from now on. Without the method a removal
// comes before an addition, an addition of a vertex that exists has no effect, and of several
// values the first is taken.
type Resolution[V any] struct {
	ID     VertexID
	Exists bool
	Value  V    // if it exists
	Remove bool // somebody asked for its removal
	Add    []V  // the values with which it was to be added, by rising ids of who asked
}

// changes are what the vertices of a block do to the graph, and what the vertex that runs has done
// to its own edges.
type changes struct {
	*kernel.Requests
	of      VertexID // the vertex whose out-edges own are, after its changes; None if it made none
	own     []Edge
	out, in [64]uint32 // the degrees of the block, if the vertex made changes
	// Where the block has its degrees.
	outDegrees, inDegrees **[64]uint32
}

// Change asks for changes of the graph ([Vertex.Change]); V is the type of a vertex's value. What a
// vertex asks for of its own edges it sees at once: in Edges, Edge and OutDegree, and what it sends
// to all neighbours from there on goes along the edges that it has. All else, and what other
// vertices see, holds from the next superstep on.
type Change[V any] struct {
	v     *cursor
	added kernel.Vec[V] // the values of the vertices to be added
}

// Change returns what changes the graph, valid during the call. A program without the trait Mutates
// panics.
func (v *Vertex[V, M]) Change() *Change[V] {
	if v.changes == nil {
		panic("Change: a program that changes the graph has the trait Mutates")
	}
	return &v.b.change
}

// AddEdge adds an edge between any two vertices, the vertex that runs among them. In an undirected
// graph it is an edge of both. An edge that is there already follows the graph's rule for
// duplicates: where it refuses them, the edge that is there stays. In a graph without weights
// weight has no effect. A vertex from that does not exist in the next superstep is made, with the
// zero value. An id from NextID on belongs to no vertex: the edge reserves it, and AddVertex makes
// the vertex; what is sent along it in the same superstep is lost. An EdgeColumn has a place for
// the edge from the next superstep on.
//
// In a grid of partitions with both sides above 1 the vertex, too, sees the edge in the next
// superstep.
func (c *Change[V]) AddEdge(from, to VertexID, weight float64) {
	own, to := c.v.requestEdge("AddEdge", kernel.AddEdge, from, to, weight)
	c.v.changeOwn(own, func() {
		if to == c.v.id && !own.Loops {
			return
		}
		e := Edge{To: to, Weight: own.Weigh(weight)}
		at, there := slices.BinarySearchFunc(own.own, to, func(e Edge, to VertexID) int { return cmp.Compare(e.To, to) })
		if there && own.Merge != nil {
			own.own[at].Weight = own.Merge(own.own[at].Weight, e.Weight)
			return
		}
		for at < len(own.own) && own.own[at].To == to {
			at++
		}
		own.own = slices.Insert(own.own, at, e)
	})
}

// RemoveEdge removes all edges from one vertex to another, if there are any.
func (c *Change[V]) RemoveEdge(from, to VertexID) {
	own, to := c.v.requestEdge("RemoveEdge", kernel.RemoveEdge, from, to, 0)
	c.v.changeOwn(own, func() {
		own.own = slices.DeleteFunc(own.own, func(e Edge) bool { return e.To == to })
	})
}

// requestEdge asks for a change of an edge. It returns the vertex at the other end, and the changes
// if the edge is one of the vertex that runs; else nil.
func (v *cursor) requestEdge(method string, kind kernel.RequestKind, from, to VertexID, weight float64) (*changes, VertexID) {
	if to == v.id && v.state.Undirected {
		from, to = to, from
	}
	c := v.request(method,
		kernel.Request{Kind: kind, Of: uint64(from), To: uint64(to), Weight: weight})
	if from != v.id {
		c = nil
	}
	return c, to
}

// AddVertex adds a vertex before the next superstep, in which it runs: one that was removed, or a
// new one with an id from NextID on. It has no effect on a vertex that exists; if several ask, the
// vertex of the least id does (but see [Resolution]). Ids may run ahead of NextID by as many as
// there have been ids, and 65,536.
func (c *Change[V]) AddVertex(id VertexID, value V) {
	r := c.v.request("AddVertex",
		kernel.Request{Kind: kernel.AddVertex, Of: uint64(id), To: uint64(id)})
	r.List[len(r.List)-1].Value = uint32(len(c.added.Data))
	c.added.Data = append(c.added.Data, value)
}

// RemoveVertex removes a vertex before the next superstep: its value, its out-edges and the
// messages to it. Edges that lead to it stay, unless the graph is undirected, and messages along
// them are dropped. What it has sent arrives.
func (c *Change[V]) RemoveVertex(id VertexID) {
	c.v.request("RemoveVertex",
		kernel.Request{Kind: kernel.RemoveVertex, Of: uint64(id), To: uint64(id)})
}

// NextID returns the first id that no vertex has had: the ids of new vertices begin there. Removed
// vertices keep theirs.
func (c *Change[V]) NextID() VertexID { return VertexID(c.v.changes.NextID) }

func (v *cursor) request(method string, r kernel.Request) *changes {
	c := v.changes
	if id := VertexID(max(r.Of, r.To)); uint64(id) >= c.Limit {
		if r.Kind == kernel.RemoveVertex || r.Kind == kernel.RemoveEdge {
			panic(fmt.Sprintf("%s: vertex %v: no vertex has had an id from %d on: there is nothing to remove", method, id, c.NextID))
		}
		panic(fmt.Sprintf("%s: vertex %v: ids from %d on are new, and must be below %d in this superstep", method, id, c.NextID, c.Limit))
	}
	if w := c.Weigh(r.Weight); w-w != 0 {
		panic(fmt.Sprintf("%s to vertex %d: found the weight %v, expected a finite number", method,
			r.To, r.Weight))
	}
	r.By = uint64(v.id)
	c.List = append(c.List, r)
	return c
}

// changeOwn applies a change to what the vertex that runs sees of its own edges; c is nil if the
// edge is none of these.
func (v *cursor) changeOwn(c *changes, change func()) {
	s := &v.state
	if c == nil || s.NoEdges != nil {
		return
	}
	if c.of != v.id {
		c.own = c.own[:0]
		for e := range v.OutEdges() {
			c.own = append(c.own, e)
		}
		c.of = v.id
		c.out, c.in = **c.outDegrees, **c.inDegrees
		*c.outDegrees, *c.inDegrees = &c.out, &c.in
	}
	before := len(c.own)
	change()
	more := uint32(len(c.own) - before) // modulo 2^32
	switch d := Direction(s.Direction); {
	case s.Undirected, d == Both:
		c.out[v.i&63] += more
		c.in[v.i&63] += more
	case d == In:
		c.in[v.i&63] += more
		return // what it sends goes the other way
	default:
		c.out[v.i&63] += more
	}
	v.sent |= changed
}

// ownOutEdges are the out-edges of the vertex that runs after its own changes, if it has made any.
func (v *cursor) ownOutEdges() ([]Edge, bool) {
	if c := v.changes; c != nil && c.of == v.id {
		return c.own, true
	}
	return nil, false
}

// changedEdges yields what a method that lists edges does, for a vertex whose out-edges are own
// after its own changes.
func (v *cursor) changedEdges(own []Edge, method string, lists []*kernel.EdgeLists) iter.Seq[Edge] {
	s := &v.state
	out := s.Undirected || method == "OutEdges" || method != "InEdges" &&
		Direction(s.Direction) != In
	rest := lists // that are not of out-edges
	if out {
		rest = lists[1:]
	}
	local := v.local()
	return func(yield func(Edge) bool) {
		next, more := uint32(0), true
		if out {
			next = uint32(len(own))
			for i, e := range slices.Clone(own) { // the vertex may change them
				e.place = uint64(i)<<32 | uint64(uint32(e.place))
				if !yield(e) {
					return
				}
			}
		}
		for _, l := range rest {
			if next, more = eachEdge(l, local, next, yield); !more {
				return
			}
		}
	}
}

// edgesNow yields every edge that the vertex has after its own changes, and that leads to a vertex:
// not to one that is yet to be.
func (v *cursor) edgesNow() iter.Seq[Edge] {
	if v.changes.Weighted {
		panic("SendToAllNeighbors after a change of the vertex's own edges: a combiner that weighs " +
			"messages wants it before the change, or in the next superstep")
	}
	edges := v.Edges()
	return func(yield func(Edge) bool) {
		for e := range edges {
			if uint64(e.To) < v.state.IDs && !yield(e) {
				return
			}
		}
	}
}
