// Package plan composes programs: a plan says which programs run on a graph, one after the other, until the last has the answer.
//
// A program has a plan when it has the method
//
//	Plan() pregel.Plan
//
// Its phases run first, and then the program itself, whose values are the result. Each phase is a program of its own, with its own
// values, messages, combiner, direction and aggregators, and begins with superstep 0. What they share is property columns: one
// that several list in Columns keeps what a phase has set in it; it is zero when the run begins.
//
//	func (p Betweenness) Plan() pregel.Plan {
//		var all []pregel.Plan
//		for _, s := range p.Sources {
//			all = append(all, plan.Phase(forward{s}), plan.Phase(backward{}))
//		}
//		return plan.Sequence(all...)
//	}
//
//	func (Betweenness) Compute(v *pregel.Vertex[float64, float64], _ float64) { v.Set(centrality.Of(v)); v.VoteToHalt() }
//
// On a cluster the master and every worker ask the program for its plan, and must get the same. The supersteps of a run are
// counted through all its phases in reports, records and limits; a phase counts its own, from 0, and so do errors, which say what
// had run before. When the limit ends a run in a phase, the values are those at the beginning. A phase's aggregators are to be had
// in the condition that follows it, and the program's own after the run.
//
// A phase may change the graph (see pregel.Mutations): the phases after it, and the program itself, run on the graph that it leaves, as if
// it had been loaded so, and the result's graph is the one at the end. Columns follow: a vertex that is added has zero in all of them, and
// an edge takes its properties along. The next run begins with the loaded graph again.
//
// A column of edges lies as the lists of one direction do: phases of another direction cannot share it.
package plan

import (
	"errors"

	"github.com/superstep-go/superstep/internal/plans"
	"github.com/superstep-go/superstep/pregel"
)

// Round is what a condition sees of the phase that ran last.
type Round struct {
	// Number is the number of the round of the Repeat that asks, from 0.
	Number int
	// Supersteps is how many the phase took.
	Supersteps int
	// Totals are the aggregators of the phase that ran last: total.Value(r) of any other, or before the first phase, panics.
	pregel.Totals
}

// Phase is a plan that runs a program to its end.
func Phase[V, M any](p pregel.Program[V, M]) pregel.Plan {
	return made(plans.Step{Kind: plans.Phase, Phase: pregel.Erase(p)})
}

// Sequence runs plans one after the other.
func Sequence(all ...pregel.Plan) pregel.Plan { return made(plans.Step{Plans: steps(all)}) }

// Repeat runs plans one after the other, again and again, until the condition holds at the end of a round. It is asked where the
// run is driven, on a cluster by the master, and the run waits for it: it should not block.
func Repeat(until func(r *Round) bool, all ...pregel.Plan) pregel.Plan {
	p := plans.Step{Kind: plans.Repeat, Test: condition(until), Plans: steps(all)}
	if until == nil {
		p.Err = errors.New("plan.Repeat: the condition is nil")
	} else if p.Count() == 0 {
		p.Err = errors.New("plan.Repeat: there is no phase to repeat")
	}
	return made(p)
}

// Choose runs one of two plans, by a condition on the phase that ran last.
func Choose(holds func(r *Round) bool, then, otherwise pregel.Plan) pregel.Plan {
	p := plans.Step{Kind: plans.Choose, Test: condition(holds), Plans: steps([]pregel.Plan{then, otherwise})}
	if holds == nil {
		p.Err = errors.New("plan.Choose: the condition is nil")
	}
	return made(p)
}

func condition(f func(r *Round) bool) func(*plans.Round) bool {
	return func(r *plans.Round) bool { return f(&Round{r.Number, r.Supersteps, r.Totals}) }
}

func made(p plans.Step) pregel.Plan { return pregel.Engine{}.NewPlan(p) }

func steps(all []pregel.Plan) []plans.Step {
	list := make([]plans.Step, len(all))
	for i, p := range all {
		list[i], _ = pregel.Engine{}.Steps(p).(plans.Step)
	}
	return list
}
