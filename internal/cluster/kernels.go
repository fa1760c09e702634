package cluster

import (
	"fmt"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph500"
	"github.com/superstep-go/superstep/pregel"
)

// kernel is a kernel of Graph500: a vertex program whose types are known here.
type kernel struct {
	// program makes it for a root; restart gives the root to a share of it; found reads what a share found.
	program func(root pregel.VertexID) (engine.Program, error)
	restart func(s engine.Bound, root pregel.VertexID) error
	found   func(s engine.Bound) (graph500.Found, error)
}

var kernels = map[string]kernel{
	"bfs": newKernel(func(root pregel.VertexID) pregel.Program[algorithms.ID, algorithms.ID] {
		return algorithms.BFS{Source: root}
	},
		func(value func(pregel.VertexID) algorithms.ID) graph500.Found { return graph500.Found{Parent: value} }),
	"sssp": newKernel(func(root pregel.VertexID) pregel.Program[hop, hop] { return algorithms.SSSPTree[float32]{Source: root} },
		func(value func(pregel.VertexID) hop) graph500.Found {
			return graph500.Found{
				Parent: func(id pregel.VertexID) pregel.VertexID { return value(id).From },
				Dist:   func(id pregel.VertexID) float32 { return value(id).Dist },
			}
		}),
}

type hop = algorithms.Hop[float32]

// typed is what a share of a program offers to who knows its types.
type typed[V, M any] interface {
	Restart(p pregel.Program[V, M]) error
	Value(id pregel.VertexID) V
}

func newKernel[V, M any](program func(root pregel.VertexID) pregel.Program[V, M], found func(value func(pregel.VertexID) V) graph500.Found) kernel {
	return kernel{
		program: func(root pregel.VertexID) (engine.Program, error) { return engine.Erase(program(root)) },
		restart: func(s engine.Bound, root pregel.VertexID) error {
			t, ok := s.(typed[V, M])
			if !ok {
				return fmt.Errorf("a share of %T is no kernel of Graph500", s)
			}
			return t.Restart(program(root))
		},
		found: func(s engine.Bound) (graph500.Found, error) {
			t, ok := s.(typed[V, M])
			if !ok {
				return graph500.Found{}, fmt.Errorf("a share of %T is no kernel of Graph500", s)
			}
			return found(t.Value), nil
		},
	}
}

// kernelOf finds a kernel by its name.
func kernelOf(name string) (kernel, error) {
	k, ok := kernels[name]
	if !ok {
		return k, fmt.Errorf("Graph500 has no kernel %.40q", name)
	}
	return k, nil
}
