package resultlines

import (
	"errors"
	"math"
	"sort"
	"unicode/utf8"
)

// Bounds of a Survey.
const (
	SurveyRows = 100 // number of rows with the greatest, and with the least values
	bins       = 40
	maxText    = 200 // greatest number of bytes of a vertex or a value that are shown
	maxFields  = 16
	exact      = 1 << 53 // all whole numbers below it are exact in a float64
)

// Survey summarizes the values of a result in bounded memory.
type Survey struct {
	Vertices int           `json:"vertices"`
	Fields   []FieldSurvey `json:"fields"`
}

// FieldSurvey summarizes a field. Infinite values, NaN and texts are only counted.
type FieldSurvey struct {
	Name     string `json:"name"`
	Numbers  int    `json:"numbers"` // finite
	Infinite int    `json:"infinite"`
	NaN      int    `json:"nan"`
	Texts    int    `json:"texts"`
	// Of the finite numbers; 0 if there are none.
	Least    float64 `json:"least"`
	Greatest float64 `json:"greatest"`
	Mean     float64 `json:"mean"`
	// Top has the vertices with the greatest values, and Bottom those with the least, with all
	// their fields.
	Top    []Row `json:"top"`
	Bottom []Row `json:"bottom"`
	// Bins divide the numbers into intervals of equal width, or have one bin per whole number if
	// these are few. LogBins divide the numbers above 0 into intervals of equal ratio, if they
	// differ by orders of magnitude.
	Bins    []Bin `json:"bins"`
	LogBins []Bin `json:"log_bins"`

	whole    bool
	positive float64 // the least number above 0
	top      *Top
	bottom   *Top
}

// Row is a vertex and its value.
type Row struct {
	Vertex string   `json:"vertex"`
	Values []string `json:"values"`
}

// Bin is the number of values in an interval, which includes its beginning. Only the last bin
// includes its end.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
}

// readLines reads a result, and calls a function for each part of it.
type readLines func(each func(data []byte) error) error

// each calls f for each line.
func (r readLines) each(f func(line []byte) error) error {
	var cutter Cutter
	return r(func(data []byte) error {
		_, err := cutter.Each(data, f)
		return err
	})
}

// NewSurvey summarizes the result that read reads. It calls read twice, because the range of values
// is known only after the first time.
func NewSurvey(form Form, read readLines) (*Survey, error) {
	s := &Survey{}
	for _, f := range form.Fields[:min(len(form.Fields), maxFields)] {
		s.Fields = append(s.Fields, FieldSurvey{
			Name: f.Name, Top: []Row{}, Bottom: []Row{}, Bins: []Bin{}, LogBins: []Bin{},
			whole: true, positive: math.Inf(1),
			top: NewTop(SurveyRows, false), bottom: NewTop(SurveyRows, true),
		})
	}
	if err := eachValue(form, read, s.add); err != nil {
		return nil, err
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		f.Top, f.Bottom = rows(form, f.top.Lines()), rows(form, f.bottom.Lines())
		f.divide()
	}
	count := func(_ []byte, values []string) {
		for i := range s.Fields {
			if x, ok := Number(values[i]); ok && !math.IsNaN(x) && !math.IsInf(x, 0) {
				binOf(s.Fields[i].Bins, x)
				binOf(s.Fields[i].LogBins, x)
			}
		}
	}
	return s, eachValue(form, read, count)
}

// errFields is the error for a line with a wrong number of fields.
var errFields = errors.New(
	"a line of the result has another number of fields than its program's values")

// eachValue calls f with each line and its fields.
func eachValue(form Form, read readLines, f func(line []byte, values []string)) error {
	return read.each(func(line []byte) error {
		_, value := form.Cut(line)
		values, ok := form.Columns(value)
		if !ok {
			return errFields
		}
		f(line, values)
		return nil
	})
}

// add adds a vertex.
func (s *Survey) add(line []byte, values []string) {
	s.Vertices++
	for i := range s.Fields {
		f := &s.Fields[i]
		x, ok := Number(values[i])
		switch {
		case !ok:
			f.Texts++
		case math.IsNaN(x):
			f.NaN++
		case math.IsInf(x, 0):
			f.Infinite++
		default:
			f.number(line, x)
		}
	}
}

func (f *FieldSurvey) number(line []byte, x float64) {
	if f.Numbers++; f.Numbers == 1 {
		f.Least, f.Greatest = x, x
	}
	f.Least, f.Greatest = min(f.Least, x), max(f.Greatest, x)
	f.Mean += x/float64(f.Numbers) - f.Mean/float64(f.Numbers)
	f.whole = f.whole && x == math.Trunc(x)
	if x > 0 {
		f.positive = min(f.positive, x)
	}
	f.top.Offer(line, x)
	f.bottom.Offer(line, x)
}

// divide makes the bins, after the range of the numbers is known.
func (f *FieldSurvey) divide() {
	if f.Numbers == 0 {
		return
	}
	switch width := f.Greatest - f.Least; {
	case f.whole && width < bins && max(-f.Least, f.Greatest) < exact:
		for x := f.Least; x <= f.Greatest; x++ {
			f.Bins = append(f.Bins, Bin{From: x, To: x + 1})
		}
	case math.IsInf(width, 0):
		return // no interval is that wide
	default:
		f.Bins = evenBins(func(part float64) float64 { return f.Least + width*part })
		f.Bins[bins-1].To = f.Greatest
	}
	if f.Greatest/f.positive >= 100 && !math.IsInf(f.Greatest/f.positive, 0) {
		low, ratio := math.Log(f.positive), math.Log(f.Greatest)-math.Log(f.positive)
		f.LogBins = evenBins(func(part float64) float64 { return math.Exp(low + ratio*part) })
		f.LogBins[0].From, f.LogBins[bins-1].To = f.positive, f.Greatest
	}
}

// evenBins returns bins with the borders at(0), at(1/bins), and so on to at(1).
func evenBins(at func(part float64) float64) (all []Bin) {
	for i := range bins {
		all = append(all, Bin{From: at(float64(i) / bins), To: at(float64(i+1) / bins)})
	}
	return all
}

// binOf counts a number in the last bin that begins at or before it.
func binOf(all []Bin, x float64) {
	after := sort.Search(len(all), func(i int) bool { return all[i].From > x })
	if after > 0 {
		all[after-1].Count++
	}
}

func rows(form Form, all [][]byte) []Row {
	shown := make([]Row, 0, len(all))
	for _, line := range all {
		shown = append(shown, form.row(line))
	}
	return shown
}

// row returns a line as it is shown: long texts are shortened.
func (f Form) row(line []byte) Row {
	vertex, value := f.Cut(line)
	values, _ := f.Columns(value)
	for i := range values {
		values[i] = short(values[i])
	}
	return Row{short(Unquoted(string(vertex))), values}
}

func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// errFound ends the reading of a result when the vertex is found.
var errFound = errors.New("the vertex is found")

// Find returns the row of a vertex, given by its id or name. found is false if there is none. It
// stops reading after the row.
func Find(form Form, vertex string, read readLines) (row Row, found bool, err error) {
	err = read.each(func(line []byte) error {
		name, _ := form.Cut(line)
		if string(name) != vertex &&
			(len(name) == 0 || name[0] != '"' || Unquoted(string(name)) != vertex) {
			return nil
		}
		row, found = form.row(line), true
		return errFound
	})
	if found {
		err = nil
	}
	return row, found, err
}
