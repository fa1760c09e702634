package algorithms

import (
	"math"

	"github.com/superstep-go/superstep/pregel"
)

// The window of shortest paths, after rho-stepping (Dong, Gu and Sun, 2021): in each superstep the
// vertices nearest to the source send their distances, as many as have about a fixed fraction of
// the graph's edges, or the fraction of its vertices that has been reached, if that is less: while
// most have not, what is sent soon proves too long. The window's upper bound comes from a histogram
// of the waiting vertices' edges by distance, so that nothing is assumed of the weights.
//
// Where a few vertices have most edges, the window goes on to grow with what is reached: all others
// are near to these hubs, and few edges can still matter to anyone. Those alone are looked at then,
// however many vertices send (the engine's pulls by the lightest arcs, and thinned lists).

const (
	// waveFraction is the fraction of the graph's edges that a superstep's messages should cross.
	waveFraction = 1.0 / 16
	// hubPart: a few vertices have most edges if those first reached, which have half of all edges,
	// are less than one in so many.
	hubPart = 4
	// lookahead is how many windows the histogram covers.
	lookahead = 8
	// waveMinimum is the least number of edges for a superstep in any graph.
	waveMinimum = 1 << 16
	// firstGain is the assumed mean degree of a relaxed vertex before any is measured: in skewed
	// graphs the first ones are hubs.
	firstGain = 128
)

// schedule is Coordinate's state, which the vertices read.
type schedule struct {
	// Window is the upper bound of the distances sent. Distances below Settled are final: no
	// message in flight or to come can improve them.
	Window, Settled float64
	// Far is the end of the histogram's range, which begins at Settled.
	Far float64
	// Reached is how many vertices have been reached, and ReachedEdges how many edges these have.
	// Once that is half of all, Hubs says whether a few vertices have them.
	Reached, ReachedEdges int64
	Hubs                  bool
	// Gain is the expected degree of the vertices that one message improves; Announced is the
	// number of messages sent.
	Gain      float64
	Announced int64
}

// waveReport is what the vertices report to Coordinate.
type waveReport struct {
	// Least is the least distance sent in this superstep or waiting to be sent.
	Least float64
	// Reached is the number of vertices that a message reached for the first time, and ReachedEdges
	// that of their edges.
	Reached, ReachedEdges int64
	// Better is the number of edges of the vertices whose distance fell.
	Better int64
	// Far is the number of edges of the vertices that wait beyond the histogram.
	Far int64
	// Waiting and Announced are the edges of the vertices that wait and of those that sent, by
	// distance beyond Settled.
	Waiting, Announced histogram
}

var start = schedule{Window: math.Inf(1), Far: math.Inf(1), Gain: firstGain}

var (
	wave    = pregel.NewAggregator("wave", func() schedule { return start }, func(a, _ schedule) schedule { return a }).Persistent().Unreported()
	reports = pregel.NewAggregator("front", func() waveReport { return waveReport{Least: math.Inf(1)} }, mergeReports).Unreported()
)

// waveTraits are those of SSSP and SSSPTree. Monotone: a distance which is no shorter changes
// nothing. Asynchronous: shortest paths are found in any order.
var waveTraits = traits{
	Monotone: true, NonNegative: true, Asynchronous: true, Converges: true,
	Aggregators: aggregates{wave, reports},
}

func mergeReports(a, b waveReport) waveReport {
	a.Least = min(a.Least, b.Least)
	a.Reached += b.Reached
	a.ReachedEdges += b.ReachedEdges
	a.Better += b.Better
	a.Far += b.Far
	for i := range a.Waiting {
		a.Waiting[i] += b.Waiting[i]
		a.Announced[i] += b.Announced[i]
	}
	return a
}

// turn is what a vertex does in a superstep with its distance.
type turn uint8

const (
	waits    turn = iota // its distance is beyond the window
	sends                // to its neighbours, and halts
	rests                // it has nothing new to send: it halts
	finishes             // nor will it ever, for its distance is final
)

// turnOf decides for a vertex at distance d, which changed since it last sent it, or did not.
func turnOf(d float64, p *schedule, changed bool) turn {
	if changed {
		if d < p.Window {
			return sends
		}
		return waits
	}
	if d <= p.Settled {
		return finishes
	}
	return rests
}

// shorter counts a vertex whose distance fell from what it was before.
func (f *waveReport) shorter(before float64, edges int) {
	f.Better += int64(edges)
	if math.IsInf(before, 1) {
		f.Reached++
		f.ReachedEdges += int64(edges)
	}
}

// announce counts a distance that is sent along so many edges, hold one that waits.
func (f *waveReport) announce(d float64, p *schedule, edges int) {
	f.Least = min(f.Least, d)
	f.Announced[bucket(d-p.Settled)] += int64(edges)
}

func (f *waveReport) hold(d float64, p *schedule, edges int) {
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

// beyond returns the exclusive upper bound of a bucket.
func beyond(bucket int) float64 {
	if bucket >= len(histogram{})-1 {
		return math.Inf(1)
	}
	return math.Float64frombits(uint64(bucket+1+(1023+lowestOctave)*8) << 49)
}

// advance sets the window of the coming superstep: the distance below which the edges of waiting
// vertices, and of those that messages in flight are expected to improve, add up to the part of all
// edges that may be crossed.
func advance(c *pregel.Coordinator) {
	p := wave.Value(c)
	if c.Superstep == 0 {
		wave.Replace(c, start)
		return
	}
	f := reports.Value(c)
	edges, half := float64(c.NumEdges), p.ReachedEdges
	p.Reached += f.Reached
	p.ReachedEdges += f.ReachedEdges
	if 2*half < int64(c.NumEdges) && 2*p.ReachedEdges >= int64(c.NumEdges) {
		p.Hubs = hubPart*p.Reached < int64(c.NumVertices)
	}
	fraction := float64(p.Reached) / float64(c.NumVertices)
	if !p.Hubs {
		fraction = min(fraction, waveFraction)
	}
	switch {
	case p.Hubs && hubPart*p.Reached > int64(c.NumVertices):
		p.Gain = 0 // what messages in flight improve lies beyond the window
	case p.Announced > 0:
		p.Gain = min(2*float64(f.Better)/float64(p.Announced), firstGain)
	}
	target := max(fraction*edges, waveMinimum)
	expected, announced := 0.0, int64(0)
	window := math.Inf(1)
	for i := range f.Waiting {
		expected += float64(f.Waiting[i]) + p.Gain*float64(f.Announced[i])
		announced += f.Announced[i]
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
	// Sums are rounded: but the nearest of all that wait must be let through.
	window = max(window, math.Nextafter(p.Settled, math.Inf(1)))
	p.Window, p.Announced = window, announced
	switch {
	case !math.IsInf(window, 1):
		p.Far = p.Settled + lookahead*(window-p.Settled)
	case f.Far > 0: // too few in the histogram: send all of it, and cover everything in the next
		p.Window, p.Far = p.Far, math.Inf(1)
	}
	wave.Replace(c, p)
}
