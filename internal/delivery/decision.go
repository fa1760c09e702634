package delivery

import (
	"fmt"
	"math"
	"strconv"
)

// Decision is a copy of the last decision of Choose and of its inputs. Reason makes its text later,
// outside the superstep.
type Decision struct {
	Force     Choice
	Chosen    Scheme
	Predicted Costs

	Vertices, Senders, SenderEdges, Unfinished, UnfinishedEdges, PullEdges int
	Hubs, Degree                                                           int // of Lalp
}

// Decided returns the last decision; l is the load it was made for.
func (p *Policy) Decided(l *Load) Decision {
	return Decision{
		p.Force, p.Chosen, p.Predicted, l.Vertices, l.Senders, l.SenderEdges, l.Unfinished,
		l.UnfinishedEdges, l.PullEdges, p.Hubs * 64 * l.Partitions, p.Degree,
	}
}

// Reason returns the reason for the decision, as text.
func (d *Decision) Reason() string {
	switch {
	case d.Chosen == None:
		return "nothing was sent to neighbours"
	case d.Force == ChooseBeamer:
		return fmt.Sprintf("Beamer's rule: %d senders, with %d edges, and %d edges of the unfinished",
			d.Senders, d.SenderEdges, d.UnfinishedEdges)
	case d.Force != ChooseAuto:
		return string(d.threshold(fmt.Appendf(nil, "forced: %v", d.Force)))
	}
	other := None
	for s := Naive; s < schemes; s++ {
		if s != d.Chosen && !math.IsInf(d.Predicted[s], 1) &&
			(other == None || d.Predicted[s] < d.Predicted[other]) {
			other = s
		}
	}
	// Without fmt: that would take one percent of a search of a few milliseconds.
	text := append(make([]byte, 0, 160), d.Chosen.String()...)
	text = micro(append(text, " predicted "...), d.Predicted[d.Chosen])
	if other != None {
		text = append(append(text, ", "...), other.String()...)
		text = micro(append(text, ' '), d.Predicted[other])
	}
	senders := " senders with "
	if d.Senders == 1 {
		senders = " sender with "
	}
	for _, part := range []struct {
		before string
		n      int
	}{
		{": ", d.Senders},
		{senders, d.SenderEdges},
		{" edges, ", d.Unfinished},
		{" unfinished with ", d.UnfinishedEdges},
	} {
		text = strconv.AppendInt(append(text, part.before...), int64(part.n), 10)
	}
	if d.PullEdges > 0 {
		text = append(strconv.AppendInt(append(text, ", a pull looks at about "...),
			int64(d.PullEdges), 10), " edges"...)
	}
	return string(d.threshold(text))
}

// threshold appends the threshold of Lalp.
func (d *Decision) threshold(text []byte) []byte {
	if d.Chosen != Lalp || d.Degree == 0 {
		return text
	}
	return fmt.Appendf(text, ", mirrors the first %d vertices, the last of degree %d",
		min(d.Hubs, d.Vertices), d.Degree)
}

func micro(text []byte, seconds float64) []byte {
	return append(strconv.AppendFloat(text, seconds*1e6, 'f', 1, 64), " µs"...)
}
