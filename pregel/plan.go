package pregel

// Plan says which programs run before the program whose method Plan returns it. Package plan makes plans; the zero value is an
// empty one.
type Plan struct{ steps any }

// NewPlan makes the plan that the engine knows as steps.
func (e *Engine[V, M]) NewPlan(steps any) Plan { return Plan{steps} }

// Steps returns what the engine knows the plan as; nil for an empty one.
func (e *Engine[V, M]) Steps(p Plan) any { return p.steps }
