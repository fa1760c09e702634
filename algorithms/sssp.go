package algorithms

import (
	"math"
	"math/bits"

	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/pregel"
)

// SSSP finds the length of the shortest path from Source to every vertex: infinity if there is
// none. Weights must not be negative. It does not find the paths. In Go, SSSPTree also gives the
// vertex before each vertex on a shortest path. It is an error if a weight times the number of
// vertices exceeds half the largest float.
//
// A vertex waits with its distance until the distance is below the superstep's window, and then
// sends it to its neighbours. The window advances with the least waiting distances, so that few
// distances improve after they were sent. wave.go has the details.
type SSSP[W combiners.Weight] struct {
	Source ID `param:"source" help:"where paths start"`
}

// Combiner adds the weight of the edge to a message, and keeps the least sum.
func (SSSP[W]) Combiner() pregel.Combiner[W] { return combiners.MinPlus[W]() }

// Traits returns the traits.
func (SSSP[W]) Traits() pregel.Traits { return waveTraits }

// Start returns the distance of unreached vertices, and the vertex where paths start.
func (p SSSP[W]) Start() (W, []ID) { return W(math.Inf(1)), []ID{p.Source} }

// Report returns the statistics for reports.
func (SSSP[W]) Report() pregel.Report[W] {
	return report[W]{Reached: func(distance W) bool { return !math.IsInf(float64(distance), 1) }}
}

// Coordinate advances the window.
func (SSSP[W]) Coordinate(c *pregel.Coordinator) { advance(c) }

// Init gives Source distance 0.
func (SSSP[W]) Init(v *pregel.Vertex[W, W]) {
	v.Set(0)
	v.SendToAllNeighbors(0)
	v.VoteToHalt()
}

// Compute takes a shorter distance, and sends it to the neighbours if it is below the window.
func (SSSP[W]) Compute(v *pregel.Vertex[W, W], dist W) {
	changed := !v.Woken()
	if dist < v.Value() {
		reports.Cell(v).shorter(float64(v.Value()), v.OutDegree())
		v.Set(dist)
		changed = true
	}
	d, wave := v.Value(), wave.Value(v)
	switch turnOf(float64(d), &wave, changed) {
	case sends:
		v.SendToAllNeighbors(d)
		v.VoteToHalt()
		reports.Cell(v).announce(float64(d), &wave, v.OutDegree())
	case waits:
		reports.Cell(v).hold(float64(d), &wave, v.OutDegree())
	case rests:
		v.VoteToHalt()
	case finishes:
		v.Finish()
	}
}

// ComputeBlock is Compute for the vertices of b.Run.
func (SSSP[W]) ComputeBlock(b *pregel.Block[W, W]) {
	wave, report := wave.Value(b), reports.Cell(b)
	for run := b.Run; run != 0; run &= run - 1 {
		i := bits.TrailingZeros64(run) & 63
		bit := uint64(1) << i
		changed := b.Awake&bit != 0
		if b.Received&bit != 0 && b.In[i] < b.Values[i] {
			report.shorter(float64(b.Values[i]), int(b.OutDegrees[i]))
			b.Values[i] = b.In[i]
			changed = true
		}
		d := b.Values[i]
		switch turnOf(float64(d), &wave, changed) {
		case sends:
			b.Out[i] = d
			b.Sent |= bit
			b.Halt |= bit
			report.announce(float64(d), &wave, int(b.OutDegrees[i]))
		case waits:
			report.hold(float64(d), &wave, int(b.OutDegrees[i]))
		case rests:
			b.Halt |= bit
		case finishes:
			b.Finish |= bit
		}
	}
}

// Resend sends the distance again, when a run resumes from a checkpoint.
func (SSSP[W]) Resend(v *pregel.Vertex[W, W]) { v.SendToAllNeighbors(v.Value()) }

// Hop is a vertex in a tree of shortest paths: its distance, and the vertex before it.
type Hop[W combiners.Weight] = combiners.Arrival[W]

