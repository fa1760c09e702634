package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/collective"
	"github.com/superstep-go/superstep/internal/netbench"
	"github.com/superstep-go/superstep/internal/statefile"
	"github.com/superstep-go/superstep/lab/experiment"
	"github.com/superstep-go/superstep/lab/figure"
)

func netbenchCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "netbench-svg REPORT SVG",
		Short:   "Draw the report of superstep netbench --json",
		Example: `  go -C lab run . netbench-svg report.json report.svg`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("netbench-svg: expected the name of a report and that of a picture, found %q", args)
			}
			data, err := statefile.ReadSmall(args[0])
			if err != nil {
				return err
			}
			r := new(netbench.Report)
			if err = json.Unmarshal(data, r); err == nil {
				err = r.Validate()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return writeTo(args[1], func(w io.Writer) error { return drawNetbench(w, r) })
		},
	}
}

// netbenchStyles are the same in all panels, and different from all others of a collective.
var netbenchStyles = map[collective.Algorithm]figure.Style{
	netbench.Direct:          {Colour: "#0072b2", Shape: "circle"},
	netbench.Raw:             {Colour: "#777777", Shape: "square"},
	collective.Binomial:      {Colour: "#0072b2", Shape: "circle"},
	collective.Flat:          {Colour: "#d55e00", Shape: "square"},
	collective.Chain:         {Colour: "#009e73", Shape: "triangle"},
	collective.Sites:         {Colour: "#b8357c", Shape: "diamond"},
	collective.Bruck:         {Colour: "#e69f00", Shape: "cross"},
	collective.Ring:          {Colour: "#009e73", Shape: "triangle"},
	collective.Doubling:      {Colour: "#d55e00", Shape: "square"},
	collective.Dissemination: {Colour: "#e69f00", Shape: "cross"},
	collective.Pairwise:      {Colour: "#0072b2", Shape: "circle"},
	collective.Linear:        {Colour: "#d55e00", Shape: "square"},
}

// drawNetbench draws a report: for each collective a panel of time (Matsumoto15, figures 4 and 5)
// and one of bandwidth (figure 3; Matsuda's 4 and 6), both axes logarithmic, dots for what was
// measured and lines for what is predicted.
func drawNetbench(w io.Writer, r *netbench.Report) error {
	f := figure.Figure{
		Title:    fmt.Sprintf("Time and bandwidth of collectives, %d ranks", r.Ranks),
		Subtitle: "dots: measured, until the slowest rank is done · lines: predicted by T = αn + β",
	}
	if r.Model.Sites != nil {
		sites := slices.Clone(r.Model.Sites)
		slices.Sort(sites)
		f.Title += fmt.Sprintf(" at %d sites", len(slices.Compact(sites)))
	}
	for _, c := range r.Collectives() {
		f.Panels = append(f.Panels, netbenchPanel(r, c, "s"), netbenchPanel(r, c, "B/s"))
	}
	return f.Write(w)
}

// netbenchPanel is the picture of one collective, of its time or its bandwidth.
func netbenchPanel(r *netbench.Report, c collective.Collective, unit experiment.Unit) figure.Panel {
	p := figure.Panel{
		Title: string(c),
		X:     figure.Axis{Label: "bytes of a message, or of a rank", Base: 2, Text: experiment.Bytes.Axis},
		Y:     figure.Axis{Base: 10, Text: unit.Axis},
	}
	index := map[collective.Algorithm]int{}
	for _, pt := range r.Points {
		if pt.Collective != c || pt.Bytes <= 0 {
			continue
		}
		i, ok := index[pt.Algorithm]
		if !ok {
			i = len(p.Series)
			index[pt.Algorithm] = i
			p.Series = append(p.Series,
				figure.Series{Name: string(pt.Algorithm), Style: netbenchStyles[pt.Algorithm]})
		}
		s := &p.Series[i]
		measured, predicted := pt.Seconds, pt.Predicted
		if unit == "B/s" {
			measured, predicted = pt.Bandwidth, pt.Bandwidth*pt.Seconds/pt.Predicted
		}
		s.Dots = append(s.Dots, figure.Point{X: float64(pt.Bytes), Y: measured})
		s.Line = append(s.Line, figure.Point{X: float64(pt.Bytes), Y: predicted})
	}
	return p
}
