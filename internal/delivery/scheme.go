package delivery

import "fmt"

// Scheme is a way through the four phases expand, traverse, fold, compute that a 1D grid offers.
type Scheme uint8

const (
	None     Scheme = iota // nothing was sent to neighbours
	Naive                  // push over the senders' own edges, fold to owners; top-down
	Mirrored               // expand, push over the received senders' local edges
	Pull                   // expand, pull over the receivers' own edges; bottom-up
	schemes
)

var schemeNames = []string{"none", "naive", "mirrored", "pull"}

func (s Scheme) String() string { return schemeNames[s] }

// Direction returns whether the scheme pushes or pulls.
func (s Scheme) Direction() string {
	return []string{"none", "push", "push", "pull"}[s]
}

// Choice is what a user may force.
type Choice uint8

const (
	ChooseAuto     Choice = iota // the model decides, every superstep
	ChoosePush                   // the best push there is
	ChooseNaive                  // push over own out-edges
	ChooseMirrored               // push over received senders' edges
	ChoosePull                   // pull
	ChooseBeamer                 // Beamer's rule, the yardstick
)

var choices = []string{"auto", "push", "naive", "mirrored", "pull", "beamer"}

func (c Choice) String() string { return choices[c] }

// ParseChoice reads auto, push, naive, mirrored, pull or beamer.
func ParseChoice(s string) (Choice, error) {
	for i, name := range choices {
		if s == name {
			return Choice(i), nil
		}
	}
	return 0, fmt.Errorf("found %q, expected auto, push, naive, mirrored, pull or beamer", s)
}

// Allows reports whether a scheme may be chosen.
func (c Choice) Allows(s Scheme) bool {
	switch c {
	case ChoosePush:
		return s == Naive || s == Mirrored
	case ChooseNaive:
		return s == Naive
	case ChooseMirrored:
		return s == Mirrored
	case ChoosePull:
		return s == Pull
	default:
		return true
	}
}
