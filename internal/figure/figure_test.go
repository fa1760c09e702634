package figure

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

func drawing(t *testing.T, f Figure) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
		t.Errorf("coordinates that are no numbers:\n%s", s)
	}
	return b.String()
}

// TestPointsAreWhereTheAxesSay tests a linear and a logarithmic axis.
func TestPointsAreWhereTheAxesSay(t *testing.T) {
	s := drawing(t, Figure{Panels: []Panel{{
		Title: "a < b", X: Axis{Names: []string{"one", "two"}}, Y: Axis{Base: 10},
		Series: []Series{{Name: "line", Style: Styles[0], Dots: []Point{{0, 10}, {1, 1000}, {1, 0}, {1, math.NaN()}}}},
	}}})
	for _, text := range []string{">one<", ">two<", ">10<", ">100<", ">1000<", "a &lt; b", ">line<"} {
		if !strings.Contains(s, text) {
			t.Errorf("%s is not there", text)
		}
	}
	dots := regexp.MustCompile(
		`translate\(([0-9.]+),([0-9.]+)\)" d="M-4 0a`).FindAllStringSubmatch(s, -1)
	width := float64(plotWidth)
	want := [][2]string{
		{fmt.Sprintf("%.1f", left+width/4), fmt.Sprintf("%.1f", float64(panelHeight-bottom))},
		{fmt.Sprintf("%.1f", left+width*3/4), fmt.Sprintf("%.1f", float64(top))},
	}
	if len(dots) != 3 { // two dots, and the one in the legend
		t.Fatalf("%d dots, want 2 and that of the name", len(dots))
	}
	for i, w := range want {
		if dots[i][1] != w[0] || dots[i][2] != w[1] {
			t.Errorf("dot %d is at %v, want %v", i, dots[i][1:], w)
		}
	}
}

func TestTicksAreRoundAndFew(t *testing.T) {
	for _, values := range [][]float64{{0.3, 0.9}, {7}, {1e9, 3e9}, {-2, 5}, {0}, nil, {1e-9}} {
		for _, base := range []float64{0, 2, 10} {
			a := Axis{Base: base}
			var shown []float64
			for _, v := range values {
				if a.shows(v) {
					shown = append(shown, v)
				}
			}
			s := a.scale(shown, 0, 100)
			ticks := s.ticks()
			if len(ticks) < 2 || len(ticks) > mostTicks+1 {
				t.Errorf("%v, base %g: ticks %v", values, base, ticks)
			}
			for _, v := range append(ticks, shown...) {
				if at := s.at(v); !(at > -0.01 && at < 100.01) {
					t.Errorf("%v, base %g: %g is at %g of 100", values, base, v, at)
				}
			}
		}
	}
}

// TestTitlesHaveRoom: a long title makes the figure wider than its panel.
func TestTitlesHaveRoom(t *testing.T) {
	f := Figure{Title: strings.Repeat("µ", 100), Panels: make([]Panel, 1)}
	if s := drawing(t, f); !strings.Contains(s, fmt.Sprintf(`width="%d"`, left+100*titleRune)) {
		t.Error(s[:200])
	}
}

// TestTextStaysInside: long titles, the widest label of an axis, and names stay inside the figure
// or the panel.
func TestTextStaysInside(t *testing.T) {
	const title = "time of a search over that of the best fixed choice, and of all others, in a grid of 2x2"
	p := Panel{
		Title: title, X: Axis{Names: []string{"one"}},
		Y:      Axis{Base: 10, Text: func(float64) string { return "100 MTEPS" }},
		Series: []Series{{Name: "a name that is longer than most", Style: Styles[0], Dots: []Point{{0, 10}}}},
	}
	s := drawing(t, Figure{Title: "two", Panels: []Panel{p, p, p}})
	panels := strings.Split(s, "<g ")[1:]
	var width, column, x float64
	if _, err := fmt.Sscanf(panels[1], `transform="translate(%f,`, &column); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(regexp.MustCompile(` width="[0-9]+"`).FindString(s), ` width="%f"`,
		&width); err != nil || width != 2*column {
		t.Errorf("a figure of %g, panels of %g: %v", width, column, err)
	}
	for _, panel := range panels {
		var lines []string
		for _, m := range regexp.MustCompile(
			`<text x="([0-9.]+)" y="[-0-9.]+" ([^>]*)>([^<]*)<`).FindAllStringSubmatch(panel, -1) {
			if _, err := fmt.Sscan(m[1], &x); err != nil {
				t.Fatal(err)
			}
			rune := float64(textRune)
			if strings.Contains(m[2], "bold") {
				rune = panelRune
				lines = append(lines, m[3])
			}
			from, to := x, x+rune*float64(len(m[3]))
			if strings.Contains(m[2], `"end"`) {
				from, to = x-8*float64(len(m[3])), x // capital letters
			}
			if from < 0 || to > column {
				t.Errorf("%q reaches from %g to %g of %g", m[3], from, to, column)
			}
		}
		if len(lines) != 2 || strings.Join(lines, " ") != title {
			t.Errorf("the title is %q", lines)
		}
	}
}

func TestEmptyFiguresAreFigures(t *testing.T) {
	drawing(t, Figure{})
	drawing(t, Figure{Panels: []Panel{{Series: []Series{{Name: "none"}}}}})
}
