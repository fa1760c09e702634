package model

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// Text writes a prediction as text: the levels, with the traffic and time of each node.
func (p *Prediction) Text(w io.Writer) error {
	s, m := p.Search, p.Machine
	fmt.Fprintf(w, "SCALE %d, edge factor %d: %svertices with an edge, %sstored edges\n", s.Scale,
		s.EdgeFactor, words(s.Connected), words(s.Edges/2))
	fmt.Fprintf(w,
		"%.0f processes in a grid of %dx%d, %d threads each, over %s (%s/s, %ss a message)\n\n",
		m.Grid.Partitions(), m.Grid.Rows, m.Grid.Columns, m.Threads, m.Network.Name,
		bytes(1/m.Network.Alpha), si(m.Network.Beta))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t,
		"level\tfrontier\tedges\topen\tscheme\texpand\tring\tfold\texpand\ttraverse\tring\tfold\tagree\twait\t\n")
	fmt.Fprint(t, "\t\t\t\t\tB/node\tB/node\tB/node\ts\ts\ts\ts\ts\ts\t\n")
	n := m.Grid.Partitions()
	for i, l := range p.Levels {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%v\t%s\t%s\t%s\t%s\t\n", i, count(l.Vertices),
			count(l.Edges), count(l.Open), l.Scheme,
			bytes(l.Traffic.Expand.Bytes/n), bytes(l.Traffic.Ring.Bytes/n),
			bytes(l.Traffic.Fold.Bytes/n), l.Times.text())
	}
	fmt.Fprintf(t, "all\t\t\t\t\t%s\t%s\t%s\t%s\t\n", bytes(p.Volume.Expand.Bytes/n),
		bytes(p.Volume.Ring.Bytes/n), bytes(p.Volume.Fold.Bytes/n), p.Times.text())
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%ss a search: %sTEPS\n", si(p.Seconds), si(p.TEPS))
	return err
}

// text returns the cells of a table.
func (t Times) text() string {
	cells := ""
	for i, x := range []float64{t.Expand, t.Traverse, t.Ring, t.Fold, t.Agree, t.Wait} {
		if i > 0 {
			cells += "\t"
		}
		cells += si(x)
	}
	return cells
}

// si formats a number with three digits and a prefix.
func si(x float64) string {
	if math.Abs(x) < 1e-11 {
		return "0 "
	}
	for _, p := range []struct {
		from   float64
		prefix string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {0, "n"}} {
		if x >= 0.9995*p.from {
			from := p.from
			if from == 0 {
				from = 1e-9
			}
			return fmt.Sprintf("%.3g %s", x/from, p.prefix)
		}
	}
	return fmt.Sprint(x)
}

// count formats a number of things. A number below one is a fraction without a prefix.
func count(x float64) string {
	if x < 0.9995 {
		return fmt.Sprintf("%.2f ", max(x, 0))
	}
	return si(x)
}

// words is count followed by a blank.
func words(x float64) string { return strings.TrimSpace(count(x)) + " " }

func bytes(x float64) string { return si(x) + "B" }
