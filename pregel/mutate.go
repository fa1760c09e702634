package pregel

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/superstep-go/superstep/internal/kernel"
)

// Resolution has all requests about one vertex in a superstep. A program's method Resolve gets it,
// and returns the vertex's value and whether the vertex exists from now on. Without this method the
// engine removes before it adds, ignores the addition of a vertex that exists, and takes the first
// of several values.
type Resolution[V any] struct {
	ID     VertexID
	Exists bool
	Value  V    // the value, if the vertex exists
	Remove bool // whether its removal was requested
	Add    []V  // the requested values, ordered by the ids of the vertices that requested them
}

// changes has the requests of a goroutine's vertices, and the edges of the vertex that runs after
// its own changes.
type changes struct {
	*kernel.Requests
	of      VertexID // the vertex that own belongs to; None if it made no changes
	own     []Edge
	out, in [64]uint32 // the degrees of the block, if the vertex made changes
	// The block's pointers to its degrees.
	outDegrees, inDegrees **[64]uint32
}

// Change requests changes of the graph ([Vertex.Change]). V is the type of a vertex's value. A
// vertex sees changes of its own edges at once: in Edges, Edge and OutDegree, and in later calls of
// SendToAllNeighbors. All other changes take effect in the next superstep, and other vertices see
// all changes only then.
type Change[V any] struct {
	v     *cursor
	added kernel.Vec[V] // the values of the vertices to add
}

// Change returns the object to change the graph with, valid during the call. It panics if the
// program lacks the trait Mutates.
func (v *Vertex[V, M]) Change() *Change[V] {
	if v.changes == nil {
		panic("Change: a program that changes the graph has the trait Mutates")
	}
	return &v.b.change
}

// AddEdge adds an edge between any two vertices. In an undirected graph the edge belongs to both.
// If the edge exists, the graph's rule for duplicates applies; if the rule refuses duplicates, the
// existing edge stays. In a graph without weights weight has no effect. If from does not exist in
// the next superstep, it is created with the zero value.
//
// An id from NextID on belongs to no vertex yet: AddEdge reserves the id, and AddVertex creates the
// vertex. Messages sent along such an edge in the same superstep are dropped. The edge has
// properties (EdgeColumn) from the next superstep on.
//
// In a grid of partitions with both sides above 1, the vertex itself also sees the edge only in the
// next superstep.
func (c *Change[V]) AddEdge(from, to VertexID, weight float64) {
	own, to := c.v.requestEdge("AddEdge", kernel.AddEdge, from, to, weight)
	c.v.changeOwn(own, func() {
		if to == c.v.id && !own.Loops {
			return
		}
		e := Edge{To: to, Weight: own.Weigh(weight)}
		at, there := slices.BinarySearchFunc(own.own, to,
			func(e Edge, to VertexID) int { return cmp.Compare(e.To, to) })
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

// RemoveEdge removes all edges from one vertex to another. It does nothing if there are none.
func (c *Change[V]) RemoveEdge(from, to VertexID) {
	own, to := c.v.requestEdge("RemoveEdge", kernel.RemoveEdge, from, to, 0)
	c.v.changeOwn(own, func() {
		own.own = slices.DeleteFunc(own.own, func(e Edge) bool { return e.To == to })
	})
}

// requestEdge requests a change of an edge. It returns the vertex at the other end. It also returns
// the changes if the edge belongs to the vertex that runs, else nil.
func (v *cursor) requestEdge(
	method string, kind kernel.RequestKind, from, to VertexID, weight float64,
) (*changes, VertexID) {
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

// AddVertex adds a vertex, which first runs in the next superstep. The id must be that of a removed
// vertex, or new: NextID or greater. AddVertex has no effect on a vertex that exists. If several
// vertices request it, the request of the vertex with the least id counts, unless the program has a
// method Resolve ([Resolution]). A new id may exceed NextID by at most 65,536 plus the
// number of ids so far.
func (c *Change[V]) AddVertex(id VertexID, value V) {
	r := c.v.request("AddVertex",
		kernel.Request{Kind: kernel.AddVertex, Of: uint64(id), To: uint64(id)})
	r.List[len(r.List)-1].Value = uint32(len(c.added.Data))
	c.added.Data = append(c.added.Data, value)
}

// RemoveVertex removes a vertex before the next superstep: its value, its out-edges and the
// messages to it. In-edges stay, unless the graph is undirected; messages along them are dropped.
// Messages that the vertex sent are delivered.
func (c *Change[V]) RemoveVertex(id VertexID) {
	c.v.request("RemoveVertex",
		kernel.Request{Kind: kernel.RemoveVertex, Of: uint64(id), To: uint64(id)})
}

// NextID returns the first id that no vertex has had. New vertices get ids from there. Ids of
// removed vertices are not reused for other vertices.
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

// changeOwn applies a change to the edges that the running vertex sees. c is nil if the edge is not
// one of its edges.
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
		return // it sends along in-edges
	default:
		c.out[v.i&63] += more
	}
	v.sent |= changed
}

// ownOutEdges returns the out-edges of the running vertex after its own changes, if it made any.
func (v *cursor) ownOutEdges() ([]Edge, bool) {
	if c := v.changes; c != nil && c.of == v.id {
		return c.own, true
	}
	return nil, false
}

// changedEdges yields the edges that method (Edges, OutEdges or InEdges) lists, for a vertex that
// changed its own edges. own are its out-edges after the changes.
func (v *cursor) changedEdges(own []Edge, method string, lists []*kernel.EdgeLists) iter.Seq[Edge] {
	s := &v.state
	out := s.Undirected || method == "OutEdges" || method != "InEdges" &&
		Direction(s.Direction) != In
	rest := lists // the lists that are not of out-edges
	if out {
		rest = lists[1:]
	}
	local := v.local()
	return func(yield func(Edge) bool) {
		next, more := uint32(0), true
		if out {
			next = uint32(len(own))
			for i, e := range slices.Clone(own) { // a copy, because the vertex may change them
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

// edgesNow yields the edges that the vertex has after its own changes, except edges to vertices
// that do not exist yet.
func (v *cursor) edgesNow() iter.Seq[Edge] {
	if v.changes.Weighted {
		panic(
			"SendToAllNeighbors after a change of the vertex's own edges: a combiner that weighs " +
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
