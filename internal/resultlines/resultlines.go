// Package resultlines parses the lines of results: one per vertex, "id value", or "name<TAB>value"
// with tabs between the fields of a value (docs/formats.md). The command line uses it to show and
// convert results, and a master's page to summarize them.
package resultlines

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Field describes a column of a vertex's value in a result file.
type Field struct {
	Name   string // for example hub or in_degree; "value" if the value is one column
	Vertex bool   // it is a vertex
	// Kind is the kind of a number or boolean in its default format, Array for a JSON array, Slice
	// for a list of numbers, and Invalid for other text.
	Kind     reflect.Kind
	Vertices bool // Kind is Slice: the elements are vertices
}

// Form is the format of a result's lines.
type Form struct {
	Named  bool // name<TAB>value
	Fields []Field
}

// Names returns the names of the fields.
func (f Form) Names() []string {
	all := make([]string, 0, len(f.Fields))
	for _, field := range f.Fields {
		all = append(all, field.Name)
	}
	return all
}

// Cut splits a line into the vertex and the value. A name may be in quotes: see Unquoted.
func (f Form) Cut(line []byte) (vertex, value []byte) {
	by := []byte{' '}
	if f.Named {
		by[0] = '\t'
	}
	vertex, value, _ = bytes.Cut(bytes.TrimSuffix(line, []byte{'\n'}), by)
	return vertex, value
}

// CutNumber cuts a line that ends with a tab and the vertex's number in sets, or -, before the tab.
func CutNumber(line []byte) (rest, number []byte, err error) {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	at := bytes.LastIndexByte(line, '\t')
	if at < 0 {
		return nil, nil, fmt.Errorf("found the line %.80q, expected a tab and a number at its end", line)
	}
	return line[:at], line[at+1:], nil
}

// Split splits a value into the texts of its parts.
func (f Form) Split(value []byte) []string {
	if f.Named {
		return strings.Split(string(value), "\t")
	}
	return strings.Fields(string(value))
}

// Columns splits a value into its fields, and removes the quotes that lines of text need. It
// returns false if the number of fields differs from the form's.
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

// Unquoted removes the quotes that lines have around text that could not be parsed as one field.
func Unquoted(text string) string {
	if strings.HasPrefix(text, `"`) {
		if plain, err := strconv.Unquote(text); err == nil {
			return plain
		}
	}
	return text
}

// Number parses a number or a truth value, which becomes 1 or 0. The number may be infinite or NaN.
// The greatest int64 counts as infinite, because programs give it to unreached vertices.
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

// Cutter joins the parts of lines that are written to it.
type Cutter struct{ rest []byte }

// Each calls f for the lines that end in data, with their line ends, and keeps the rest. A line is
// only valid during the call.
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
