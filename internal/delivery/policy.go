package delivery

import "math"

// Policy chooses the scheme of each superstep: the fastest by the cost model. It corrects the model
// by the times of earlier supersteps. A prediction is the fixed cost of a superstep plus the
// scheme's predicted work times a factor. The fixed cost and the factors are learnt.
type Policy struct {
	Force Choice
	Rates Rates
	// Room, if not nil, reports whether there is enough memory for this number of messages if they
	// are pushed one by one. If not, the superstep pulls.
	Room func(messages int) bool

	// Predicted and Chosen describe the last decision.
	Predicted Costs
	Chosen    Scheme
	Hubs      int // words of each partition that have the hubs of Lalp
	Degree    int // of the last hub

	work   Costs            // predictions before corrections
	factor [schemes]float64 // measured over predicted time of the work; 0 if not known
	most   [schemes]float64 // the largest work so far, before corrections
	// seconds of a superstep without work, in any scheme
	fixed   float64
	known   bool // whether fixed has been measured
	pulling bool // state of Beamer's rule: the last superstep pulled
	before  int  // state of Beamer's rule: the number of senders in the last superstep
}

func (p *Policy) Choose(l *Load) Scheme {
	p.work = p.Rates.Predict(l)
	for s := range p.work {
		p.Predicted[s] = p.fixed + p.learnt(Scheme(s))*p.work[s]
	}
	p.Chosen = None
	for s := Naive; s < schemes; s++ {
		if p.Force.Allows(s) && (p.Chosen == None || p.Predicted[s] < p.Predicted[p.Chosen]) {
			p.Chosen = s
		}
	}
	if p.Room != nil && p.Chosen != Pull && p.Force.Allows(Pull) && l.Grid.Flat() &&
		!p.Room(l.SenderEdges) {
		p.Chosen = Pull
	}
	if p.Force == ChooseBeamer {
		p.Chosen = p.beamer(l)
	}
	if p.Chosen == Lalp {
		_, k := p.Rates.lalp(l)
		p.Hubs, p.Degree = 1<<k, l.Hubs[k].Degree
	}
	return p.Chosen
}

// beamerAlpha and beamerBeta are the parameters alpha and beta of Beamer 2012.
const beamerAlpha, beamerBeta = 14, 24

// beamer implements the rule of Beamer 2012. It changes to pull when the senders' edges exceed 1/14
// of the unfinished vertices' edges. It changes back to push when the senders are fewer than 1/24
// of the vertices and fewer than before.
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

// learnt returns the factor of a scheme's work. For a scheme that has not been used, it is the
// geometric mean of the known factors. The reason: the model is mostly wrong about the machine,
// which may be busy, or have fewer cores than the workers have threads. Such an error is common to
// all schemes.
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

// noise is the least time in seconds of a delivery that counts as a measurement of its scheme.
const noise = 50e-6

// Learn corrects the fixed cost and the chosen scheme's factor by the time that the delivery took.
// The correction is half the logarithm of the error. Each gets its part of the prediction. The
// factor's part is squared, because if the fixed cost is much of the time, the fixed cost varies.
// The correction is bounded, because one superstep on a busy machine must not decide.
//
// If a superstep has more than twice the work of any earlier one of its scheme, it is the first to
// touch some memory, which takes several times as long. So if it is slow, it counts half.
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
	if work < noise { // the measured time consists mostly of the fixed cost
		p.fixed *= math.Exp(off)
		return
	}
	part := work / predicted
	p.fixed *= math.Exp(off * (1 - part))
	if took >= noise {
		p.factor[s] = min(max(p.learnt(s)*math.Exp(off*part*part), leastFactor), 1/leastFactor)
	}
}

// mostLearnt bounds the change of a coefficient's logarithm in one superstep. leastFactor and its
// inverse bound a scheme's factor.
const mostLearnt, leastFactor = 0.5, 0.25

// Begin starts a run. Learnt corrections of earlier runs remain.
func (p *Policy) Begin() { p.pulling, p.before, p.Chosen = false, 0, None }
