package engine

import "github.com/superstep-go/superstep/internal/bitmap"

func (r *runner) listsTask(worker int) {
	t := r.threads[worker]
	defer r.recover(t)
	r.eachChunk(func(lo, hi int) bool {
		r.computeLists(t, lo, hi, false)
		return true
	})
}

// computeLists runs the vertices of words [lo, hi) that are awake or have messages: those that came one by one, and,
// in a pull, those of the in-neighbours.
func (r *runner) computeLists(t *thread, lo, hi int, pull bool) {
	t.BeginLists()
	for w := lo; w < hi; w++ {
		open := ^r.finished[w]
		if last := r.part.Owned - w<<6; last < 64 {
			open &= bitmap.Low(last)
		}
		run, received, sent, halted, finished, edges := t.Lists(w, open, r.active[w], pull)
		t.count.walked += edges
		r.ran(t, w, run, received, sent, halted, finished)
	}
	t.EndLists()
}

// tellComputing takes the program's part of a pull, in which gathering lists and running the program go by turns, from the time of
// traversing.
func (r *runner) tellComputing() {
	var gathering, running float64
	for _, t := range r.threads {
		g, s := t.ListTimes()
		gathering, running = gathering+g, running+s
	}
	if running > 0 {
		times := &r.report.Times
		computing := times.Traverse * running / (gathering + running)
		times.Traverse, times.Compute = times.Traverse-computing, times.Compute+computing
	}
}
