package change

import (
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Resolved is the result of the requests about the vertices of one partition.
type Resolved struct {
	Remove, Add []graph.Arc
	Gone        map[pregel.VertexID]bool // vertices that lose all out-edges, before edges are added
	Vertices    []Vertex                 // removed and added vertices, by id
}

// Vertex is the new state of a vertex. Messages to it are dropped if it is removed or created anew.
type Vertex struct {
	ID     pregel.VertexID
	Exists bool
	Anew   bool
	Value  int // index in the Resolver's Values; NoValue means zero
}

// NoValue stands for the zero value.
const NoValue = -1

// Resolver resolves requests in the order that Pregel defines (docs/design/mutation.md).
type Resolver struct {
	Exists func(id uint64) bool // whether a vertex exists
	Own    kernel.Column        // the vertices' values
	Of     func(id uint64) int  // index in Own of a vertex's value
	Values kernel.Column        // values in requests; Run appends the results
	// Resolve is kernel.Instance.Resolve, or nil if the program has no method Resolve.
	Resolve func(id pregel.VertexID, exists, remove bool, value int, add []int,
		of kernel.Column) bool

	out Resolved
}

// Run resolves requests that InOrder has sorted.
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
	id, exists := pregel.VertexID(list[0].Of), s.Exists(list[0].Of)
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
	// First the vertex's own changes to its edges, in the order of its calls. Then the edges that
	// other vertices remove.
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
	anew := false // the previous vertex, if any, is removed
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

// decide returns the new state of a vertex that requests remove, add, or both.
func (s *Resolver) decide(
	id pregel.VertexID, exists, remove bool, value int, add []int,
) (decided int, exist bool) {
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
