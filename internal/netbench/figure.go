package netbench

import (
	"fmt"
	"io"
	"slices"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/figure"
)

// Figure draws the report as SVG. Each collective has a panel of times, as in Matsumoto15's figures
// 4 and 5, and a panel of bytes per second, as in Matsumoto15's figure 3 and Matsuda's figures 4
// and 6. Both axes are logarithmic. Dots are measurements, and lines are predictions.
func (r *Report) Figure(w io.Writer) error {
	title := fmt.Sprintf("Time and bandwidth of collectives, %d ranks", r.Ranks)
	if r.Model.Sites != nil {
		sites := slices.Clone(r.Model.Sites)
		slices.Sort(sites)
		title += fmt.Sprintf(" at %d sites", len(slices.Compact(sites)))
	}
	f := figure.Figure{Title: title, Subtitle: "dots: measured, until the slowest rank is done · lines: predicted by T = αn + β"}
	for _, c := range r.Collectives() {
		f.Panels = append(f.Panels, r.panel(c, false), r.panel(c, true))
	}
	return f.Write(w)
}

// panel makes a panel of one collective.
func (r *Report) panel(c collective.Collective, bandwidth bool) figure.Panel {
	p := figure.Panel{
		Title: string(c), X: figure.Axis{Label: sizeMeans[c], Base: 2},
		Y: figure.Axis{Base: 10, Text: duration},
	}
	p.X.Text = func(v float64) string { return size(int(v)) }
	if bandwidth {
		p.Y.Text = rate
	}
	for i, a := range Algorithms(c) { // an algorithm's style does not depend on what was measured
		s := figure.Series{Name: string(a), Style: figure.Styles[i]}
		for _, pt := range r.Points {
			if pt.Collective != c || pt.Algorithm != a || pt.Bytes <= 0 {
				continue
			}
			n := float64(pt.Bytes)
			measured, predicted := pt.Seconds, pt.Predicted
			if bandwidth {
				v := volume(c, r.Ranks)
				measured, predicted = v*n/measured, v*n/predicted
			}
			s.Dots = append(s.Dots, figure.Point{X: n, Y: measured})
			s.Line = append(s.Line, figure.Point{X: n, Y: predicted})
		}
		if len(s.Dots) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	return p
}

// sizeMeans describes the size n of each collective, as a label of the axis.
var sizeMeans = map[collective.Collective]string{
	PointToPoint:         "size of the message",
	Stream:               "size of each message",
	collective.Broadcast: "size of the root's data",
	collective.GatherTo:  "size of each rank's data",
	collective.Allgather: "size of each rank's data",
	collective.Reduce:    "size of each rank's elements",
	collective.Allreduce: "size of each rank's elements",
	collective.Alltoall:  "size of each block",
}
