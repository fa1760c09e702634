// Package figure draws charts of measurements as SVG: panels with dots and lines, one line for each
// series. The x axis is a size, a number of partitions, a superstep or a name.
package figure

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Figure is a picture with panels, two in a row.
type Figure struct {
	Title, Subtitle string
	Panels          []Panel
}

// Panel is a chart with two axes.
type Panel struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// Series is the measurements of one way to do something. A point whose Y a logarithmic axis cannot
// show is left out.
type Series struct {
	Name  string
	Style Style
	Dots  []Point // measured
	Line  []Point // predicted, or the line through the dots
}

// Point is the value Y at X.
type Point struct{ X, Y float64 }

// Style is the look of a series. Styles of a panel differ by shape too.
type Style struct{ Colour, Shape string }

// Styles are distinct. Colour-blind people can distinguish the colours (Okabe, Ito 2008).
var Styles = []Style{
	{"#0072b2", "circle"},
	{"#d55e00", "square"},
	{"#009e73", "triangle"},
	{"#b8357c", "diamond"},
	{"#e69f00", "cross"},
	{"#777777", "square"},
}

// Sizes of the figure, in pixels.
const (
	plotWidth, panelHeight = 368, 380
	// beside a plot: space for the axis ("100 MTEPS"), and the least space for the names of lines
	left, leastRight = 86, 118
	top, bottom      = 40, 50
	headHeight       = 58
	labelDistance    = 15
	nameIndent       = 25 // of a line's name, right of the plot
	panelLine        = 17 // from line to line of a panel's title
	// Upper estimates of a letter's width: in the figure's title, in a panel's title, and in other
	// text.
	titleRune, panelRune, textRune = 11, 9, 7
)

// Write draws the figure.
func (f *Figure) Write(w io.Writer) error {
	columns, rows := min(len(f.Panels), 2), (len(f.Panels)+1)/2
	right, lines := leastRight, 1
	for i := range f.Panels {
		for _, s := range f.Panels[i].Series { // the names of the lines are beside the plot
			right = max(right, nameIndent+utf8.RuneCountInString(s.Name)*textRune)
		}
	}
	panelWidth := left + plotWidth + right
	titles := make([][]string, len(f.Panels))
	for i, p := range f.Panels {
		titles[i] = wrap(p.Title, (panelWidth-left)/panelRune)
		lines = max(lines, len(titles[i]))
	}
	above := (lines - 1) * panelLine
	width, height := max(columns, 1)*panelWidth, headHeight+rows*(above+panelHeight)
	width = max(width, left+titleRune*utf8.RuneCountInString(f.Title),
		left+textRune*utf8.RuneCountInString(f.Subtitle))
	var s strings.Builder
	fmt.Fprintf(&s,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12" fill="#222">`+"\n", width, height, width, height)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	text(&s, left, 26, `font-size="17" font-weight="bold"`, f.Title)
	text(&s, left, 46, `fill="#555"`, f.Subtitle)
	for i := range f.Panels {
		fmt.Fprintf(&s, `<g transform="translate(%d,%d)">`+"\n", i%2*panelWidth,
			headHeight+above+i/2*(above+panelHeight))
		for j, line := range titles[i] {
			text(&s, left, float64(top-14-(len(titles[i])-1-j)*panelLine),
				`font-size="14" font-weight="bold"`, line)
		}
		f.Panels[i].draw(&s)
		s.WriteString("</g>\n")
	}
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
}

// wrap breaks a text between words into lines of at most most letters. A longer word is a line by
// itself.
func wrap(s string, most int) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		last := len(lines) - 1
		if last < 0 || utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) > most {
			lines = append(lines, word)
		} else {
			lines[last] += " " + word
		}
	}
	return lines
}

// drawn is a panel with its scales.
type drawn struct {
	*Panel
	x, y   scale
	series []Series // only with points that the axes can show
}

