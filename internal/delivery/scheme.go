package delivery

import (
	"fmt"
	"slices"
)

// Scheme is how a superstep delivers messages in its phases expand, traverse, fold and compute
// (docs/design.md, Schemes). Flat grids use Naive, Mirrored, Lalp and Pull; 2D grids use Pull, Push
// and RingPull.
type Scheme uint8

const (
	None     Scheme = iota // nothing was sent to neighbours
	Naive                  // push along the senders' own edges, fold; top-down
	Mirrored               // expand, push along the local edges of received senders
	// The first vertices of each partition, the hubs, as Mirrored; the others as Naive (GPS; Ueno13,
	// 7; docs/design/lalp.md).
	Lalp
	// Expand, pull along the receivers' edges. In a 2D grid it is a block pull: each block searches
	// all its rows at once; then fold.
	Pull
	Push // expand, push within the block, fold; 2D top-down (Ueno11)
	// Expand, then pull in sub-steps; each sub-step omits vertices that already have a message;
	// fold. 2D bottom-up (Nakao20, 3.5).
	RingPull
	schemes
)

var schemeNames = []string{"none", "naive", "mirrored", "lalp", "pull", "push", "ring"}

func (s Scheme) String() string { return schemeNames[s] }

// Direction returns whether the scheme pushes or pulls.
func (s Scheme) Direction() string {
	return []string{"none", "push", "push", "push", "pull", "push", "pull"}[s]
}

// Choice is the user's choice of schemes.
type Choice uint8

const (
	ChooseAuto      Choice = iota // the cost model chooses in each superstep
	ChoosePush                    // the fastest push
	ChooseNaive                   // push along the senders' own out-edges
	ChooseMirrored                // push along the edges of received senders
	ChoosePull                    // the fastest pull
	ChooseBeamer                  // the rule of Beamer 2012, for comparison
	ChooseBlockPull               // block pull in a 2D grid; in a flat grid the same as ChoosePull
	// ring pull in a 2D grid (Nakao20, 3.5); in a flat grid the same as ChoosePull
	ChooseRingPull
	ChooseLalp // hubs as ChooseMirrored, other vertices as ChooseNaive
)

var choices = []string{"auto", "push", "naive", "mirrored", "pull", "beamer", "whole", "ring", "lalp"}

// ChoiceWords has the choices offered to users; the first is the default. ParseChoice also accepts
// beamer.
var ChoiceWords = []string{"auto", "push", "naive", "mirrored", "lalp", "pull", "whole", "ring"}

func (c Choice) Valid() bool { return int(c) < len(choices) }

func (c Choice) String() string { return choices[c] }

// ParseChoice reads a name of choices.
func ParseChoice(s string) (Choice, error) {
	if i := slices.Index(choices, s); i >= 0 {
		return Choice(i), nil
	}
	return 0,
		fmt.Errorf("found %q, expected auto, push, naive, mirrored, lalp, pull, whole, ring or beamer", s)
}

// Allows reports whether the choice permits a scheme.
func (c Choice) Allows(s Scheme) bool {
	switch c {
	case ChoosePush:
		return s == Naive || s == Mirrored || s == Lalp || s == Push
	case ChooseNaive:
		return s == Naive
	case ChooseMirrored:
		return s == Mirrored
	case ChooseLalp:
		return s == Lalp
	case ChoosePull:
		return s == Pull || s == RingPull
	case ChooseBlockPull:
		return s == Pull
	case ChooseRingPull:
		return s == RingPull
	default:
		return true
	}
}
