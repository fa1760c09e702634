package combiners_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// The benchmarks walk 2^20 edges with skewed degrees between 2^16 vertices. The columns fit in the
// second-level cache.
const (
	benchVertices = 1 << 16
	benchEdges    = 1 << 20
)

var benchArcs = sortedArcs()

func sortedArcs() []arc {
	rng := rand.New(rand.NewPCG(1, 1))
	end := func() uint32 { // low numbers have high degrees
		x := rng.Float64()
		return uint32(x * x * x * benchVertices)
	}
	arcs := make([]arc, benchEdges)
	for i := range arcs {
		arcs[i] = arc{end(), end(), float64(rng.IntN(100))}
	}
	slices.SortFunc(arcs, func(a, b arc) int { return int(a.from) - int(b.from) })
	return arcs
}

// benchKernel runs all loops of a combiner's kernel. All vertices send m(id), except in pull/half,
// where every other vertex sends.
func benchKernel[M any](
	b *testing.B, c pregel.Combiner[M], single bool, m func(id pregel.VertexID) M,
) {
	pull := weightedBy(bcsr(benchVertices, benchArcs,
		func(a arc) (row, entry uint32) { return a.to, a.from }), single)
	push := weightedBy(bcsr(benchVertices, benchArcs,
		func(a arc) (row, entry uint32) { return a.from, a.to }), single)
	ids := &kernel.Slots{Stride: 1, Ghost: benchVertices}
	k, err := c.Kernel(
		kernel.Binding{Sources: ids, Capacity: benchVertices, Lists: []*kernel.Lists{pull, push}})
	if err != nil {
		b.Fatal(err)
	}
	words := benchVertices / 64
	all, half := make([]uint64, words), make([]uint64, words)
	for w := range words {
		all[w], half[w] = ^uint64(0), 0x5555555555555555
		var scratch [64]M
		out := k.Window(w, &scratch)
		for i := range out {
			out[i] = m(pregel.VertexID(ids.ID(uint32(w<<6 + i))))
		}
		k.Store(w, all[w], out)
	}
	k.Swap()
	each := func(unit, name string, f func() (n int)) {
		b.Run(c.String()+"/"+name, func(b *testing.B) {
			f() // the first call allocates buffers
			n := 0
			for b.Loop() {
				n += f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(n, 1)), unit)
			b.ReportMetric(0, "ns/op")
		})
	}
	run := func(name string, f func() (edges int)) { each("ns/edge", name, f) }
	var in [64]M
	pulling := func(p kernel.Pull) func() int {
		return func() (edges int) {
			for w := range words {
				_, walked := k.Pull(&p, w, ^uint64(0), 0, &in)
				edges += walked
			}
			return edges
		}
	}
	run("pull", pulling(kernel.Pull{Lists: pull, Present: all, All: true}))
	run("pull/half", pulling(kernel.Pull{Lists: pull, Present: half}))
	run("pull/none", pulling(kernel.Pull{Lists: pull, Present: make([]uint64, words)}))
	box := &kernel.Inbox[M]{Msg: make([]M, benchVertices), Has: bitmap.NewFrontier(make([]uint64,
		words))}
	p := kernel.Push{Lists: push, Present: all, Skip: make([]uint64, words)}
	pushing := func(f func(rows []kernel.Row)) func() int {
		var rows []kernel.Row
		return func() (edges int) {
			box.Has.Clear()
			for w := range words {
				rows = p.Senders(rows[:0], w)
				edges += p.Find(rows)
				f(rows)
			}
			return edges
		}
	}
	run("push", pushing(func(rows []kernel.Row) { k.Push(&p, rows, box) }))
	if claimer, ok := k.(kernel.Claimer[M]); ok {
		run("claim", pushing(func(rows []kernel.Row) { claimer.Claim(&p, rows, box) }))
	}
	bins := kernel.NewBins[M](benchVertices, 12)
	run("emit", pushing(func(rows []kernel.Row) {
		if len(rows) > 0 && rows[0].From < 64 {
			bins.Reset()
		}
		k.Emit(&p, rows, bins)
	}))
	run("fold", func() (edges int) {
		box.Has.Clear()
		for i, to := range bins.To {
			k.Fold(to, bins.Msg[i], box)
			edges += len(to)
		}
		return edges
	})
	if k.Traits().Bytes == 0 {
		return // columns have no values
	}
	column := k.Column(false).New(nil)
	column.Room(benchVertices / 2)
	everyone, list := &bitmap.Frontier{Words: all, All: true}, newList(half)
	each("ns/value", "pack", func() int {
		column.Truncate(0)
		column.AppendList(k.Column(false), everyone, list)
		return column.Len()
	})
	each("ns/value", "unpack", func() int {
		k.Column(false).SetBits(0, half, column)
		return column.Len()
	})
}

func BenchmarkKernels(b *testing.B) {
	benchKernel(b, combiners.Sum[float64](), false,
		func(id pregel.VertexID) float64 { return float64(id) })
	benchKernel(b, combiners.Min[uint32](), false,
		func(id pregel.VertexID) uint32 { return uint32(id) + 1 })
	benchKernel(b, combiners.Max[int64](), false,
		func(id pregel.VertexID) int64 { return int64(id) })
	benchKernel(b, combiners.Or(), false, func(pregel.VertexID) bool { return false })
	benchKernel(b, combiners.And(), false, func(pregel.VertexID) bool { return true })
	benchKernel(b, combiners.OrBits[uint64](), false,
		func(id pregel.VertexID) uint64 { return uint64(id) })
	benchKernel(b, combiners.AndBits[uint64](), false,
		func(id pregel.VertexID) uint64 { return ^uint64(id) })
	benchKernel(b, combiners.Count[uint32](), false, func(pregel.VertexID) uint32 { return 1 })
	benchKernel(b, combiners.First[int64](), false,
		func(id pregel.VertexID) int64 { return int64(id) })
	benchKernel(b, combiners.Sender(), false,
		func(id pregel.VertexID) pregel.VertexID { return id })
	benchKernel(b, combiners.Func(0, func(a, b float64) float64 { return a + b }), false,
		func(id pregel.VertexID) float64 { return float64(id) })
	benchKernel(b, combiners.MinPlus[float32](), true,
		func(id pregel.VertexID) float32 { return float32(id) })
	benchKernel(b, combiners.MaxMin[float64](), false,
		func(id pregel.VertexID) float64 { return float64(id) })
	benchKernel(b, combiners.SumTimes[float64](), false,
		func(id pregel.VertexID) float64 { return float64(id) })
	benchKernel(b, combiners.MinPlusSender[float32](), true,
		func(id pregel.VertexID) combiners.Arrival[float32] {
			return combiners.Arrival[float32]{Dist: float32(id), From: id}
		})
}

// BenchmarkKernelOfNothing measures the loops if no receiver needs a message.
func BenchmarkKernelOfNothing(b *testing.B) {
	k, err := combiners.Sum[float64]().Kernel(
		kernel.Binding{Sources: &kernel.Slots{Stride: 1}, Capacity: benchVertices})
	if err != nil {
		b.Fatal(err)
	}
	pull := bcsr(benchVertices, benchArcs, func(a arc) (row, entry uint32) { return a.to, a.from })
	p := kernel.Pull{Lists: &pull, Present: make([]uint64, benchVertices/64)}
	var in [64]float64
	for b.Loop() {
		for w := range benchVertices / 64 {
			k.Pull(&p, w, 0, 0, &in)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(benchVertices/64), "ns/word")
}
