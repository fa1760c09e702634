package change

import (
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Resolved is what the requests about the vertices of one partition come to.
type Resolved struct {
	Remove, Add []graph.Arc
	Gone        map[pregel.VertexID]bool // vertices all of whose out-edges go, before any is added
	Vertices    []Vertex                 // those that were removed or made, by id
}

// Vertex is what becomes of a vertex: whether it exists, and its value. If it is made anew, or no
// more, its messages are dropped.
type Vertex struct {
	ID     pregel.VertexID
	Exists bool
	Anew   bool
	Value  int // where in the Resolver's Values; NoValue is zero
}

// NoValue stands for the zero value.
const NoValue = -1

// Resolver decides what requests come to, in Pregel's order (docs/design/mutation.md).
type Resolver struct {
	Exists func(id uint64) bool // whether a vertex exists
	Own    kernel.Column        // the vertices' values
	Of     func(id uint64) int  // where in Own a vertex's value is
	Values kernel.Column        // those that requests bring, and those that are decided on
	// Resolve is kernel.Instance.Resolve, or nil if the program has none.
	Resolve func(id pregel.VertexID, exists, remove bool, value int, add []int,
		of kernel.Column) bool

	out Resolved
}

// Run resolves requests that are InOrder.
func (s *Resolver) Run(list []kernel.Request) Resolved {
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
func (s *Resolver) vertex(list []kernel.Request) {
	id := pregel.VertexID(list[0].Of)
	exists := s.Exists(list[0].Of)
	existed, value := exists, NoValue
	removed, added := len(s.out.Remove), len(s.out.Add)
	edge := func(r *kernel.Request) graph.Arc {
		return graph.Arc{From: id, To: pregel.VertexID(r.To), Weight: r.Weight}
	}
	unedge := func(r *kernel.Request) {
		a := edge(r)
		s.out.Remove = append(s.out.Remove, a)
		kept := s.out.Add[:added]
		for _, b := range s.out.Add[added:] {
			if b.To != a.To {
				kept = append(kept, b)
			}
		}
		s.out.Add = kept
	}
	// Its own changes to its edges, in the order of its calls, then the edges that others remove.
	for i := range list {
		if r := &list[i]; exists && r.By == r.Of {
			switch r.Kind {
			case kernel.AddEdge:
				s.out.Add = append(s.out.Add, edge(r))
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
			value = s.Values.Len()
			s.Values.AppendAt(s.Own, []uint32{uint32(s.Of(list[0].Of))})
		}
		value, exists = s.decide(id, exists, remove, value, add)
		anew = !exists || !existed || remove && len(add) > 0
	}
	if anew && existed {
		s.out.Remove, s.out.Add = s.out.Remove[:removed], s.out.Add[:added]
		if s.out.Gone == nil {
			s.out.Gone = map[pregel.VertexID]bool{}
		}
		s.out.Gone[id] = true
	}
	for i := range list {
		if r := &list[i]; r.Kind == kernel.AddEdge && (r.By != r.Of || !existed) {
			if !exists {
				value, exists, anew = NoValue, true, true
			}
			s.out.Add = append(s.out.Add, edge(r))
		}
	}
	if anew && (exists || existed) || !anew && s.Resolve != nil && exists &&
		(remove || len(add) > 0) {
		s.out.Vertices = append(s.out.Vertices, Vertex{id, exists, anew, value})
	}
}

// decide returns what becomes of a vertex that is to be removed, or added, or both.
func (s *Resolver) decide(id pregel.VertexID, exists, remove bool, value int, add []int) (decided int, exist bool) {
	if s.Resolve != nil {
		exist = s.Resolve(id, exists, remove, value, add, s.Values)
		return s.Values.Len() - 1, exist
	}
	switch {
	case exists && !remove:
		return value, true
	case len(add) > 0:
		return add[0], true
	}
	return NoValue, false
}
