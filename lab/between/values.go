package between

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// values receives a result line by line, ID VALUE, and compares it with another way's result.
type values struct {
	against *values // nil for the first result, which is stored
	rest    []byte  // an incomplete line
	line    int
	numbers []float64 // by line, if all values are numbers
	texts   []string
	err     error // set by Write
}

// tolerance is the maximum relative difference of numbers, because sums of floats depend on the
// order of messages.
const tolerance = 1e-9

// Write receives a part of the result.
func (v *values) Write(b []byte) (int, error) {
	n := len(b)
	if len(v.rest) > 0 {
		b = append(v.rest, b...)
	}
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			break
		}
		if v.err = v.take(b[:end]); v.err != nil {
			return 0, v.err
		}
		b = b[end+1:]
	}
	v.rest = append([]byte(nil), b...)
	return n, nil
}

// take handles a line.
func (v *values) take(line []byte) error {
	id, text, ok := bytes.Cut(line, []byte{' '})
	if !ok {
		return fmt.Errorf("found the line %.80q, expected ID VALUE", line)
	}
	at := v.line
	v.line++
	number, err := strconv.ParseFloat(string(text), 64)
	if v.against == nil {
		if err == nil && len(v.texts) == 0 {
			v.numbers = append(v.numbers, number)
			return nil
		}
		for _, x := range v.numbers {
			v.texts = append(v.texts, strconv.FormatFloat(x, 'g', -1, 64))
		}
		v.numbers, v.texts = nil, append(v.texts, string(text))
		return nil
	}
	switch other := v.against; {
	case at < len(other.numbers):
		want := other.numbers[at]
		if err != nil || !(number == want ||
			math.Abs(number-want) <= tolerance*math.Max(math.Abs(number), math.Abs(want))) {
			return fmt.Errorf("vertex %s has %v and %s", id, want, text)
		}
	case at < len(other.texts):
		if other.texts[at] != string(text) &&
			!(err == nil && other.texts[at] == strconv.FormatFloat(number, 'g', -1, 64)) {
			return fmt.Errorf("vertex %s has %s and %s", id, other.texts[at], text)
		}
	default:
		return fmt.Errorf("there is a value for %s, the %d-th", id, at+1)
	}
	return nil
}

// end checks that the result is complete.
func (v *values) end() error {
	if len(v.rest) > 0 {
		return fmt.Errorf("the result ends in %.80q", v.rest)
	}
	if o := v.against; o != nil && v.line != o.line {
		return fmt.Errorf("there are %d values and %d", o.line, v.line)
	}
	return nil
}
