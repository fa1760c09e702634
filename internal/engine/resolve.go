package engine

import (
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// resolved is what the requests about the vertices of one partition come to.
type resolved struct {
	remove, add []graph.Arc
	gone        map[pregel.VertexID]bool // vertices all of whose out-edges go, before any is added
	vertices    []vertexChange           // those that were removed or made, by id
}

// vertexChange is what becomes of a vertex: whether it exists, and its value. If it is made anew, or no more, its messages are dropped.
type vertexChange struct {
	id     pregel.VertexID
	exists bool
	anew   bool
	value  int // where in the resolver's values; noValue is zero
}

// noValue stands for the zero value.
const noValue = -1

// resolver decides what requests come to, in Pregel's order (docs/design/mutation.md).
type resolver struct {
	state  func(id uint64) bool // whether a vertex exists
	own    kernel.Column        // the vertices' values
	of     func(id uint64) int  // where in own a vertex's value is
	values kernel.Column        // those that requests bring, and those that are decided on
	// resolve is kernel.Instance.Resolve, or nil if the program has none.
	resolve func(id pregel.VertexID, exists, remove bool, value int, add []int, of kernel.Column) bool

	out resolved
}

// run resolves requests that are inOrder.
func (s *resolver) run(list []kernel.Request) resolved {
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
func (s *resolver) vertex(list []kernel.Request) {
	id := pregel.VertexID(list[0].Of)
	exists := s.state(list[0].Of)
	existed, value := exists, noValue
	removed, added := len(s.out.remove), len(s.out.add)
	edge := func(r *kernel.Request) graph.Arc {
		return graph.Arc{From: id, To: pregel.VertexID(r.To), Weight: r.Weight}
	}
	unedge := func(r *kernel.Request) {
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
	remove, add := false, []int(nil)
	for i := range list {
		switch r := &list[i]; r.Kind {
		case kernel.RemoveEdge:
			if exists && r.By != r.Of {
				unedge(r)
			}
		case kernel.RemoveVertex:
			remove = true
		case kernel.AddVertex:
			add = append(add, int(r.Value))
		}
	}
	anew := false // the vertex that was there, if there was one, is gone
	if remove || len(add) > 0 {
		if exists {
			value = s.values.Len()
			s.values.AppendAt(s.own, []uint32{uint32(s.of(list[0].Of))})
		}
		value, exists = s.decide(id, exists, remove, value, add)
		anew = !exists || !existed || remove && len(add) > 0
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
				value, exists, anew = noValue, true, true
			}
			s.out.add = append(s.out.add, edge(r))
		}
	}
	if anew && (exists || existed) || !anew && s.resolve != nil && exists && (remove || len(add) > 0) {
		s.out.vertices = append(s.out.vertices, vertexChange{id, exists, anew, value})
	}
}

// decide returns what becomes of a vertex that is to be removed, or added, or both.
func (s *resolver) decide(id pregel.VertexID, exists, remove bool, value int, add []int) (decided int, exist bool) {
	if s.resolve != nil {
		exist = s.resolve(id, exists, remove, value, add, s.values)
		return s.values.Len() - 1, exist
	}
	switch {
	case exists && !remove:
		return value, true
	case len(add) > 0:
		return add[0], true
	}
	return noValue, false
}
