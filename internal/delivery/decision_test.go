package delivery

import (
	"fmt"
	"testing"
)

// TestBeamersRule chooses schemes for loads one after the other.
func TestBeamersRule(t *testing.T) {
	p := Policy{Force: ChooseBeamer}
	for _, step := range []struct {
		senders, edges, unfinished int
		chosen                     Scheme
	}{
		{1, 10, 1000, Naive}, // 10 edges are at most 1/14 of 1000
		{30, 100, 900, Pull},
		{20, 50, 800, Pull}, // 20 senders are at least 1/24 of 240 vertices
		{2, 50, 700, Naive},
		{9, 100, 600, Pull},
		{9, 30, 600, Pull}, // 9 senders are not fewer than before
		{8, 100, 600, Naive},
	} {
		l := Load{Vertices: 240, Senders: step.senders, SenderEdges: step.edges, UnfinishedEdges: step.unfinished}
		l.Grid.Rows, l.Grid.Columns = 1, 1
		chosen := p.Choose(&l)
		d := p.Decided(&l)
		reason := fmt.Sprintf("Beamer's rule: %d senders, with %d edges, and %d edges of the unfinished",
			step.senders, step.edges, step.unfinished)
		if got := d.Reason(); chosen != step.chosen || got != reason {
			t.Errorf("found %v, %q; expected %v, %q", chosen, got, step.chosen, reason)
		}
	}
}
