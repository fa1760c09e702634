package bsp

import "fmt"

// Mark is what partitions that compute a superstep again must report as they did before.
type Mark struct{ Computed, Senders, SenderEdges, Sends, Active, Unfinished int }

// MarkOf returns the mark of a report.
func MarkOf(r *Report) Mark {
	p := &r.Partition
	return Mark{p.Computed, p.Senders, p.SenderEdges, p.Sends, p.Active, p.Unfinished}
}

func (m Mark) String() string {
	return fmt.Sprintf("%d computed, %d sent over %d edges and %d messages to single vertices, %d awake, %d unfinished",
		m.Computed, m.Senders, m.SenderEdges, m.Sends, m.Active, m.Unfinished)
}
