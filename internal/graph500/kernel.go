package graph500

import (
	"fmt"
	"math/bits"
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

// bfs is algorithms.BFS for a single rank. Its values are the input numbers of parents, so that only
// the order of the numbers remains to be changed after a search (Nakao20, 3.2).
type bfs struct {
	source pregel.VertexID
	of     *Rank // has the numbers
}

// Combiner, Traits, Start, Init, Compute and ComputeBlock are those of algorithms.BFS.
func (bfs) Combiner() pregel.Combiner[pregel.VertexID] { return algorithms.BFS{}.Combiner() }
func (bfs) Traits() pregel.Traits                      { return algorithms.BFS{}.Traits() }

func (p bfs) Start() (inputNumber, []pregel.VertexID) {
	return unreached, []pregel.VertexID{p.source}
}

func (p bfs) Init(v *pregel.Vertex[inputNumber, pregel.VertexID]) { p.Compute(v, v.ID()) }

func (p bfs) Compute(v *pregel.Vertex[inputNumber, pregel.VertexID], parent pregel.VertexID) {
	v.Set(inputNumber(p.of.g.Order[parent]))
	v.SendToAllNeighbors(v.ID())
	v.Finish()
}

func (p bfs) ComputeBlock(b *pregel.Block[inputNumber, pregel.VertexID]) {
	order, values, in := p.of.g.Order, b.Values, b.In
	for run := b.Run; run != 0; run &= run - 1 {
		i := bits.TrailingZeros64(run) & 63
		values[i] = inputNumber(order[in[i]])
	}
	b.Sent |= b.Run
	b.Finish |= b.Run
}

// Found reads the result of a search, by partition and local index. Exactly one field is set:
// input numbers of parents, parents (None if unreached), or, in kernel 3, parents with distances.
type Found struct {
	numbers func(partition int) []inputNumber
	parents func(partition int) []pregel.VertexID
	hops    func(partition int) []hop
}

// hop is kernel 3's result for a vertex.
type hop = algorithms.Hop[float32]

// FoundBy returns the reader of the result of a kernel's job.
func FoundBy(job *engine.Job) (Found, error) {
	switch job.ValueType() {
	case reflect.TypeFor[inputNumber]():
		return Found{numbers: column[inputNumber](job)}, nil
	case reflect.TypeFor[pregel.VertexID]():
		return Found{parents: column[pregel.VertexID](job)}, nil
	case reflect.TypeFor[hop]():
		return Found{hops: column[hop](job)}, nil
	}
	return Found{},
		fmt.Errorf("found values of type %v, expected parents of vertices", job.ValueType())
}

func column[T any](job *engine.Job) func(partition int) []T {
	return func(partition int) []T { return kernel.Elements[T](job.Values(partition)) }
}
