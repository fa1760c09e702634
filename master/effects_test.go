package master

import "fmt"

// The text of effects in scripts.

func (e startJob) String() string {
	return fmt.Sprintf("start %s on %v", e.job.id, e.job.workers())
}
func (e stopJob) String() string { return fmt.Sprintf("stop %s: %s", e.id, e.reason) }
func (e startLoad) String() string {
	return fmt.Sprintf("load %s on %v", e.graph.name, workersOf(e.graph.placements))
}

func (e stopLoad) String() string {
	return fmt.Sprintf("stop loading %s: %s", e.name, e.reason)
}
func (e dropShare) String() string      { return fmt.Sprintf("drop %s on %v", e.name, e.workers) }
func (e probe) String() string          { return fmt.Sprintf("probe %s and %s", e.a, e.b) }
func (e moveJob) String() string        { return fmt.Sprintf("move %s: %s", e.job.id, e.reason) }
func (e placeForgotten) String() string { return "remove the checkpoints at " + e.place }
func (e goodbye) String() string        { return "goodbye " + e.name }
func (e dismiss) String() string {
	return fmt.Sprintf("lost %s incarnation %d: %s", e.name, e.incarnation, e.reason)
}

func (e jobTurned) String() string {
	text := fmt.Sprintf("%s %s", e.job.id, e.state.Detail())
	if e.reason != "" {
		text += ": " + e.reason
	}
	return text
}

func (e graphTurned) String() string {
	text := fmt.Sprintf("graph %s %s", e.graph.name, e.state.Word())
	if e.gone {
		text = fmt.Sprintf("graph %s gone", e.graph.name)
	}
	if e.reason != "" {
		text += ": " + e.reason
	}
	return text
}
