package bsp

import (
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/delivery"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/pregel"
)

// GridError is the error for a feature that a grid with both sides above 1 does not support.
type GridError string

func (e GridError) Error() string { return string(e) }

// Unwrap returns pregel.ErrGrid.
func (GridError) Unwrap() error { return pregel.ErrGrid }

// forced returns the delivery that the options, the program and the grid force, or ChooseAuto.
func forced(p *Program, o *Options, f *Facts) (delivery.Choice, error) {
	what, list := "combiner "+p.Combiner, p.List
	if list {
		what = "a list program"
	}
	flat := f.Load.Grid.Flat()
	use := graph.Of(f.Partitions) // the flat grid to recommend
	ordered := o.Deterministic && f.Ordered
	switch d := o.Delivery; {
	case ordered && !flat:
		return 0, GridError(fmt.Sprintf("a deterministic run with %s is not possible in a grid of %v: use a grid of %v", what, f.Load.Grid, use))
	case ordered && d != delivery.ChooseAuto && !d.Allows(delivery.Pull):
		// Only a pull combines the messages of a vertex in the order of their senders.
		return 0, fmt.Errorf("a deterministic run with %s must pull: delivery %v is not possible",
			what, d)
	case ordered && o.Uncombined:
		return 0,
			fmt.Errorf("a deterministic run with %s must pull: messages cannot be uncombined", what)
	case ordered:
		return delivery.ChoosePull, nil
	case flat && o.Uncombined:
		return delivery.ChooseNaive, nil
	// in a flat grid a row has one block
	case flat && (d == delivery.ChooseRingPull || d == delivery.ChooseBlockPull):
		return delivery.ChoosePull, nil
	case flat:
		return d, nil
	case d == delivery.ChooseNaive || d == delivery.ChooseMirrored || d == delivery.ChooseLalp:
		return 0, GridError(fmt.Sprintf("delivery %v is not possible in a grid of %v: use push, or a grid of %v", d, f.Load.Grid, use))
	case list && d != delivery.ChooseAuto && d != delivery.ChoosePush:
		return 0, GridError(fmt.Sprintf("%s always pushes in a grid of %v: for delivery %v use a grid of %v", what, f.Load.Grid, d, use))
	case d == delivery.ChooseRingPull && !f.Load.AnyOne:
		if o.Deterministic {
			return 0, errors.New("delivery ring takes any one message, but a deterministic run must always take the same: use delivery pull")
		}
		return 0, fmt.Errorf("delivery ring takes any one message, which is not enough for %s: use delivery pull", what)
	case list || o.Uncombined:
		return delivery.ChoosePush, nil
	}
	return o.Delivery, nil
}

// rates returns the rates of all processes together.
func rates(facts []*Facts) delivery.Rates {
	var each []delivery.Rates
	var loads []*delivery.Load
	for _, f := range facts {
		each, loads = append(each, f.Rates), append(loads, &f.Load)
	}
	return delivery.Slowest(each, loads)
}
