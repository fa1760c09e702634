package netbench

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/collective"
)

// Quantity is what a figure shows against size.
type Quantity uint8

const (
	Time      Quantity = iota // seconds, as Matsumoto15's figures 4 and 5
	Bandwidth                 // bytes per second, as Matsumoto15's figure 3 and Matsuda's 4 and 6
)

// style is how an algorithm is drawn: the same in all panels, different from all others of a collective, by shape too.
type style struct{ colour, shape string }

var styles = map[collective.Algorithm]style{
	Direct:                   {"#0072b2", "circle"},
	Raw:                      {"#777777", "square"},
	collective.Binomial:      {"#0072b2", "circle"},
	collective.Flat:          {"#d55e00", "square"},
	collective.Chain:         {"#009e73", "triangle"},
	collective.Sites:         {"#b8357c", "diamond"},
	collective.Bruck:         {"#e69f00", "cross"},
	collective.Ring:          {"#009e73", "triangle"},
	collective.Doubling:      {"#d55e00", "square"},
	collective.Dissemination: {"#e69f00", "cross"},
	collective.Pairwise:      {"#0072b2", "circle"},
	collective.Linear:        {"#d55e00", "square"},
}

// Sizes of the figure, in pixels.
const (
	panelWidth, panelHeight = 560, 380
	left, right             = 74, 118 // of a panel: for the axis, and for the names of the lines
	top, bottom             = 40, 50
	headHeight              = 58
	labelDistance           = 15
)

// Figure draws the report as SVG: a panel for each collective and quantity, both axes logarithmic, dots for what was
// measured and lines for what is predicted. Of two quantities each collective has its own row.
func (r *Report) Figure(w io.Writer, quantities ...Quantity) error {
	var all []*panel
	for _, c := range r.Collectives() {
		for _, q := range quantities {
			all = append(all, newPanel(r, c, q))
		}
	}
	columns := min(len(all), 2)
	rows := (len(all) + 1) / 2
	width, height := max(columns, 1)*panelWidth, headHeight+rows*panelHeight
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12" fill="#222">`+"\n", width, height, width, height)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	text(&s, left, 26, `font-size="17" font-weight="bold"`, r.title(quantities))
	text(&s, left, 46, `fill="#555"`, "dots: measured, until the slowest rank is done · lines: predicted by T = αn + β")
	for i, p := range all {
		fmt.Fprintf(&s, `<g transform="translate(%d,%d)">`+"\n", i%2*panelWidth, headHeight+i/2*panelHeight)
		p.draw(&s)
		s.WriteString("</g>\n")
	}
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
}

func (r *Report) title(quantities []Quantity) string {
	what := "Time"
	switch {
	case len(quantities) > 1:
		what = "Time and bandwidth"
	case len(quantities) == 1 && quantities[0] == Bandwidth:
		what = "Bandwidth"
	}
	t := fmt.Sprintf("%s of collectives, %d ranks", what, r.Ranks)
	if r.Model.Sites != nil {
		sites := slices.Clone(r.Model.Sites)
		slices.Sort(sites)
		t += fmt.Sprintf(" at %d sites", len(slices.Compact(sites)))
	}
	return t
}

// panel is the picture of one collective.
type panel struct {
	title  string
	q      Quantity
	series []series
	x, y   axis
}

type series struct {
	algorithm           collective.Algorithm
	measured, predicted []xy
}

type xy struct{ x, y float64 }

func newPanel(r *Report, c collective.Collective, q Quantity) *panel {
	p := &panel{title: string(c), q: q}
	var xs, ys []float64
	for _, a := range r.algorithms(c) {
		s := series{algorithm: a}
		for _, pt := range r.Points {
			if pt.Collective != c || pt.Algorithm != a || pt.Bytes <= 0 {
				continue
			}
			n := float64(pt.Bytes)
			measured, predicted := pt.Seconds, pt.Predicted
			if q == Bandwidth {
				v := volume(c, r.Ranks)
				measured, predicted = v*n/measured, v*n/predicted
			}
			for _, d := range []struct {
				list *[]xy
				y    float64
			}{{&s.measured, measured}, {&s.predicted, predicted}} {
				if d.y > 0 && !math.IsInf(d.y, 0) {
					*d.list = append(*d.list, xy{n, d.y})
					xs, ys = append(xs, n), append(ys, d.y)
				}
			}
		}
		p.series = append(p.series, s)
	}
	p.x = newAxis(xs, 2, left, panelWidth-right)
	p.y = newAxis(ys, 10, panelHeight-bottom, top)
	return p
}

func (p *panel) draw(s *strings.Builder) {
	text(s, left, top-14, `font-size="14" font-weight="bold"`, p.title)
	p.drawAxes(s)
	for _, line := range p.series {
		look := styles[line.algorithm]
		p.drawLine(s, line.predicted, look)
		for _, d := range line.measured {
			mark(s, look, p.x.at(d.x), p.y.at(d.y))
		}
	}
	p.drawNames(s)
}

