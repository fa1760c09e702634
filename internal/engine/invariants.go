package engine

import (
	"fmt"
	"math/bits"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/invariants"
)

// check counts again, after a superstep, everything that the workers counted.
func (r *runner) check() {
	if !invariants.Enabled {
		return
	}
	p, part := &r.report, r.part
	check := func(ok bool, format string, args ...any) {
		if !ok {
			invariants.Check(false, "partition %d: %s", part.Index, fmt.Sprintf(format, args...))
		}
	}
	if r.few.kept {
		r.few.spread()
		defer func() { r.few.keep(); r.write.Clear() }()
	}
	words := len(r.active)
	senders, edges, open := 0, 0, 0
	for _, c := range r.columns {
		for w, word := range c.write.Words[:words] {
			senders += bits.OnesCount64(word)
			edges += sumAt(c.out.Of, w, word)
			marked := c.write.Summary(w>>6)>>(w&63)&1 != 0
			check(word == 0 || marked, "word %d: senders that the summary does not name", w)
		}
	}
	for w := range words {
		check(r.active[w]&r.finished[w] == 0, "word %d: a finished vertex is awake", w)
		unfinished := ^r.finished[w]
		if rest := part.Owned - w<<6; rest < 64 {
			unfinished &= bitmap.Low(rest)
			beyond := ^bitmap.Low(rest)
			check((r.active[w]|r.finished[w]|r.write.Words[w])&beyond == 0,
				"a bit beyond its %d vertices", part.Owned)
		}
		for _, c := range r.columns {
			open += sumAt(c.in.Of, w, unfinished)
		}
	}
	check(senders == p.Senders, "%d senders, counted %d", senders, p.Senders)
	check(edges == p.SenderEdges, "senders with %d edges, counted %d", edges, p.SenderEdges)
	check(bitmap.Count(r.active) == p.Active, "%d awake, counted %d", bitmap.Count(r.active),
		p.Active)
	unfinished := part.Owned - bitmap.Count(r.finished[:words])
	check(unfinished == p.Unfinished, "%d unfinished, counted %d", unfinished, p.Unfinished)
	check(open == p.UnfinishedEdges, "unfinished with %d edges, counted %d", open,
		p.UnfinishedEdges)
}

// sumAt computes graph.Degrees.Sum directly.
func sumAt(column []uint32, w int, set uint64) (sum int) {
	for i, d := range column[w<<6 : w<<6+64] {
		if set>>i&1 != 0 {
			sum += int(d)
		}
	}
	return sum
}
