package resultlines

import (
	"bytes"
	"errors"
	"math"
	"unicode/utf8"
)

// Bounds of a Survey.
const (
	SurveyRows = 100 // of the greatest and the least values
	bins       = 40
	maxText    = 200 // bytes of a vertex or a value that are shown
	maxFields  = 16
	exact      = 1 << 53 // whole numbers below it are all there are
)

// Survey sums up the values of a result in bounded memory, whatever its length.
type Survey struct {
	Vertices int           `json:"vertices"`
	Fields   []FieldSurvey `json:"fields"`
}

// FieldSurvey sums up a field. What is infinite, no number or text is counted, and is in nothing
// else.
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
	// Top are the vertices of greatest value, Bottom those of least, with all their fields.
	Top    []Row `json:"top"`
	Bottom []Row `json:"bottom"`
	// Bins divide the numbers from the least to the greatest in parts of the same width, or whole
	// numbers that are few in one each. LogBins divide those above 0 in parts of the same ratio, if
	// they are of different orders of magnitude.
	Bins    []Bin `json:"bins"`
	LogBins []Bin `json:"log_bins"`

	whole    bool
	positive float64 // the least number above 0
	top      *Top
	bottom   *Top
}

// Row is a vertex with its value.
type Row struct {
	Vertex string   `json:"vertex"`
	Values []string `json:"values"`
}

// Bin is how many numbers there are from one on and below another; the last bin has its end, too.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
}

// NewSurvey sums up a result, which read reads: twice, since only the first time tells how far its
// values reach.
func NewSurvey(form Form, read func(each func(data []byte) error) error) (*Survey, error) {
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
			s.Fields[i].count(values[i])
		}
	}
	return s, eachValue(form, read, count)
}

// errFields is of a line that has too few.
var errFields = errors.New("a line of the result has another number of fields than its program's values")

// eachValue calls f with each line and its fields.
func eachValue(form Form, read func(each func(data []byte) error) error, f func(line []byte,
	values []string),
) error {
	var cutter Cutter
	return read(func(data []byte) error {
		_, err := cutter.Each(data, func(line []byte) error {
			_, value := form.Cut(line)
			values, ok := form.Columns(value)
			if !ok {
				return errFields
			}
			f(line, values)
			return nil
		})
		return err
	})
}

// add takes in a vertex.
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

// divide makes the bins, now that it is known how far the numbers reach.
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
		return // nothing is as wide
	default:
		for i := range bins {
			f.Bins = append(f.Bins,
				Bin{From: f.Least + width*(float64(i)/bins), To: f.Least + width*(float64(i+
					1)/bins)})
		}
		f.Bins[bins-1].To = f.Greatest
	}
	if f.Greatest/f.positive >= 100 && !math.IsInf(f.Greatest/f.positive, 0) {
		low, ratio := math.Log(f.positive), math.Log(f.Greatest)-math.Log(f.positive)
		for i := range bins {
			f.LogBins = append(f.LogBins,
				Bin{From: math.Exp(low + ratio*float64(i)/bins), To: math.Exp(low +
					ratio*float64(i+1)/bins)})
		}
		f.LogBins[0].From, f.LogBins[bins-1].To = f.positive, f.Greatest
	}
}

// count takes a value into its bins.
func (f *FieldSurvey) count(value string) {
	x, ok := Number(value)
	if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	binOf(f.Bins, x)
	binOf(f.LogBins, x)
}

// binOf counts a number in the last bin that does not begin after it.
func binOf(all []Bin, x float64) {
	lo, hi := 0, len(all)
	for lo < hi {
		if mid := (lo + hi) / 2; all[mid].From <= x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 {
		all[lo-1].Count++
	}
}

func rows(form Form, all [][]byte) []Row {
	shown := make([]Row, 0, len(all))
	for _, line := range all {
		shown = append(shown, form.row(line))
	}
	return shown
}

// row is a line as it is shown: long texts are cut.
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

// Find returns the row of a vertex, which is an id or a name; found, if there is one. It reads no
// further then.
func Find(form Form, vertex string, read func(each func(data []byte) error) error) (row Row, found bool, err error) {
	var cutter Cutter
	err = read(func(data []byte) error {
		_, err := cutter.Each(data, func(line []byte) error {
			name, _ := form.Cut(line)
			if string(name) != vertex &&
				(len(name) == 0 || name[0] != '"' || Unquoted(string(name)) != vertex) {
				return nil
			}
			row, found = form.row(line), true
			return errFound
		})
		return err
	})
	if found {
		err = nil
	}
	return row, found, err
}

// HasNames reports whether a result that begins so has names for its vertices.
func HasNames(start []byte) bool {
	line, _, _ := bytes.Cut(start, []byte{'\n'})
	return bytes.IndexByte(line, '\t') >= 0
}
