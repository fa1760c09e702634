package delivery

import "testing"

// TestBeamerSaysWhichSide chooses schemes for loads one after the other, and checks decisions and
// reasons.
func TestBeamerSaysWhichSide(t *testing.T) {
	p := Policy{Force: ChooseBeamer}
	for _, step := range []struct {
		senders, edges, unfinished int
		chosen                     Scheme
		reason                     string
	}{
		{1, 10, 1000, Naive, "Beamer's rule pushes: senders have 10 edges, at most 1/14 of the 1000 of unfinished vertices"},
		{30, 100, 900, Pull, "Beamer's rule pulls: senders have 100 edges, over 1/14 of the 900 of unfinished vertices"},
		{20, 50, 800, Pull, "Beamer's rule pulls still: 20 senders are 1/24 of 240 vertices, or more"},
		{2, 50, 700, Naive, "Beamer's rule pushes: senders have 50 edges, at most 1/14 of the 700 of unfinished vertices"},
		{9, 100, 600, Pull, "Beamer's rule pulls: senders have 100 edges, over 1/14 of the 600 of unfinished vertices"},
		{9, 30, 600, Pull, "Beamer's rule pulls still: 9 senders are not fewer than before"},
		{8, 100, 600, Naive, "Beamer's rule pushes again: 8 senders are fewer than before, and than 1/24 of 240 vertices"},
	} {
		l := Load{Vertices: 240, Senders: step.senders, SenderEdges: step.edges, UnfinishedEdges: step.unfinished}
		l.Grid.Rows, l.Grid.Columns = 1, 1
		chosen := p.Choose(&l)
		d := p.Decided(&l)
		if got := d.Reason(); chosen != step.chosen || got != step.reason {
			t.Errorf("found %v, %q; expected %v, %q", chosen, got, step.chosen, step.reason)
		}
	}
}
