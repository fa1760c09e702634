package algorithms

import (
	"math"

	"github.com/superstep-go/superstep/pregel"
)

// The window of shortest paths, after rho-stepping (Dong, Gu and Sun, 2021). In each superstep the
// vertices nearest to the source send their distances. Their number is chosen so that they have
// about a fixed fraction of the graph's edges. While most vertices are unreached, the fraction is
// at most that of the reached vertices, because messages sent so early soon prove too long. A
// histogram of the waiting vertices' edges by distance gives the window's upper bound, so the
// algorithm assumes nothing about the weights.
//
// If a few vertices (hubs) have most edges, the fraction is always that of the reached vertices.
// All other vertices are near to the hubs, so few edges can still shorten a path. The engine then
// looks only at these edges, however many vertices send (pulls by the lightest arcs, and thinned
// lists).

const (
	// waveFraction is the intended fraction of the graph's edges with a message in a superstep.
	waveFraction = 1.0 / 16
	// hubPart defines hubs: the first reached vertices that have half of all edges are hubs if they
	// are less than 1/hubPart of all vertices.
	hubPart = 4
	// lookahead is the range of the histogram, in windows.
	lookahead = 8
	// waveMinimum is the least intended number of edges with a message in a superstep.
	waveMinimum = 1 << 16
	// firstGain is the assumed mean degree of a relaxed vertex before any measurement. In skewed
	// graphs the first relaxed vertices are hubs.
	firstGain = 128
	// review is the number of supersteps after which the limit of the intended edges changes, and
	// leastLimit its least value. Skewed graphs need fewer supersteps.
	review, leastLimit = 64, 1 << 13
)

// schedule is the state of Coordinate. Vertices read it.
type schedule struct {
	// Window is the upper bound of the distances to send. Distances below Settled are final: no
	// later message can improve them.
	Window, Settled float64
	// Far is the end of the histogram's range. The range begins at Settled.
	Far float64
	// Reached is the number of reached vertices, and ReachedEdges the number of their edges. Hubs
	// is set when ReachedEdges passes half of all edges: it tells whether few vertices have them.
	Reached, ReachedEdges int64
	Hubs                  bool
	// Gain is the expected degree of the vertices that one message improves. Announced is the
	// number of messages sent.
	Gain      float64
	Announced int64
	// Limit is the upper limit of the intended edges. It is halved if messages crossed more than
	// twice as many edges as the vertices that they reached for the first time have (road networks).
	Limit float64
	// Sent and Found are these numbers of edges since the last review of the limit.
	Sent, Found int64
}

// waveReport has what the vertices report to Coordinate.
type waveReport struct {
	// Least is the least distance that was sent or is waiting.
	Least float64
	// Reached is the number of vertices reached for the first time, and ReachedEdges the number of
	// their edges.
	Reached, ReachedEdges int64
	// Better is the number of edges of the vertices whose distance fell.
	Better int64
	// Far is the number of edges of the waiting vertices beyond the histogram.
	Far int64
	// Waiting has the edges of the waiting vertices, and Announced those of the vertices that sent,
	// by distance from Settled.
	Waiting, Announced histogram
}

var start = schedule{Window: math.Inf(1), Far: math.Inf(1), Gain: firstGain, Limit: math.Inf(1)}

var (
	wave = pregel.NewAggregator("wave", func() schedule { return start },
		func(a, _ schedule) schedule { return a }).Persistent().Unreported()
	reports = pregel.NewAggregator("front",
		func() waveReport { return waveReport{Least: math.Inf(1)} }, mergeReports).Unreported()
)

// waveTraits are the traits of SSSP and SSSPTree. Monotone: a distance that is not shorter has no
// effect. Asynchronous: messages may arrive in any order.
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

// turn is what a vertex does in a superstep.
type turn uint8

const (
	waits    turn = iota // the distance is beyond the window: wait
	sends                // send it to the neighbours, and halt
	rests                // nothing new to send: halt
	finishes             // nothing new to send, and the distance is final
)

// turnOf decides what a vertex at distance d does. changed: the distance fell since the vertex last
// sent it.
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

// shorter counts a vertex whose distance fell. before is the distance that it had.
func (f *waveReport) shorter(before float64, edges int) {
	f.Better += int64(edges)
	if math.IsInf(before, 1) {
		f.Reached++
		f.ReachedEdges += int64(edges)
	}
}

// announce counts a distance that is sent along a number of edges. hold counts a distance that
// waits.
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

// histogram counts by the logarithm of a distance, with eight buckets per octave, from 2^-40 to
// 2^24.
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

// advance sets the window of the coming superstep. The window is the distance below which the edges
// of two kinds of vertices add up to the intended number: of waiting vertices, and of vertices that
// the messages in flight are expected to improve.
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
		p.Gain = 0 // messages in flight improve only vertices beyond the window
	case p.Announced > 0:
		p.Gain = min(2*float64(f.Better)/float64(p.Announced), firstGain)
	}
	target := max(fraction*edges, waveMinimum)
	p.Sent, p.Found = p.Sent+p.Announced, p.Found+f.ReachedEdges
	if c.Superstep%review == 0 {
		switch {
		case p.Sent > 2*p.Found:
			p.Limit = max(min(p.Limit, target)/2, leastLimit)
		case 2*p.Sent < 3*p.Found:
			p.Limit *= 2
		}
		p.Sent, p.Found = 0, 0
	}
	target = min(target, p.Limit)
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
	// Despite rounding, the nearest waiting vertex must be in the window.
	window = max(window, math.Nextafter(p.Settled, math.Inf(1)))
	p.Window, p.Announced = window, announced
	switch {
	case !math.IsInf(window, 1):
		p.Far = p.Settled + lookahead*(window-p.Settled)
	case f.Far > 0: // too few in the histogram: send all of it; the next histogram has no limit
		p.Window, p.Far = p.Far, math.Inf(1)
	}
	wave.Replace(c, p)
}
