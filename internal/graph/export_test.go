package graph

// What the tests that build graphs, which package build does, need to know of this one.
const (
	IndexBits  = indexBits
	SingleRows = singleRows
)

// SetLimits changes the sizes from which on a graph is built in another way, or in pieces, until
// reset is called.
func SetLimits(linkGrain, bucketArcs, narrowBuckets, indexedArcs, chunkCost, idBits int) (reset func()) {
	before := limits
	limits.linkGrain, limits.bucketArcs, limits.narrowBuckets = linkGrain, bucketArcs, narrowBuckets
	limits.indexedArcs, limits.chunkCost, limits.idBits = indexedArcs, chunkCost, idBits
	return func() { limits = before }
}

// NewMeeting returns what exchanges messages between the partitions of a test.
func NewMeeting(parts int) interface{ Exchange(p int) AllToAll } {
	return testMeeting{&meeting{now: newRound(parts)}}
}

type testMeeting struct{ m *meeting }

func (t testMeeting) Exchange(p int) AllToAll { return t.m.exchange(p) }

// SetMost lowers how many arcs and slots a partition may have, until reset is called.
func SetMost(arcs, slots int) (reset func()) {
	before := limits
	limits.arcs, limits.slots = arcs, slots
	return func() { limits = before }
}

// MostArcs and MostSlots are the usual limits of a partition.
const (
	MostArcs  = maxArcs
	MostSlots = maxSlots
)

// Most returns the most arcs that a partition has in its lists or its blocks, and the most slots.
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
