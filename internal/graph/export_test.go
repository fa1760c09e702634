package graph

// What the tests that build graphs, which package build does, need to know of this one.
const (
	IndexBits  = indexBits
	SingleRows = singleRows
)

// SetLimits changes the sizes from which on a graph is built in another way, or in pieces, until reset is called.
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
