package history

import (
	"slices"
	"time"
)

// TimeLeft estimates the time of a run until its limit of supersteps, from the median of the latest
// supersteps. If long and short supersteps alternate, that is about their mean. The zero value has
// no supersteps.
type TimeLeft struct {
	newest [8]float64 // seconds; the i-th superstep is at i mod 8
	seen   int
	done   int // supersteps of the run
	ended  time.Time
}

// leastSeen is the minimum number of supersteps for an estimate, because the first ones are
// atypical.
const leastSeen = 3

// Add adds a superstep, given by its number, duration and end.
func (t *TimeLeft) Add(superstep int, seconds float64, ended time.Time) {
	t.newest[t.seen%len(t.newest)] = seconds
	t.seen++
	t.done, t.ended = superstep+1, ended
}

// Done returns how many supersteps have ended.
func (t *TimeLeft) Done() int { return t.done }

// Seconds estimates the time from now to the end of superstep limit-1; the run may end earlier. It
// returns 0 if there is no limit, no estimate, or no superstep left.
func (t *TimeLeft) Seconds(limit int, now time.Time) float64 {
	left := limit - t.done
	if limit <= 0 || left <= 0 || t.seen < leastSeen {
		return 0
	}
	times := slices.Clone(t.newest[:min(t.seen, len(t.newest))])
	slices.Sort(times)
	n := len(times)
	median := (times[(n-1)/2] + times[n/2]) / 2
	// Time of the current superstep. If it exceeds the median, the superstep should end soon.
	under := min(max(now.Sub(t.ended).Seconds(), 0), median)
	return median*float64(left) - under
}