func (p *Panel) draw(s *strings.Builder) {
	d := drawn{Panel: p}
	var xs, ys []float64
	for _, l := range p.Series {
		shown := l
		shown.Dots, shown.Line = p.shown(l.Dots), p.shown(l.Line)
		d.series = append(d.series, shown)
		for _, at := range slices.Concat(shown.Dots, shown.Line) {
			xs, ys = append(xs, at.X), append(ys, at.Y)
		}
	}
	d.x = p.X.scale(xs, left, left+plotWidth)
	d.y = p.Y.scale(ys, panelHeight-bottom, top)
	d.axes(s)
	for _, l := range d.series {
		d.line(s, l)
		for _, at := range l.Dots {
			mark(s, l.Style, d.x.at(at.X), d.y.at(at.Y))
		}
	}
	d.names(s)
}

// shown returns the points that the axes can show.
func (p *Panel) shown(points []Point) []Point {
	return slices.DeleteFunc(slices.Clone(points),
		func(at Point) bool { return !p.X.shows(at.X) || !p.Y.shows(at.Y) })
}

func (d *drawn) axes(s *strings.Builder) {
	const grid = `stroke="#e4e4e4"`
	x0, x1, y0, y1 := float64(left), float64(left+plotWidth), float64(panelHeight-bottom),
		float64(top)
	for _, v := range d.x.ticks() {
		line(s, grid, d.x.at(v), y0, d.x.at(v), y1)
		text(s, d.x.at(v), y0+17, `text-anchor="middle"`, d.x.text(v))
	}
	for _, v := range d.y.ticks() {
		line(s, grid, x0, d.y.at(v), x1, d.y.at(v))
		text(s, x0-7, d.y.at(v)+4, `text-anchor="end"`, d.y.text(v))
	}
	line(s, `stroke="#888"`, x0, y0, x1, y0)
	line(s, `stroke="#888"`, x0, y0, x0, y1)
	text(s, (x0+x1)/2, y0+38, `text-anchor="middle" fill="#555"`, d.X.Label)
}

func (d *drawn) line(s *strings.Builder, l Series) {
	if len(l.Line) == 0 {
		return
	}
	s.WriteString(`<polyline points="`)
	for _, at := range l.Line {
		fmt.Fprintf(s, "%.1f,%.1f ", d.x.at(at.X), d.y.at(at.Y))
	}
	fmt.Fprintf(s, `" fill="none" stroke="%s" stroke-width="1.6" stroke-linejoin="round"/>`+"\n",
		l.Style.Colour)
}

// names writes each line's name at its right end. It moves names apart if lines meet.
func (d *drawn) names(s *strings.Builder) {
	type name struct {
		y, end, x float64
		series    Series
	}
	var names []name
	for _, l := range d.series {
		if points := slices.Concat(l.Dots, l.Line); len(points) > 0 {
			last := points[len(points)-1]
			names = append(names, name{d.y.at(last.Y), d.y.at(last.Y), d.x.at(last.X), l})
		}
	}
	slices.SortStableFunc(names, func(a, b name) int { return cmp.Compare(a.y, b.y) })
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
		x := float64(left + plotWidth + nameIndent - 11)
		line(s, fmt.Sprintf(`stroke="%s" stroke-width="0.7" stroke-dasharray="2 2"`,
			n.series.Style.Colour), n.x+5, n.end, x-4, n.y)
		mark(s, n.series.Style, x+3, n.y)
		text(s, x+11, n.y+4, "", n.series.Name)
	}
}

func text(s *strings.Builder, x, y float64, attributes, what string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, attributes,
		html.EscapeString(what))
}

func line(s *strings.Builder, attributes string, x0, y0, x1, y1 float64) {
	fmt.Fprintf(s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", x0, y0, x1, y1,
		attributes)
}

// mark draws a dot in a style's shape, with a white rim that makes dots visible on lines.
func mark(s *strings.Builder, look Style, x, y float64) {
	paths := map[string]string{
		"circle":   "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
		"square":   "M-3.6-3.6h7.2v7.2h-7.2z",
		"triangle": "M0-4.8L4.6 3.4H-4.6z",
		"diamond":  "M0-5L5 0L0 5L-5 0z",
		"cross":    "M-4.6-2L-2-4.6L0-2.6L2-4.6L4.6-2L2.6 0L4.6 2L2 4.6L0 2.6L-2 4.6L-4.6 2L-2.6 0z",
	}
	fmt.Fprintf(s, `<path transform="translate(%.1f,%.1f)" d="%s" fill="%s" stroke="#fff"`+
		` stroke-width="0.8"/>`+"\n", x, y, paths[look.Shape], look.Colour)
}