// SSSPTree is SSSP with parents: kernel 3 of Graph500. An unreached vertex has distance infinity
// and parent pregel.None; Source is its own parent. A parent changes only if the distance falls, so
// edges of weight 0 cannot form a cycle.
type SSSPTree[W combiners.Weight] struct {
	Source ID `param:"source" help:"where paths start"`
}

// Combiner keeps the least distance and its sender.
func (SSSPTree[W]) Combiner() pregel.Combiner[Hop[W]] { return combiners.MinPlusSender[W]() }

// Traits returns the traits.
func (SSSPTree[W]) Traits() pregel.Traits { return waveTraits }

// Start returns the value of unreached vertices, and the vertex where paths start.
func (p SSSPTree[W]) Start() (Hop[W], []ID) {
	return Hop[W]{Dist: W(math.Inf(1)), From: pregel.None}, []ID{p.Source}
}

// Report returns the statistics for reports.
func (SSSPTree[W]) Report() pregel.Report[Hop[W]] {
	return report[Hop[W]]{Reached: func(h Hop[W]) bool { return !math.IsInf(float64(h.Dist), 1) }}
}

// Coordinate advances the window.
func (SSSPTree[W]) Coordinate(c *pregel.Coordinator) { advance(c) }

// Init makes Source its own parent, at distance 0.
func (SSSPTree[W]) Init(v *pregel.Vertex[Hop[W], Hop[W]]) {
	v.Set(Hop[W]{From: v.ID()})
	v.SendToAllNeighbors(v.Value())
	v.VoteToHalt()
}

// Compute takes a shorter path, and sends its distance to the neighbours if that is below the
// window.
func (SSSPTree[W]) Compute(v *pregel.Vertex[Hop[W], Hop[W]], a Hop[W]) {
	changed := !v.Woken()
	if a.Dist < v.Value().Dist {
		reports.Cell(v).shorter(float64(v.Value().Dist), v.OutDegree())
		v.Set(a)
		changed = true
	}
	d, wave := v.Value().Dist, wave.Value(v)
	switch turnOf(float64(d), &wave, changed) {
	case sends:
		v.SendToAllNeighbors(Hop[W]{Dist: d, From: v.ID()})
		v.VoteToHalt()
		reports.Cell(v).announce(float64(d), &wave, v.OutDegree())
	case waits:
		reports.Cell(v).hold(float64(d), &wave, v.OutDegree())
	case rests:
		v.VoteToHalt()
	case finishes:
		v.Finish()
	}
}

// ComputeBlock is Compute for the vertices of b.Run.
func (SSSPTree[W]) ComputeBlock(b *pregel.Block[Hop[W], Hop[W]]) {
	wave, report := wave.Value(b), reports.Cell(b)
	for run := b.Run; run != 0; run &= run - 1 {
		i := bits.TrailingZeros64(run) & 63
		bit := uint64(1) << i
		changed := b.Awake&bit != 0
		if b.Received&bit != 0 && b.In[i].Dist < b.Values[i].Dist {
			report.shorter(float64(b.Values[i].Dist), int(b.OutDegrees[i]))
			b.Values[i] = b.In[i]
			changed = true
		}
		d := b.Values[i].Dist
		switch turnOf(float64(d), &wave, changed) {
		case sends:
			b.Out[i] = Hop[W]{Dist: d, From: b.ID(i)}
			b.Sent |= bit
			b.Halt |= bit
			report.announce(float64(d), &wave, int(b.OutDegrees[i]))
		case waits:
			report.hold(float64(d), &wave, int(b.OutDegrees[i]))
		case rests:
			b.Halt |= bit
		case finishes:
			b.Finish |= bit
		}
	}
}

// Resend sends the distance again, when a run resumes from a checkpoint.
func (SSSPTree[W]) Resend(v *pregel.Vertex[Hop[W], Hop[W]]) {
	v.SendToAllNeighbors(Hop[W]{Dist: v.Value().Dist, From: v.ID()})
}
