package engine

import "github.com/superstep-go/superstep/internal/bitmap"

// skipAbsent has the vertices that were removed from the graph take no part in a run: they are finished. It returns their number.
func (r *runner[V, M]) skipAbsent() int {
	for w, absent := range r.part.Absent {
		r.active[w] &^= absent
		r.finished[w] |= absent
	}
	n := bitmap.Count(r.part.Absent)
	r.report.Unfinished -= n
	return n
}
