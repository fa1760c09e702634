package engine

import (
	"math/bits"
	"reflect"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
)

// Facts are what a driver needs of the job's partitions before the first superstep.
func (j *Job[V, M]) Facts() *bsp.Facts {
	r := j.runners[0]
	threads := 1
	if j.options.Team != nil {
		threads = j.options.Team.Size()
	}
	f := &bsp.Facts{
		Partitions: r.part.Of, Vertices: uint64(j.graph.N), Edges: j.graph.Arcs, Ordered: r.traits.Ordered,
		Load: delivery.Load{
			Vertices: j.graph.N, Partitions: r.part.Of, Grid: r.part.Grid, SubSteps: j.options.subSteps(), Threads: threads,
			AnyOne: r.traits.AnyOne, Bytes: r.traits.Bytes, FoldBytes: int(reflect.TypeFor[M]().Size()),
		},
		Rates: r.measure(),
	}
	if j.options.Alpha > 0 {
		f.Rates.Alpha, f.Rates.Beta = j.options.Alpha, j.options.Beta
	}
	for _, r := range j.runners {
		f.Load.Arcs += r.outEdges
		r.classes(&f.Load.Classes)
		for _, ways := range r.layout.Blocks {
			if !r.part.HasSendersView(ways.Pull) {
				f.Load.Untransposed += len(ways.Pull.ByReceiver.Adj)
			}
			f.Load.Listed += ways.Pull.Senders.Count()
			f.Load.Ghosts += ways.Push.Receivers.Count()
		}
	}
	return f
}

// classes counts the partition's vertices by in-degree.
func (r *runner[V, M]) classes(into *[33]int) {
	for w, d := range r.inEqual {
		if d != unequal {
			into[bits.Len32(d)] += 64
			continue
		}
		for _, d := range r.inDegrees[w<<6 : w<<6+64] {
			into[bits.Len32(d)]++
		}
	}
}
