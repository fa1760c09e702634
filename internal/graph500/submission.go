package graph500

import (
	"fmt"
	"slices"
)

// Requirements of the specification for a submission.
const (
	officialEdgeFactor = 16
	officialRoots      = 64
	officialSeed1      = 2
	officialSeed2      = 3
	// toyScale is the SCALE of the smallest class of problems.
	toyScale = 26
)

// SubmissionIssues returns the reasons why a run would not count as a submission to the Graph500
// list, one sentence each. It is advice: the run may be just as intended.
func SubmissionIssues(r Report) []string {
	var issues []string
	say := func(format string, args ...any) {
		issues = append(issues, fmt.Sprintf(format, args...))
	}
	if r.EdgeFactor != officialEdgeFactor {
		say("The edge factor is %d; a submission needs %d.", r.EdgeFactor, officialEdgeFactor)
	}
	if n := len(r.Roots); n < officialRoots {
		say("Search roots: %d; a submission needs %d, unless the graph has fewer vertices with an edge.", n, officialRoots)
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(r.Roots)))); n < len(r.Roots) {
		say("Only %d of the %d search roots are distinct; a submission needs distinct roots.", n,
			len(r.Roots))
	}
	switch {
	case r.Valid == nil:
		say("The results were not validated; a submission needs every search validated.")
	case !*r.Valid:
		say("A search did not pass validation.")
	}
	if r.Scale < toyScale {
		say("SCALE %d is below %d, the smallest problem class of the list (toy).",
			r.Scale, toyScale)
	}
	if r.Seeds != [2]uint64{officialSeed1, officialSeed2} {
		say("The generator's seeds are %d and %d; the reference's are %d and %d.", r.Seeds[0],
			r.Seeds[1], officialSeed1, officialSeed2)
	}
	return issues
}
