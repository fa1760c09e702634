package engine

import (
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// resolved is what the requests about the vertices of one partition come to.
type resolved[V any] struct {
	remove, add []graph.Arc
	gone        map[pregel.VertexID]bool // vertices all of whose out-edges go, before any is added
	vertices    []vertexChange[V]        // those that were removed or made, by id
}

// vertexChange is what becomes of a vertex: whether it exists, and its value. If it is made anew, or no more, its messages are dropped.
type vertexChange[V any] struct {
	id     pregel.VertexID
	exists bool
	anew   bool
	value  V
}

// resolver decides what requests come to, in Pregel's order (docs/design/mutation.md).
type resolver[V any] struct {
	// state returns whether a vertex exists, and its value.
	state func(id uint64) (V, bool)
	// resolve is the program's Resolve, or nil.
	resolve func(pregel.Resolution[V]) (V, bool)

	out resolved[V]
}

// run resolves requests that are inOrder.
func (s *resolver[V]) run(list []request[V]) resolved[V] {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Of == list[0].Of {
			n++
		}
		s.vertex(list[:n])
		list = list[n:]
	}
	return s.out
}

// vertex resolves the requests about one vertex.
func (s *resolver[V]) vertex(list []request[V]) {
	id := pregel.VertexID(list[0].Of)
	value, exists := s.state(list[0].Of)
	existed := exists
	removed, added := len(s.out.remove), len(s.out.add)
	edge := func(r *request[V]) graph.Arc { return graph.Arc{From: id, To: pregel.VertexID(r.To), Weight: r.Weight} }
	unedge := func(r *request[V]) {
		a := edge(r)
		s.out.remove = append(s.out.remove, a)
		kept := s.out.add[:added]
		for _, b := range s.out.add[added:] {
			if b.To != a.To {
				kept = append(kept, b)
			}
		}
		s.out.add = kept
	}
	// Its own changes to its edges, in the order of its calls, then the edges that others remove.
	for i := range list {
		if r := &list[i]; exists && r.By == r.Of {
			switch r.Kind {
			case kernel.AddEdge:
				s.out.add = append(s.out.add, edge(r))
			case kernel.RemoveEdge:
				unedge(r)
			}
		}
	}
	about := pregel.Resolution[V]{ID: id, Exists: exists, Value: value}
	for i := range list {
		switch r := &list[i]; r.Kind {
		case kernel.RemoveEdge:
			if exists && r.By != r.Of {
				unedge(r)
			}
		case kernel.RemoveVertex:
			about.Remove = true
		case kernel.AddVertex:
			about.Add = append(about.Add, r.value)
		}
	}
	if !exists {
		var none V
		about.Value = none
	}
	anew := false // the vertex that was there, if there was one, is gone
	if about.Remove || len(about.Add) > 0 {
		value, exists = s.decide(about)
		anew = !exists || !existed || about.Remove && len(about.Add) > 0
	}
	if anew && existed {
		s.out.remove, s.out.add = s.out.remove[:removed], s.out.add[:added]
		if s.out.gone == nil {
			s.out.gone = map[pregel.VertexID]bool{}
		}
		s.out.gone[id] = true
	}
	for i := range list {
		if r := &list[i]; r.Kind == kernel.AddEdge && (r.By != r.Of || !existed) {
			if !exists {
				var zero V
				value, exists, anew = zero, true, true
			}
			s.out.add = append(s.out.add, edge(r))
		}
	}
	if anew && (exists || existed) || !anew && s.resolve != nil && exists && (about.Remove || len(about.Add) > 0) {
		s.out.vertices = append(s.out.vertices, vertexChange[V]{id, exists, anew, value})
	}
}

// decide returns what becomes of a vertex that is to be removed, or added, or both.
func (s *resolver[V]) decide(r pregel.Resolution[V]) (V, bool) {
	if s.resolve != nil {
		return s.resolve(r)
	}
	switch {
	case r.Exists && !r.Remove:
		return r.Value, true
	case len(r.Add) > 0:
		return r.Add[0], true
	}
	var none V
	return none, false
}
