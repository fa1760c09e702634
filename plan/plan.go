// Package plan composes programs: a plan is a list of programs that run on a graph, one after the
// other, in one run.
//
// A program has a plan if it has the method
//
//	Plan() pregel.Plan
//
// The phases of the plan run first. Then the program itself runs, and its values are the result.
//
//	phase 1 --columns--> phase 2 --columns--> ... --columns--> the program --> Result
//
// A phase is a program with its own values, messages, combiner, direction and aggregators. It
// begins with superstep 0. Phases share property columns: a column that several phases list in
// Columns keeps its values from phase to phase. It is zero when the run begins. A column of edges
// belongs to the lists of one direction, so phases of another direction cannot share it.
//
// Conditions ([Repeat], [Choose]) read the aggregators of the phase that ran last. The program's
// own aggregators are in the result.
//
// The master and every worker of a cluster call Plan, and must get the same plan. Reports, records
// and limits count the supersteps of all phases together. A phase and its errors count the phase's
// own supersteps. If the limit ends the run in a phase before the program, the result has the
// program's initial values.
//
// A phase may change the graph (see pregel.Traits). Later phases, and the program, run on the
// changed graph, and the result has it. In columns an added vertex has zero, and an edge keeps its
// properties. The next run begins with the loaded graph.
//
// plan.go is the whole package; internal/plans has the steps that the engine runs. The example of
// [Repeat] is a k-core in a few lines; algorithms/betweenness.go is a larger plan.
package plan

import (
	"errors"

	"github.com/superstep-go/superstep/internal/plans"
	"github.com/superstep-go/superstep/pregel"
)

// Round is the state after a phase, as a condition sees it. total.Value(r) returns the value of the
// aggregator total of that phase. It panics for an aggregator of another program, and before the
// first phase.
type Round struct {
	// Number is the number of the current round of the Repeat, from 0.
	Number int
	// Supersteps is the number of supersteps of the phase.
	Supersteps int
	totals
}

// totals are the aggregators of the phase that ran last.
type totals = pregel.Context

// Phase is a plan that runs a program to its end.
func Phase[V, M any](p pregel.Program[V, M]) pregel.Plan {
	return made(plans.Step{Kind: plans.Phase, Phase: pregel.Erase(p)})
}

// Sequence runs plans one after the other.
func Sequence(all ...pregel.Plan) pregel.Plan { return made(plans.Step{Plans: steps(all)}) }

// Repeat runs plans in sequence, over and over, until the condition holds at the end of a round.
// The condition runs in the process that drives the run, which is the master on a cluster. The run
// waits for it, so it should not block.
func Repeat(until func(r *Round) bool, all ...pregel.Plan) pregel.Plan {
	p := plans.Step{Kind: plans.Repeat, Test: condition(until), Plans: steps(all)}
	if until == nil {
		p.Err = errors.New("plan.Repeat: the condition is nil")
	} else if p.Count() == 0 {
		p.Err = errors.New("plan.Repeat: there is no phase to repeat")
	}
	return made(p)
}

// Choose runs one of two plans: then, if the condition holds for the phase that ran last, else
// otherwise.
func Choose(holds func(r *Round) bool, then, otherwise pregel.Plan) pregel.Plan {
	both := steps([]pregel.Plan{then, otherwise})
	p := plans.Step{Kind: plans.Choose, Test: condition(holds), Plans: both}
	if holds == nil {
		p.Err = errors.New("plan.Choose: the condition is nil")
	}
	return made(p)
}

func condition(f func(r *Round) bool) func(*plans.Round) bool {
	return func(r *plans.Round) bool { return f(&Round{r.Number, r.Supersteps, r.Totals}) }
}

func made(p plans.Step) pregel.Plan { return pregel.Plan{Steps: p} }

func steps(all []pregel.Plan) []plans.Step {
	list := make([]plans.Step, len(all))
	for i, p := range all {
		list[i], _ = p.Steps.(plans.Step)
	}
	return list
}
