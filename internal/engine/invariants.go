package engine

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/invariants"
)

// check recounts, after a superstep, what the workers counted in it.
func (r *runner) check() {
	if !invariants.Enabled {
		return
	}
	p, part := &r.report, r.part
	words := len(r.active)
	senders, edges, open := 0, 0, 0
	for _, c := range r.columns {
		for w, word := range c.write.Words[:words] {
			senders += bits.OnesCount64(word)
			edges += sumAt(c.out.Of, w, word)
			marked := c.write.Summary(w>>6)>>(w&63)&1 != 0
			invariants.Check(word == 0 || marked, "partition %d, word %d: senders that the summary does not name", part.Index, w)
		}
	}
	for w := range words {
		invariants.Check(r.active[w]&r.finished[w] == 0, "partition %d, word %d: a finished vertex is awake", part.Index, w)
		unfinished := ^r.finished[w]
		if rest := part.Owned - w<<6; rest < 64 {
			unfinished &= bitmap.Low(rest)
			beyond := ^bitmap.Low(rest)
			invariants.Check((r.active[w]|r.finished[w]|r.write.Words[w])&beyond == 0, "partition %d: a bit beyond its %d vertices", part.Index, part.Owned)
		}
		open += sumAt(r.in.Of, w, unfinished)
		if r.back != nil {
			open += sumAt(r.out.Of, w, unfinished)
		}
	}
	invariants.Check(senders == p.Senders, "partition %d: %d senders, counted %d", part.Index, senders, p.Senders)
	invariants.Check(edges == p.SenderEdges, "partition %d: senders with %d edges, counted %d", part.Index, edges, p.SenderEdges)
	invariants.Check(bitmap.Count(r.active) == p.Active, "partition %d: %d awake, counted %d", part.Index, bitmap.Count(r.active), p.Active)
	unfinished := part.Owned - bitmap.Count(r.finished[:words])
	invariants.Check(unfinished == p.Unfinished, "partition %d: %d unfinished, counted %d", part.Index, unfinished, p.Unfinished)
	invariants.Check(open == p.UnfinishedEdges, "partition %d: unfinished with %d edges, counted %d", part.Index, open, p.UnfinishedEdges)
}

// sumAt is degrees without the shortcut.
func sumAt(column []uint32, w int, set uint64) (sum int) {
	for i, d := range column[w<<6 : w<<6+64] {
		if set>>i&1 != 0 {
			sum += int(d)
		}
	}
	return sum
}
