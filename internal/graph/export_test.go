package graph

import "github.com/superstep-go/superstep/internal/kernel"

// Internals for tests that build graphs with package build.
const (
	IndexBits  = indexBits
	SingleRows = singleRows
)

// SetLimits changes the sizes above which a graph is built by another method, or in pieces. reset
// restores them.
func SetLimits(
	linkGrain, bucketArcs, narrowBuckets, indexedArcs, chunkCost, idBits int,
) (reset func()) {
	before := limits
	limits.linkGrain, limits.bucketArcs, limits.narrowBuckets = linkGrain, bucketArcs, narrowBuckets
	limits.indexedArcs, limits.chunkCost, limits.idBits = indexedArcs, chunkCost, idBits
	return func() { limits = before }
}

// owned returns how many of n vertices belong to a partition if they are dealt one by one.
func owned(n, partition, partitions int) int { return kernel.NewDeal(partitions).Owned(n, partition) }

// NewRendezvous returns an exchange between the partitions of a test.
func NewRendezvous(parts int) interface{ Exchange(p int) AllToAll } {
	return testRendezvous{&rendezvous{now: newRound(parts)}}
}

type testRendezvous struct{ m *rendezvous }

func (t testRendezvous) Exchange(p int) AllToAll { return t.m.exchange(p) }

// SetMost lowers the limits of arcs and slots of a partition. reset restores them.
func SetMost(arcs, slots int) (reset func()) {
	before := limits
	limits.arcs, limits.slots = arcs, slots
	return func() { limits = before }
}

// MostArcs and MostSlots are the default limits of a partition.
const (
	MostArcs  = maxArcs
	MostSlots = maxSlots
)

// Most returns the largest number of arcs in the lists or blocks of a partition, and the largest
// number of slots.
func (g *Graph) Most() (arcs, slots int) {
	for p := range g.here() {
		in, out := 0, 0
		for v := range p.Owned {
			in, out = in+int(p.InDegrees[v]), out+int(p.OutDegrees[v])
		}
		arcs, slots = max(arcs, in, out, len(p.along.Push.BySender.Adj)), max(slots, p.Slots)
		if r := p.reversedPart; r != nil {
			arcs, slots = max(arcs, len(r.reversed.Push.BySender.Adj)), max(slots, r.Slots)
		}
	}
	return arcs, slots
}
