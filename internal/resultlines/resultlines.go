// Package resultlines reads what results are written as: a line for each vertex, "id value", or
// "name<TAB>value" with tabs between the fields of a value (docs/formats.md). The command line
// shows and converts results by it, a master's page sums them up.
package resultlines

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/engine"
)

// Form is how the lines of a result read.
type Form struct {
	Named  bool // name<TAB>value
	Fields []engine.Field
}

// Names are those of the fields.
func (f Form) Names() []string {
	all := make([]string, 0, len(f.Fields))
	for _, field := range f.Fields {
		all = append(all, field.Name)
	}
	return all
}

// Cut divides a line in a vertex and its value. A name may be in quotes: see Unquoted.
func (f Form) Cut(line []byte) (vertex, value []byte) {
	by := []byte{' '}
	if f.Named {
		by[0] = '\t'
	}
	vertex, value, _ = bytes.Cut(bytes.TrimSuffix(line, []byte{'\n'}), by)
	return vertex, value
}

// Split divides a value in what is written for its parts.
func (f Form) Split(value []byte) []string {
	if f.Named {
		return strings.Split(string(value), "\t")
	}
	return strings.Fields(string(value))
}

// Columns divides a value in its fields, each as it is without the quotes that a line of text
// needs. It reports whether the value has as many as the form.
func (f Form) Columns(value []byte) ([]string, bool) {
	parts := []string{string(value)}
	if len(f.Fields) > 1 {
		parts = f.Split(value)
	}
	if len(parts) != len(f.Fields) {
		return nil, false
	}
	for i, p := range parts {
		parts[i] = Unquoted(p)
	}
	return parts, true
}

// Unquoted is a text without the quotes that lines have around what would not be read as one field.
func Unquoted(text string) string {
	if strings.HasPrefix(text, `"`) {
		if plain, err := strconv.Unquote(text); err == nil {
			return plain
		}
	}
	return text
}

// Number reads a field that is a number or a truth value, which is 1 or 0. It may be infinite, or
// NaN. The largest int64 is infinite too: programs give it to vertices that they did not reach.
func Number(text string) (x float64, ok bool) {
	switch text {
	case "true":
		return 1, true
	case "false":
		return 0, true
	case "infinity", "9223372036854775807":
		return math.Inf(1), true
	case "-infinity":
		return math.Inf(-1), true
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil
}

// Cutter puts lines together of the parts that writers are given.
type Cutter struct{ rest []byte }

// Each calls f for the lines that end in data, with their line breaks, and keeps what is left. A
// line is f's until it returns.
func (c *Cutter) Each(data []byte, f func(line []byte) error) (int, error) {
	n := len(data)
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			c.rest = append(c.rest, data...)
			break
		}
		line := data[:end+1]
		data = data[end+1:]
		if len(c.rest) > 0 {
			c.rest = append(c.rest, line...)
			line = c.rest
		}
		if err := f(line); err != nil {
			return 0, err
		}
		c.rest = c.rest[:0]
	}
	return n, nil
}
