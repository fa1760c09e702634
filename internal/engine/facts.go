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
	if r.back != nil {
		f.Ways = []delivery.Load{f.Load, f.Load}
	}
	for _, r := range j.runners {
		f.Load.Arcs += r.outEdges
		classes(&f.Load.Classes, r.inDegrees, r.inEqual)
		for i := range r.layout.Blocks {
			r.crossing(&f.Load, i)
			if r.back != nil {
				r.crossing(&f.Ways[i], i)
			}
		}
		if back := r.back; back != nil {
			f.Load.Arcs += back.outEdges
			classes(&f.Load.Classes, r.outDegrees, r.outEqual)
			f.Ways[0].Arcs += r.outEdges
			classes(&f.Ways[0].Classes, r.inDegrees, r.inEqual)
			f.Ways[1].Arcs += back.outEdges
			classes(&f.Ways[1].Classes, r.outDegrees, r.outEqual)
		}
	}
	return f
}

// crossing adds to a load what messages meet that cross block i of the layout.
func (r *runner[V, M]) crossing(l *delivery.Load, i int) {
	ways := r.layout.Blocks[i]
	if !r.part.HasSendersView(ways.Pull) {
		l.Untransposed += len(ways.Pull.ByReceiver.Adj)
	}
	l.Listed += ways.Pull.Senders.Count()
	l.Ghosts += ways.Push.Receivers.Count()
}

// classes counts vertices by degree; see equalDegrees.
func classes(into *[33]int, degrees, equal []uint32) {
	for w, d := range equal {
		if d != unequal {
			into[bits.Len32(d)] += 64
			continue
		}
		for _, d := range degrees[w<<6 : w<<6+64] {
			into[bits.Len32(d)]++
		}
	}
}
