package graph500

import (
	"fmt"
	"reflect"

	"github.com/superstep-go/superstep/algorithms"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Program makes the vertex program of a kernel, bfs or sssp, for a root. Kernel 2 is the result of
// bfs, or algorithms.BFS if bfs is nil. Kernel 3 computes trees, in single precision as the
// reference code checks.
func Program(kernel string, bfs engine.New, root pregel.VertexID) (*engine.Program, error) {
	switch {
	case kernel == "bfs" && bfs != nil:
		return bfs(map[string]string{"source": "0"},
			func(uint64) (pregel.VertexID, bool) { return root, true })
	case kernel == "bfs":
		return engine.NewProgram(pregel.Erase(algorithms.BFS{Source: root}))
	case kernel == "sssp":
		return engine.NewProgram(pregel.Erase(algorithms.SSSPTree[float32]{Source: root}))
	}
	return nil, fmt.Errorf("Graph500 has no kernel %.40q", kernel)
}

// EachKernel calls f with the program of each kernel to run, until it returns an error.
func EachKernel(sssp bool, bfs engine.New, f func(program *engine.Program) error) error {
	for _, kernel := range []string{"bfs", "sssp"} {
		if kernel == "sssp" && !sssp {
			continue
		}
		program, err := Program(kernel, bfs, 0)
		if err == nil {
			err = f(program)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Found reads the result of a search, by partition and local index. Exactly one field is set:
// parents (None if unreached), or, in kernel 3, parents with distances.
type Found struct {
	parents func(partition int) []pregel.VertexID
	hops    func(partition int) []hop
}

// hop is kernel 3's result for a vertex.
type hop = algorithms.Hop[float32]

// FoundBy returns the reader of the result of a kernel's job.
func FoundBy(job *engine.Job) (Found, error) {
	switch job.ValueType() {
	case reflect.TypeFor[pregel.VertexID]():
		return Found{parents: func(partition int) []pregel.VertexID {
			return kernel.Elements[pregel.VertexID](job.Values(partition))
		}}, nil
	case reflect.TypeFor[hop]():
		return Found{hops: func(partition int) []hop {
			return kernel.Elements[hop](job.Values(partition))
		}}, nil
	}
	return Found{},
		fmt.Errorf("found values of type %v, expected parents of vertices", job.ValueType())
}
