package delivery

import (
	"fmt"
	"slices"
)

// Scheme is a way through the four phases expand, traverse, fold, compute. Flat grids, of which one side is 1, offer the
// first three; Pull is also one of the others'.
type Scheme uint8

const (
	None     Scheme = iota // nothing was sent to neighbours
	Naive                  // push over the senders' own edges, fold to owners; top-down
	Mirrored               // expand, push over the received senders' local edges
	Pull                   // expand, pull over the receivers' own edges, bottom-up; of a block with ghosts too, then fold
	Push                   // expand, push through the block, fold; 2D top-down
	Ring                   // expand, pull by sub-steps, each without those found before, fold; 2D bottom-up
	schemes
)

var schemeNames = []string{"none", "naive", "mirrored", "pull", "push", "ring"}

func (s Scheme) String() string { return schemeNames[s] }

// ParseScheme reads the name of a scheme; what a later version has is none.
func ParseScheme(name string) Scheme {
	return Scheme(max(slices.Index(schemeNames, name), 0))
}

// Direction returns whether the scheme pushes or pulls.
func (s Scheme) Direction() string {
	return []string{"none", "push", "push", "pull", "push", "pull"}[s]
}

// Choice is what a user may force.
type Choice uint8

const (
	ChooseAuto     Choice = iota // the model decides, every superstep
	ChoosePush                   // the best push there is
	ChooseNaive                  // push over own out-edges
	ChooseMirrored               // push over received senders' edges
	ChoosePull                   // the best pull there is
	ChooseBeamer                 // Beamer's rule, the yardstick
	ChooseWhole                  // pull, in a grid that is not flat of the whole block at once
	ChooseRing                   // pull, in a grid that is not flat by sub-steps
)

var choices = []string{"auto", "push", "naive", "mirrored", "pull", "beamer", "whole", "ring"}

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
	return 0, fmt.Errorf("found %q, expected auto, push, naive, mirrored, pull, whole, ring or beamer", s)
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
		return s == Pull || s == Ring
	case ChooseWhole:
		return s == Pull
	case ChooseRing:
		return s == Ring
	default:
		return true
	}
}
