package plan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/combiners"
	"github.com/superstep-go/superstep/plan"
	"github.com/superstep-go/superstep/pregel"
)

// wrongPlan has an invalid plan.
type wrongPlan struct {
	halving
	plan pregel.Plan
}

func (w wrongPlan) Plan() pregel.Plan { return w.plan }

type failing struct{ add }

func (failing) Compute(v *pregel.Vertex[int, bool], _ bool) { panic(fmt.Sprint("no ", v.ID())) }

// other has a combiner for another type than its messages.
type other struct{}

func (other) Compute(*pregel.Vertex[int, bool], bool) {}

var (
	cost   = pregel.NewEdgeColumn[int]("cost")
	halfAs = pregel.NewVertexColumn[float32]("half")
)

type costly struct{ direction pregel.Direction }

// halfOfEdges is an edge column with the name of a vertex column.
var halfOfEdges = pregel.NewEdgeColumn[int]("half")

type both struct{ add }

func (both) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{half, halfOfEdges}}
}

func TestColumnsOfVerticesAndEdgesHaveNamesOfTheirOwn(t *testing.T) {
	g, err := superstep.Load(t.Context(), "star:vertices=3", superstep.LoadOptions{})
	g = open(t, g, err)
	r, err := superstep.Run(t.Context(), g, wrongPlan{plan: plan.Phase(both{add{7}})})
	if err != nil || r.Value(1) != 7 {
		t.Errorf("found %v, %v, expected 7", r, err)
	}
}

func (costly) Combiner() pregel.Combiner[bool] { return combiners.Or() }
func (c costly) Traits() pregel.Traits {
	return pregel.Traits{Direction: c.direction, Columns: []pregel.Column{cost}}
}
func (costly) Compute(v *pregel.Vertex[int, bool], _ bool) { v.VoteToHalt() }

type twice struct{ add }

func (twice) Traits() pregel.Traits {
	return pregel.Traits{Columns: []pregel.Column{halfAs}}
}
func (twice) Compute(v *pregel.Vertex[int, bool], _ bool) { halfAs.Set(v, 1) }

// selfish contains itself as a phase of its plan.
type selfish struct{ add }

func (s selfish) Plan() pregel.Plan { return plan.Phase(s) }

func TestPlanOfItself(t *testing.T) {
	g, err := superstep.Load(t.Context(), "star:vertices=3", superstep.LoadOptions{})
	g = open(t, g, err)
	const want = "selfish: a phase must not have a plan: use plan.Sequence"
	if _, err := superstep.Run(t.Context(), g, selfish{}); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, expected %s", err, want)
	}
}

func TestPlanIsCancelled(t *testing.T) {
	g, err := superstep.Load(t.Context(), "star:vertices=3", superstep.LoadOptions{})
	g = open(t, g, err)
	ctx, cancel := context.WithCancel(t.Context())
	forever := wrongPlan{plan: plan.Repeat(func(r *plan.Round) bool {
		if r.Number == 20 {
			cancel()
		}
		return false
	}, plan.Phase(add{}))}
	const want = "wrongPlan: superstep 21: context canceled"
	if _, err := superstep.Run(ctx, g, forever); !errors.Is(err, context.Canceled) ||
		err.Error() != want {
		t.Errorf("the error is %v, expected %s", err, want)
	}
}

func TestWrongPlans(t *testing.T) {
	g, err := superstep.FromEdges(t.Context(), []superstep.Edge{{From: 0, To: 1}},
		superstep.LoadOptions{Directed: true})
	g = open(t, g, err)
	for want, p := range map[string]pregel.Plan{
		"plan.Repeat: the condition is nil": plan.Repeat(nil),
		"plan.Repeat: there is no phase to repeat": plan.Repeat(
			func(*plan.Round) bool { return false }, pregel.Plan{}),
		"wrongPlan: round 0 of plan.Repeat ran no phase: it would never end": plan.Repeat(
			func(*plan.Round) bool { return false },
			plan.Choose(func(*plan.Round) bool { return true }, pregel.Plan{}, plan.Phase(add{}))),
		"program wrongPlan, condition of plan.Choose, before any phase: aggregator most is not listed": plan.Choose(
			func(r *plan.Round) bool { return most.Value(r) > 0 }, plan.Phase(add{}),
			pregel.Plan{}),
		"wrongPlan: phase 2, after 1 supersteps: program failing, vertex 0, superstep 0: no 0": plan.Sequence(plan.Phase(add{}), plan.Phase(failing{})),
		"edge column cost: a phase of direction out has it, and this one is of direction in": plan.Sequence(
			plan.Phase(costly{pregel.Out}), plan.Phase(costly{pregel.In})),
		"two columns are named half": plan.Sequence(
			plan.Phase(add{}), plan.Phase(twice{})),
		"plan.Choose: the condition is nil": plan.Sequence(
			plan.Choose(nil, pregel.Plan{}, pregel.Plan{})),
		"halving: a phase must not have a plan: use plan.Sequence":      plan.Phase(halving{}),
		"program failing, vertex 0, superstep 0: no 0":                  plan.Phase(failing{}),
		"other: the method Combiner() pregel.Combiner[bool] is missing": plan.Phase(other{}),
		"program wrongPlan, condition of plan.Repeat: what": plan.Repeat(
			func(*plan.Round) bool { panic("what") }, plan.Phase(add{})),
	} {
		_, err := superstep.Run(t.Context(), g, wrongPlan{plan: p})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, expected %s", err, want)
		}
	}
}

// throwing panics in Plan.
type throwing struct{ halving }

func (throwing) Plan() pregel.Plan { panic("no plan") }

func TestPanicInPlan(t *testing.T) {
	g, err := superstep.Load(t.Context(), "star:vertices=3")
	g = open(t, g, err)
	_, err = superstep.Run(t.Context(), g, throwing{})
	if failed := new(pregel.ProgramError); !errors.As(err, &failed) || failed.Method != "Plan" ||
		!strings.Contains(err.Error(), "program throwing, Plan: no plan") {
		t.Errorf("found %v", err)
	}
}