func (p *panel) drawAxes(s *strings.Builder) {
	const grid = `stroke="#e4e4e4"`
	x0, x1, y0, y1 := float64(left), float64(panelWidth-right), float64(panelHeight-bottom), float64(top)
	for _, v := range p.x.ticks() {
		line(s, grid, p.x.at(v), y0, p.x.at(v), y1)
		text(s, p.x.at(v), y0+17, `text-anchor="middle"`, size(int(v)))
	}
	for _, v := range p.y.ticks() {
		line(s, grid, x0, p.y.at(v), x1, p.y.at(v))
		label := duration(v)
		if p.q == Bandwidth {
			label = rate(v)
		}
		text(s, x0-7, p.y.at(v)+4, `text-anchor="end"`, short(label))
	}
	line(s, `stroke="#888"`, x0, y0, x1, y0)
	line(s, `stroke="#888"`, x0, y0, x0, y1)
	text(s, (x0+x1)/2, y0+38, `text-anchor="middle" fill="#555"`, sizeMeans[collective.Collective(p.title)])
}

// sizeMeans says under the axis what n is.
var sizeMeans = map[collective.Collective]string{
	PointToPoint:         "size of the message",
	Stream:               "size of each message",
	collective.Broadcast: "size of the root's data",
	collective.Gather:    "size of each rank's data",
	collective.Allgather: "size of each rank's data",
	collective.Reduce:    "size of each rank's elements",
	collective.Allreduce: "size of each rank's elements",
	collective.Alltoall:  "size of each block",
}

func (p *panel) drawLine(s *strings.Builder, points []xy, look style) {
	if len(points) == 0 {
		return
	}
	var path strings.Builder
	for i, d := range points {
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", verb, p.x.at(d.x), p.y.at(d.y))
	}
	fmt.Fprintf(s, `<path d="%s" fill="none" stroke="%s" stroke-width="1.6" stroke-linejoin="round"/>`+"\n", path.String(), look.colour)
}

// drawNames writes each line's name at its right end, moved apart where lines meet.
func (p *panel) drawNames(s *strings.Builder) {
	type name struct {
		y, end, x float64
		algorithm collective.Algorithm
	}
	var names []name
	for _, l := range p.series {
		points := l.predicted
		if len(points) == 0 {
			points = l.measured
		}
		if len(points) > 0 {
			last := points[len(points)-1]
			names = append(names, name{p.y.at(last.y), p.y.at(last.y), p.x.at(last.x), l.algorithm})
		}
	}
	slices.SortStableFunc(names, func(a, b name) int { return int(math.Copysign(1, a.y-b.y)) })
	for i := range names {
		names[i].y = max(names[i].y, top)
		if i > 0 {
			names[i].y = max(names[i].y, names[i-1].y+labelDistance)
		}
	}
	limit := float64(panelHeight - bottom)
	for i := len(names) - 1; i >= 0; i-- {
		names[i].y = min(names[i].y, limit)
		limit = names[i].y - labelDistance
	}
	for _, n := range names {
		look := styles[n.algorithm]
		x := float64(panelWidth - right + 14)
		line(s, fmt.Sprintf(`stroke="%s" stroke-width="0.7" stroke-dasharray="2 2"`, look.colour), n.x+5, n.end, x-4, n.y)
		mark(s, look, x+3, n.y)
		text(s, x+11, n.y+4, "", string(n.algorithm))
	}
}

// axis maps values to pixels by their logarithm; its ends are powers of the base.
type axis struct {
	base, low, high float64 // low and high as exponents
	from, to        float64 // pixels
}

func newAxis(values []float64, base, from, to float64) axis {
	a := axis{base: base, from: from, to: to, high: 1}
	if len(values) > 0 {
		log := func(v float64) float64 { return math.Log(v) / math.Log(base) }
		a.low = math.Floor(log(slices.Min(values)) + 1e-9)
		a.high = max(math.Ceil(log(slices.Max(values))-1e-9), a.low+1)
	}
	return a
}

func (a axis) at(v float64) float64 {
	return a.from + (math.Log(v)/math.Log(a.base)-a.low)/(a.high-a.low)*(a.to-a.from)
}

// ticks returns the powers of the base, or every other, or fewer, so that at most eight are there.
func (a axis) ticks() []float64 {
	step := math.Ceil((a.high - a.low + 1) / 8)
	var list []float64
	for e := a.low; e <= a.high; e += step {
		list = append(list, math.Pow(a.base, e))
	}
	return list
}

func text(s *strings.Builder, x, y float64, attributes, what string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, attributes, html.EscapeString(what))
}

func line(s *strings.Builder, attributes string, x0, y0, x1, y1 float64) {
	fmt.Fprintf(s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", x0, y0, x1, y1, attributes)
}

// mark draws a dot of an algorithm's shape, with a white rim so that dots on lines are seen.
func mark(s *strings.Builder, look style, x, y float64) {
	paths := map[string]string{
		"square":   "M-3.6-3.6h7.2v7.2h-7.2z",
		"triangle": "M0-4.8L4.6 3.4H-4.6z",
		"diamond":  "M0-5L5 0L0 5L-5 0z",
		"cross":    "M-4.6-2L-2-4.6L0-2.6L2-4.6L4.6-2L2.6 0L4.6 2L2 4.6L0 2.6L-2 4.6L-4.6 2L-2.6 0z",
	}
	if p, ok := paths[look.shape]; ok {
		fmt.Fprintf(s, `<path transform="translate(%.1f,%.1f)" d="%s" fill="%s" stroke="#fff" stroke-width="0.8"/>`+"\n", x, y, p, look.colour)
		return
	}
	fmt.Fprintf(s, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s" stroke="#fff" stroke-width="0.8"/>`+"\n", x, y, look.colour)
}
