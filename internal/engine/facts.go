package engine

import (
	"fmt"
	"strings"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/kernel"
)

// Facts returns the facts about the job's partitions that a driver needs before the first
// superstep. It measures the rates, unless they are known. Restore measures them before it sets the
// state, because measurements change the state.
func (j *Job) Facts() *bsp.Facts {
	f := j.facts()
	f.Rates = j.measured()
	f.Rates.Alpha, f.Rates.Beta, f.Rates.Gap = j.options.Alpha, j.options.Beta, j.options.Gap
	return f
}

// measured returns the job's rates. They are measured once per kind of combiner and partition, and
// stored in the partition for later jobs.
func (j *Job) measured() delivery.Rates {
	if j.rates != nil {
		return *j.rates
	}
	r := j.runners[0]
	of := kind{fmt.Sprintf("%T",
		r.kernel), "", r.traits, r.layout.Blocks[0].Pull, r.team.Size() > 1}
	if !strings.HasPrefix(of.kernel, "*combiners.") || strings.Contains(of.kernel, ".func") {
		of.program = j.name // its loops call functions of the program
	}
	kept, found := r.part.Measured.Load(of)
	if !found {
		kept, _ = r.part.Measured.LoadOrStore(of, r.push.measure())
	}
	rates := kept.(delivery.Rates)
	j.rates = &rates
	return rates
}

// kind has everything that rates depend on besides the machine and the partition.
type kind struct {
	kernel, program string // the type of the loops; the program whose functions they call
	traits          kernel.Traits
	through         *graph.Block
	team            bool
}

// facts returns Facts without the rates, whose measurement takes some milliseconds.
func (j *Job) facts() *bsp.Facts {
	r := j.runners[0]
	threads := 1
	if j.options.Team != nil {
		threads = j.options.Team.Size()
	}
	f := &bsp.Facts{
		Partitions: r.part.Of, Edges: r.changing.arcs, Ordered: r.traits.Ordered,
		LoadedVertices: uint64(j.graph.N), LoadedArcs: j.graph.Arcs,
		Load: delivery.Load{
			Vertices: int(r.changing.ids), Partitions: r.part.Of, Grid: r.part.Grid,
			SubSteps: j.options.subSteps(), Threads: threads, Processes: 1,
			AnyOne: r.traits.AnyOne, Bytes: r.traits.Bytes,
			FoldBytes: int(j.methods.program.Message.Size()),
		},
		Summary: j.summarizes(), Standing: j.standing,
		GroupVertices: j.methods.Group || j.methods.Number && j.methods.traits.InputIDs,
	}
	if r.back != nil {
		f.Ways = []delivery.Load{f.Load, f.Load}
	}
	for _, r := range j.runners {
		f.Absent += bitmap.Count(r.part.Absent)
		r.addTo(&f.Load, f.Ways)
	}
	return f
}

// addTo adds the partition's part to the load of all messages, and to the loads of messages in one
// direction.
func (r *runner) addTo(l *delivery.Load, ways []delivery.Load) {
	l.Arcs += r.out.Edges
	classes(&l.Classes, r.in)
	for i := range r.layout.Blocks {
		r.crossing(l, i)
		if r.back != nil {
			r.crossing(&ways[i], i)
		}
	}
	if back := r.back; back != nil {
		l.Arcs += back.out.Edges
		classes(&l.Classes, r.out)
		ways[0].Arcs += r.out.Edges
		classes(&ways[0].Classes, r.in)
		ways[1].Arcs += back.out.Edges
		classes(&ways[1].Classes, r.out)
	}
}

// changedLoads returns the partition's part of the loads after a change of the graph.
func (r *runner) changedLoads() (l delivery.Load, ways []delivery.Load) {
	if r.back != nil {
		ways = make([]delivery.Load, 2)
	}
	r.addTo(&l, ways)
	return l, ways
}

// crossing adds to a load the partition's part for messages that cross block i of the layout.
func (r *runner) crossing(l *delivery.Load, i int) {
	ways := r.layout.Blocks[i]
	if !r.part.HasSendersView(ways.Pull) {
		l.Untransposed += len(ways.Pull.ByReceiver.Adj)
	}
	l.Listed += ways.Pull.Senders.Count()
	l.Ghosts += ways.Push.Receivers.Count()
}

// classes adds the number of vertices by the bit length of their degrees.
func classes(into *[33]int, d *graph.Degrees) {
	for i, n := range d.Classes {
		into[i] += n
	}
}
