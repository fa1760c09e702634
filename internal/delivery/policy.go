package delivery

import "math"

// Policy chooses the scheme of each superstep: the fastest one by the model's prediction, corrected
// by what supersteps took before. A prediction is the fixed cost of a superstep, and the scheme's
// work times a factor; both are learnt.
type Policy struct {
	Force Choice
	Rates Rates
	// Room, if not nil, reports whether there is memory for so many messages that are pushed one by
	// one: else they are pulled.
	Room func(messages int) bool

	// Predicted and Chosen are of the last decision.
	Predicted Costs
	Chosen    Scheme

	work   Costs            // before corrections
	factor [schemes]float64 // measured over predicted time of the work; 0 before the first
	most   [schemes]float64 // the largest work done, before corrections
	// seconds of a superstep in which there is next to no work, whatever the scheme
	fixed   float64
	known   bool // fixed has been measured
	pulling bool // state of Beamer's rule: the last superstep was pulled
	before  int  // and had so many senders
}

// Choose returns the scheme for a load.
func (p *Policy) Choose(l *Load) Scheme {
	p.work = p.Rates.Predict(l)
	for s := range p.work {
		p.Predicted[s] = p.fixed + p.learnt(Scheme(s))*p.work[s]
	}
	p.Chosen = p.best()
	if p.Room != nil && p.Chosen != Pull && p.Force.Allows(Pull) && l.Grid.Flat() &&
		!p.Room(l.SenderEdges) {
		p.Chosen = Pull
	}
	if p.Force == ChooseBeamer {
		p.Chosen = p.beamer(l)
	}
	return p.Chosen
}

// best returns the scheme of the least predicted time among those allowed.
func (p *Policy) best() Scheme {
	best := None
	for s := Naive; s < schemes; s++ {
		if p.Force.Allows(s) && (best == None || p.Predicted[s] < p.Predicted[best]) {
			best = s
		}
	}
	return best
}

// beamerAlpha and beamerBeta are the rule's two numbers, as Beamer found them.
const beamerAlpha, beamerBeta = 14, 24

// beamer is the rule of Beamer 2012: pull once the senders' edges exceed 1/14 of those of the
// unfinished, push again once the senders are fewer than 1/24 of the vertices and their number
// falls.
func (p *Policy) beamer(l *Load) Scheme {
	switch {
	case !p.pulling && l.SenderEdges*beamerAlpha > l.UnfinishedEdges:
		p.pulling = true
	case p.pulling && l.Senders*beamerBeta < l.Vertices && l.Senders < p.before:
		p.pulling = false
	}
	p.before = l.Senders
	switch {
	case p.pulling && !l.Grid.Flat() && l.AnyOne:
		return RingPull
	case p.pulling:
		return Pull
	case !l.Grid.Flat():
		return Push
	default:
		return Naive
	}
}

// learnt is the factor of a scheme's work. One that was not tried is taken to be off as those that
// were, in the mean of their logarithms: the model is mostly wrong about the machine, which is
// busy, or has fewer cores than the workers have threads.
func (p *Policy) learnt(s Scheme) float64 {
	if f := p.factor[s]; f != 0 {
		return f
	}
	sum, tried := 0.0, 0.0
	for _, f := range p.factor {
		if f != 0 {
			sum, tried = sum+math.Log(f), tried+1
		}
	}
	return math.Exp(sum / max(tried, 1))
}

// noise is the time in seconds below which a delivery says nothing of its scheme.
const noise = 50e-6

// Learn corrects the predictions by the seconds that the chosen delivery took: the fixed cost and
// the scheme's factor, each by its part in the prediction, half way to what would have been right
// and within bounds, since one superstep on a busy machine must not decide. A superstep that has
// twice as much to do as any of its scheme before is the first to touch some memory, which takes
// several times as long: that it is slow says half as much of the next ones. And where the fixed
// cost is much of the time, it is that which varies.
func (p *Policy) Learn(took float64) {
	s := p.Chosen
	if s == None || took <= 0 || math.IsInf(p.work[s], 1) {
		return
	}
	work := p.learnt(s) * p.work[s]
	larger := p.work[s] > 2*p.most[s]
	p.most[s] = max(p.most[s], p.work[s])
	if !p.known && work < noise {
		p.fixed, p.known = max(took-work, took/4), true
		return
	}
	predicted := p.fixed + work
	if predicted <= 0 {
		return
	}
	off := min(max(math.Log(took/predicted)/2, -mostLearnt), mostLearnt)
	if larger && off > 0 {
		off /= 2
	}
	if work < noise { // what it took says how much else there was to do
		p.fixed *= math.Exp(off)
		return
	}
	part := work / predicted
	p.fixed *= math.Exp(off * (1 - part))
	if took >= noise {
		p.factor[s] = min(max(p.learnt(s)*math.Exp(off*part*part), leastFactor), 1/leastFactor)
	}
}

// mostLearnt is the largest change of the logarithm of a coefficient by one superstep, and
// leastFactor the least factor of a scheme.
const mostLearnt, leastFactor = 0.5, 0.25

// Begin starts a run: what was learnt in the runs before it is kept.
func (p *Policy) Begin() { p.pulling, p.before, p.Chosen = false, 0, None }
