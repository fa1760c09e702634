package history

import (
	"slices"
	"time"
)

// TimeLeft estimates how long a run takes until its limit of supersteps, by the median of the
// newest supersteps' times: a run in which long and short supersteps take turns is expected to take
// their mean. The zero value has seen no superstep.
type TimeLeft struct {
	newest [8]float64 // seconds; the i-th superstep seen is at i mod 8
	seen   int
	done   int // supersteps of the run
	ended  time.Time
}

// leastSeen is how many supersteps it takes to tell: the first ones are of their own kind.
const leastSeen = 3

// Add takes in a superstep by its number in the run, which has ended at a time after so many
// seconds.
func (t *TimeLeft) Add(superstep int, seconds float64, ended time.Time) {
	t.newest[t.seen%len(t.newest)] = seconds
	t.seen++
	t.done, t.ended = superstep+1, ended
}

// Done is how many supersteps the run has behind it.
func (t *TimeLeft) Done() int { return t.done }

// Seconds returns how long it takes from now to the end of superstep limit-1, at most as it seems:
// the run may end before. It is 0 if there is no limit, or nothing to go by, or no superstep left.
func (t *TimeLeft) Seconds(limit int, now time.Time) float64 {
	left := limit - t.done
	if limit <= 0 || left <= 0 || t.seen < leastSeen {
		return 0
	}
	times := slices.Clone(t.newest[:min(t.seen, len(t.newest))])
	slices.Sort(times)
	n := len(times)
	median := (times[(n-1)/2] + times[n/2]) / 2
	// that the superstep under way has taken: one that takes longer is about to end
	under := min(max(now.Sub(t.ended).Seconds(), 0), median)
	return median*float64(left) - under
}
