package delivery

import "fmt"

// Scheme is how a superstep goes through the four phases expand, traverse, fold, compute. Flat
// grids, of which one side is 1, have Naive, Mirrored and Pull; grids with both sides above 1 have
// Pull, Push and RingPull.
type Scheme uint8

const (
	None     Scheme = iota // nothing was sent to neighbours
	Naive                  // push over the senders' own edges, fold to owners; top-down
	Mirrored               // expand, push over the received senders' local edges
	// expand, pull along the receivers' edges; with both sides above 1 a block pull: the whole
	// block at once, then fold
	Pull
	Push // expand, push through the block, fold; 2D top-down (Ueno11)
	// expand, pull by sub-steps, each without the vertices found before, fold; 2D bottom-up
	// (Nakao20, 3.5)
	RingPull
	schemes
)

var schemeNames = []string{"none", "naive", "mirrored", "pull", "push", "ring"}

func (s Scheme) String() string { return schemeNames[s] }

// Direction returns whether the scheme pushes or pulls.
func (s Scheme) Direction() string {
	return []string{"none", "push", "push", "pull", "push", "pull"}[s]
}

// Choice is the delivery that a user asked for.
type Choice uint8

const (
	ChooseAuto      Choice = iota // the model decides, every superstep
	ChoosePush                    // the best push there is
	ChooseNaive                   // push over own out-edges
	ChooseMirrored                // push over received senders' edges
	ChoosePull                    // the best pull there is
	ChooseBeamer                  // Beamer 2012's rule, to compare with
	ChooseBlockPull               // block pull: the whole block at once; in a flat grid ChoosePull
	// ring pull: by sub-steps along the row (Nakao20, 3.5); in a flat grid ChoosePull
	ChooseRingPull
)

var choices = []string{"auto", "push", "naive", "mirrored", "pull", "beamer", "whole", "ring"}

// ChoiceWords are the choices that users are offered, of which ParseChoice reads some more; the
// first is usual.
var ChoiceWords = []string{"auto", "push", "naive", "mirrored", "pull", "whole", "ring"}

// Valid reports whether there is such a choice.
func (c Choice) Valid() bool { return int(c) < len(choices) }

func (c Choice) String() string { return choices[c] }

// ParseChoice reads auto, push, naive, mirrored, pull, whole, ring or beamer.
func ParseChoice(s string) (Choice, error) {
	for i, name := range choices {
		if s == name {
			return Choice(i), nil
		}
	}
	return 0,
		fmt.Errorf("found %q, expected auto, push, naive, mirrored, pull, whole, ring or beamer", s)
}

// Allows reports whether a scheme may be chosen.
func (c Choice) Allows(s Scheme) bool {
	switch c {
	case ChoosePush:
		return s == Naive || s == Mirrored || s == Push
	case ChooseNaive:
		return s == Naive
	case ChooseMirrored:
		return s == Mirrored
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
