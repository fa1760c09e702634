package graphio

import "github.com/superstep-go/superstep/internal/edges"

// mayLeave returns how many more malformed lines may be skipped.
func (r *reader) mayLeave() int { return max(r.SkipBad-len(r.skipped), 0) }

// leaveOut records the malformed lines of a source's batches in their order. It returns a fault for
// the first line that exceeds the limit. A rank that alone exceeds the limit records this line,
// too, because only all ranks together know which line is the first one too many.
func (r *reader) leaveOut(x textFile, src source, batches []batch) error {
	before, err := src.before()
	if err != nil {
		return err
	}
	lines := x.from.lines + before
	for i := range batches {
		for _, bad := range batches[i].bad {
			bad.file = x.f.path
			bad.line += lines
			left := r.mayLeave()
			if bad.fatal || left == 0 && !(r.partial && r.SkipBad > 0) {
				if r.SkipBad > 0 && !bad.fatal {
					bad.expected += " " + edges.TooManySkipped(r.SkipBad)
				}
				return bad
			}
			if r.skipped = append(r.skipped, bad.Error()); left == 0 {
				return nil
			}
		}
		lines += batches[i].lines
	}
	return nil
}
