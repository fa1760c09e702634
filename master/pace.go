package master

import (
	"cmp"
	"maps"
	"slices"

	supersteps "github.com/superstep-go/superstep/record"
)

// A worker is slow if a unit of work, an edge walked or a vertex run, takes it slowFactor times as
// long as the median of the others, in slowSteps supersteps in a row and for so long as
// rules.slowFor: seconds a unit, so that a worker with the larger part of the graph is not taken
// for a slow one. Supersteps in which nobody works for leastWork tell nothing.
const (
	slowFactor = 2
	slowSteps  = 8
	leastWork  = 1e-3 // seconds
)

// pace finds the slow worker of an attempt by the records of its supersteps.
type pace struct {
	threads map[string]int // of each worker
	// Of workers that were slow in the last superstep that told something.
	slow map[string]*streak
	work map[string]*worked // in the superstep that is looked at
}

// worked is what a worker did in a superstep.
type worked struct{ longest, sum, units float64 }

// seconds is how long the worker worked: its partitions run at the same time, as far as it has
// threads.
func (w *worked) seconds(threads int) float64 { return max(w.longest, w.sum/max(float64(threads), 1)) }

// streak sums up supersteps in a row in which a worker was slow.
type streak struct {
	steps    int
	seconds  float64 // that they took
	busy     float64 // of these, the worker's own work
	expected float64 // that its work would have taken one of the others
	all      float64 // that the work of all workers would have taken one of the others
	units    float64 // of work, of all workers
}

func newPace(threads map[string]int) *pace {
	return &pace{threads: threads, slow: map[string]*streak{}, work: map[string]*worked{}}
}

// observe takes the record of the next superstep.
func (p *pace) observe(r *supersteps.Superstep) {
	clear(p.work)
	for i := range r.Partitions {
		x := &r.Partitions[i]
		w := p.work[x.Worker]
		if w == nil {
			w = &worked{}
			p.work[x.Worker] = w
		}
		busy := x.Times.Traverse + x.Times.Compute
		w.longest, w.sum, w.units = max(w.longest, busy), w.sum+busy,
			w.units+float64(x.Walked+x.Computed)
	}
	units, longest := 0.0, 0.0
	for name, w := range p.work {
		units, longest = units+w.units, max(longest, w.seconds(p.threads[name]))
	}
	if len(p.work) < 2 || longest < leastWork {
		return
	}
	for name, w := range p.work {
		rate := p.othersRate(name)
		expected, busy := w.units*rate, w.seconds(p.threads[name])
		if expected == 0 || busy < slowFactor*expected {
			delete(p.slow, name)
			continue
		}
		s := p.slow[name]
		if s == nil {
			s = &streak{}
			p.slow[name] = s
		}
		s.steps, s.seconds, s.busy, s.expected = s.steps+1, s.seconds+r.Seconds, s.busy+busy,
			s.expected+expected
		s.all, s.units = s.all+units*rate, s.units+units
	}
}

// othersRate is the median of the seconds that a unit of work took the workers but one, the slower
// of the two in the middle; 0 if they did nothing.
func (p *pace) othersRate(but string) float64 {
	var rates []float64
	for name, w := range p.work {
		if name != but && w.units > 0 {
			rates = append(rates, w.seconds(p.threads[name])/w.units)
		}
	}
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// straggler is a worker that is slow. What it has is of a superstep, in the mean.
type straggler struct {
	worker  string
	steps   int     // in which it was seen to be slow
	seconds float64 // that all of these took
	factor  float64 // how many times as long as the others it takes for the same work
	busy    float64 // seconds that it works
	all     float64 // seconds that the work of all workers would take one of the others
	unit    float64 // seconds that a superstep takes for a unit of work of all workers
}

// straggler returns the slowest of the workers that have been slow for so many seconds, or nil.
func (p *pace) straggler(seconds float64) *straggler {
	var found *straggler
	for _, name := range slices.Sorted(maps.Keys(p.slow)) {
		s := p.slow[name]
		if s.steps < slowSteps || s.seconds < seconds {
			continue
		}
		n := float64(s.steps)
		x := &straggler{
			worker: name, steps: s.steps, seconds: s.seconds, factor: s.busy / s.expected,
			busy: s.busy / n, all: s.all / n, unit: s.seconds / s.units,
		}
		if found == nil || cmp.Less(found.factor, x.factor) {
			found = x
		}
	}
	return found
}

// saved is how many seconds a run takes less on so many of the other workers, over so many
// supersteps.
func (s *straggler) saved(workers, supersteps int) float64 {
	return (s.busy - s.all/float64(workers)) * float64(supersteps)
}
