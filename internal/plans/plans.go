// Package plans is the form in which package plan gives a plan of phases to the engine.
package plans

import (
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Kind is what a step does with its plans.
type Kind uint8

const (
	Sequence Kind = iota // run them one after the other
	Phase                // there are none: run a program
	Repeat               // run them, one after the other, until a condition holds
	Choose               // run the first if a condition holds, else the second
)

// Step is a plan.
type Step struct {
	Kind  Kind
	Phase kernel.Erased[pregel.VertexID] // of a Phase
	Test  func(*Round) bool
	Plans []Step
	Err   error // what is wrong with it
}

// Round is plan.Round.
type Round struct {
	Number     int
	Supersteps int
	Totals     pregel.Context
}

// Count returns the number of phases.
func (p *Step) Count() int {
	n := 0
	if p.Kind == Phase {
		n = 1
	}
	for i := range p.Plans {
		n += p.Plans[i].Count()
	}
	return n
}
