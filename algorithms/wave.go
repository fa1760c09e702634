package algorithms

import (
	"math"

	"github.com/superstep-go/superstep/pregel"
)

// The window of shortest paths, in the manner of rho-stepping (Dong, Gu and Sun, 2021): in each superstep the vertices
// nearest to the source tell their distances, so many that their edges are about a share of all. How far the window
// reaches is read off a histogram of the edges of those that wait, over the distance beyond the least, so that nothing
// need be known of the weights.

const (
	// waveShare is the share of the graph's edges that a superstep's messages should cross.
	waveShare = 1.0 / 16
	// farther is how many windows the histogram looks ahead.
	farther = 8
	// waveLeast is how many are worth a superstep in any graph.
	waveLeast = 1 << 16
	// firstGain is the assumed mean degree of a relaxed vertex, before it has been seen: of
	// skewed graphs the first ones reach the hubs.
	firstGain = 128
)

// plan is what Coordinate tells the vertices, and itself in the next superstep.
type plan struct {
	// Window bounds the distances that are told. Settled is a distance that all shorter ones are final below: no message
	// under way, and none to come, can better them.
	Window, Settled float64
	// Far is how far beyond Settled the histogram looks.
	Far float64
	// Gain is the mean degree of the vertices that a message relaxes; Told how many messages were sent before.
	Gain float64
	Told int64
}

// frontier is what the vertices tell Coordinate.
type frontier struct {
	// Least is the least distance told in this superstep, or waiting to be.
	Least float64
	// Better is how many edges the vertices have whose distance fell.
	Better int64
	// Far is how many edges those have that wait beyond the histogram.
	Far int64
	// Waiting and Told are the edges of those that wait, and of those that told, by distance beyond Settled.
	Waiting, Told histogram
}

var start = plan{Window: math.Inf(1), Far: math.Inf(1), Gain: firstGain}

var (
	wave            = pregel.NewAggregator("wave", func() plan { return start }, func(a, _ plan) plan { return a }).Persistent()
	front           = pregel.NewAggregator("front", func() frontier { return frontier{Least: math.Inf(1)} }, mergeFrontiers)
	waveAggregators = []pregel.Aggregate{wave, front}
)

func mergeFrontiers(a, b frontier) frontier {
	a.Least = min(a.Least, b.Least)
	a.Better += b.Better
	a.Far += b.Far
	for i := range a.Waiting {
		a.Waiting[i] += b.Waiting[i]
		a.Told[i] += b.Told[i]
	}
	return a
}

func (f *frontier) tell(d float64, p *plan, edges int) {
	f.Least = min(f.Least, d)
	f.Told[bucket(d-p.Settled)] += int64(edges)
}

func (f *frontier) wait(d float64, p *plan, edges int) {
	if d >= p.Far {
		f.Far += int64(edges)
		return
	}
	f.Least = min(f.Least, d)
	f.Waiting[bucket(d-p.Settled)] += int64(edges)
}

// histogram counts by the logarithm of a distance, eight buckets to the octave, from 2^-40 to 2^24.
type histogram [512]int64

const lowestOctave = -40

func bucket(d float64) int {
	b := int(math.Float64bits(d)>>49) - (1023+lowestOctave)*8
	return max(0, min(b, len(histogram{})-1))
}

// beyond returns a distance that no distance of the bucket reaches.
func beyond(bucket int) float64 {
	if bucket >= len(histogram{})-1 {
		return math.Inf(1)
	}
	return math.Float64frombits(uint64(bucket+1+(1023+lowestOctave)*8) << 49)
}

// advance sets the window of the coming superstep. It reaches as far as the edges of those known to wait, and of those
// that messages under way are expected to better, come to the share.
func advance(c *pregel.Coordinator) {
	p := wave.Value(c)
	if c.Superstep == 0 {
		wave.Replace(c, start)
		return
	}
	f := front.Value(c)
	if p.Told > 0 {
		p.Gain = min(2*float64(f.Better)/float64(p.Told), firstGain)
	}
	target := max(waveShare*float64(c.NumEdges), waveLeast)
	expected, told := 0.0, int64(0)
	window := math.Inf(1)
	for i := range f.Waiting {
		expected += float64(f.Waiting[i]) + p.Gain*float64(f.Told[i])
		told += f.Told[i]
		if expected > target && math.IsInf(window, 1) {
			window = p.Settled + beyond(i)
		}
	}
	if f.Far > 0 {
		f.Least = min(f.Least, p.Far)
	}
	if !math.IsInf(f.Least, 1) {
		p.Settled = f.Least
	}
	p.Window, p.Told = window, told
	switch {
	case !math.IsInf(window, 1):
		p.Far = p.Settled + farther*(window-p.Settled)
	case f.Far > 0: // too few were seen: as far as was looked, and then look at all
		p.Window, p.Far = p.Far, math.Inf(1)
	}
	wave.Replace(c, p)
}
