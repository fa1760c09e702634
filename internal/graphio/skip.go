package graphio

import "github.com/superstep-go/superstep/internal/edges"

// mayLeave returns how many malformed lines may still be left out.
func (r *reader) mayLeave() int { return max(r.SkipBad-len(r.skipped), 0) }

// leaveOut notes the malformed lines of batches, those of a source, in their order, until they are
// more than may be left out: that line is the fault it returns. A rank whose lines alone are too
// many notes that one as well, and leaves it to all of them to tell which is the first too many.
func (r *reader) leaveOut(f *file, src source, from start, batches []batch) error {
	before, err := src.before()
	if err != nil {
		return err
	}
	lines := from.lines + before
	for i := range batches {
		for _, bad := range batches[i].bad {
			bad.file = f.path
			bad.line += lines
			left := r.mayLeave()
			if bad.fatal || left == 0 && !(r.partial && r.SkipBad > 0) {
				return r.tooManyBad(bad)
			}
			if r.skipped = append(r.skipped, bad.Error()); left == 0 {
				return nil
			}
		}
		lines += batches[i].lines
	}
	return nil
}

// tooManyBad is the fault of a line that may not be left out, where others were.
func (r *reader) tooManyBad(bad *fault) error {
	if r.SkipBad > 0 && !bad.fatal {
		bad.expected += " " + edges.TooManySkipped(r.SkipBad)
	}
	return bad
}
