// Package plans has the plan of phases in the form that the engine runs. Package plan makes it.
package plans

import (
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Kind is the kind of a step.
type Kind uint8

const (
	Sequence Kind = iota // run Plans one after the other
	Phase                // run the program Phase
	Repeat               // run Plans one after the other, repeatedly, until the condition holds
	Choose               // run the first plan if the condition holds, else the second
)

// Step is a node in the tree of a plan.
type Step struct {
	Kind  Kind
	Phase kernel.Erased[pregel.VertexID] // the program of a Phase
	Test  func(*Round) bool
	Plans []Step
	Err   error // an error in the plan, or nil
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
