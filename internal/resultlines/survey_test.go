package resultlines

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// inParts returns a function that reads a text in parts of different sizes.
func inParts(text string) func(each func(data []byte) error) error {
	return func(each func(data []byte) error) error {
		for rest := []byte(text); len(rest) > 0; {
			n := min(1+len(rest)%7, len(rest))
			if err := each(rest[:n]); err != nil {
				return fmt.Errorf("reading: %w", err)
			}
			rest = rest[n:]
		}
		return nil
	}
}

var value = Form{Fields: []Field{{Name: "value"}}}

// TestSurveyIsThatOfASort compares top, bottom, statistics and bins with those of the sorted
// values.
func TestSurveyIsThatOfASort(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() float64{
		"levels":  func() float64 { return float64(random.IntN(9) - 1) },
		"ranks":   func() float64 { return math.Exp(random.Float64()*-20) + 1e-12 },
		"signed":  func() float64 { return random.NormFloat64() * 1e3 },
		"large":   func() float64 { return float64(1<<60 + random.IntN(5)*1024) },
		"extreme": func() float64 { return (random.Float64() - .5) * math.MaxFloat64 * 2 },
		"one":     func() float64 { return 7 },
	} {
		var text strings.Builder
		var all []float64
		for i := range 3000 {
			x := draw()
			all = append(all, x)
			fmt.Fprintf(&text, "%d %v\n", i, x)
		}
		text.WriteString("5000 infinity\n5001 -infinity\n5002 nan\n5003 \"text\"\n5004 12 34\n")
		s, err := NewSurvey(value, inParts(text.String()))
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f := s.Fields[0]
		sorted := slices.Sorted(slices.Values(all))
		if s.Vertices != 3005 || f.Numbers != 3000 || f.Infinite != 2 || f.NaN != 1 ||
			f.Texts != 2 || f.Least != sorted[0] || f.Greatest != sorted[2999] {
			t.Errorf("%s: found %d vertices, %+v", name, s.Vertices, f)
		}
		for i := range SurveyRows {
			if top, bottom := f.Top[i].Values[0],
				f.Bottom[i].Values[0]; top != fmt.Sprint(sorted[2999-i]) ||
				bottom != fmt.Sprint(sorted[i]) {
				t.Errorf("%s: row %d is %s and %s, expected %v and %v", name, i, top, bottom,
					sorted[2999-i], sorted[i])
			}
		}
		checkBins(t, name+", bins", f.Bins, sorted)
		checkBins(t, name+", bins by ratio", f.LogBins,
			slices.DeleteFunc(slices.Clone(sorted), func(x float64) bool { return x <= 0 }))
	}
}

func checkBins(t *testing.T, name string, all []Bin, sorted []float64) {
	t.Helper()
	if len(all) == 0 {
		return
	}
	sum := 0
	for i, b := range all {
		want := 0
		for _, x := range sorted {
			if x >= b.From && (x < b.To || i == len(all)-1) {
				want++
			}
		}
		if sum += b.Count; b.Count != want && b.From < b.To {
			t.Errorf("%s: %d from %v to %v, expected %d", name, b.Count, b.From, b.To, want)
		}
	}
	if sum != len(sorted) || len(all) > bins {
		t.Errorf("%s: %d values in %d bins, expected %d", name, sum, len(all), len(sorted))
	}
}

func TestSurveyOfFieldsAndNames(t *testing.T) {
	form := Form{Fields: []Field{{Name: "hub"}, {Name: "ok"}}}
	text := "Rue <de>\t2\ttrue\n\"a\\tb\"\t3\tfalse\nc\t1\ttrue\n"
	named := Form{Named: true, Fields: form.Fields}
	s, err := NewSurvey(named, inParts(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Fields[0].Top,
		s.Fields[0].Bottom); got != "[{a\tb [3 false]} {Rue <de> [2 true]} {c [1 true]}] [{c [1 true]} {Rue <de> [2 true]} {a\tb [3 false]}]" {
		t.Errorf("found %s", got)
	}
	if f := s.Fields[1]; f.Name != "ok" || f.Least != 0 || f.Greatest != 1 || len(f.Bins) != 2 ||
		f.Bins[0].Count != 1 || f.Bins[1].Count != 2 {
		t.Errorf("found %+v", f)
	}
	for vertex, want := range map[string]string{"a\tb": "3", "Rue <de>": "2", "c": "1", "d": "", "Rue": ""} {
		row, found, err := Find(named, vertex, inParts(text))
		if err != nil || found != (want != "") || found && row.Values[0] != want {
			t.Errorf("%q: found %v, %t, %v, expected %s", vertex, row, found, err, want)
		}
	}
	if _, err := NewSurvey(form, inParts("1 2\n")); !errors.Is(err, errFields) {
		t.Errorf("a line without its fields: %v", err)
	}
	gone := errors.New("the disk is gone")
	if _, err := NewSurvey(form, func(func([]byte) error) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("found %v", err)
	}
	if _, _, err := Find(form, "1", func(func([]byte) error) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("found %v", err)
	}
	long, _ := NewSurvey(value, inParts("1 1\n"+strings.Repeat("ü", 300)+" 2\n"))
	if top := long.Fields[0].Top[0].Vertex; len(top) > maxText+len("…") ||
		!strings.HasSuffix(top, "ü…") {
		t.Errorf("a long name is %q", top)
	}
	empty, err := NewSurvey(value, inParts(""))
	if err != nil || empty.Vertices != 0 || len(empty.Fields[0].Bins) != 0 {
		t.Errorf("found %+v, %v", empty, err)
	}
}

// FuzzSurvey: any text is summed up without a panic, and the counts are consistent.
func FuzzSurvey(f *testing.F) {
	f.Add("1 2\n3 4\n", false, false)
	f.Add("a\t1\t2\n\"b\t3\t4\n", true, true)
	f.Add("1 infinity\n2 nan\n3 -0\n4 1e308\n5 -1e308\n\n \n", false, false)
	f.Add("1 9007199254740993\n2 9007199254740995\n", false, false)
	f.Fuzz(func(t *testing.T, text string, named, two bool) {
		form := Form{Named: named, Fields: value.Fields}
		if two {
			form.Fields = append(form.Fields, Field{Name: "second"})
		}
		s, err := NewSurvey(form, inParts(text))
		if err != nil {
			return
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
		for _, field := range s.Fields {
			sum := 0
			for _, b := range field.Bins {
				sum += b.Count
			}
			if field.Numbers+field.Infinite+field.NaN+field.Texts != s.Vertices ||
				len(field.Bins) > 0 && sum != field.Numbers {
				t.Fatalf("%q: found %+v of %d", text, field, s.Vertices)
			}
			for _, row := range field.Top {
				// otherwise the text is cut off
				if _, found, err := Find(form, row.Vertex, inParts(text)); err != nil || !found &&
					!strings.HasSuffix(row.Vertex, "…") {
					t.Fatalf("%q: vertex %q is not found, %v", text, row.Vertex, err)
				}
			}
		}
	})
}
