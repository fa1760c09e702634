package fill

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

var vertexType = reflect.TypeFor[pregel.VertexID]()

// CopyLines writes the values that a file has for a property as lines that ParseLine parses, of
// names if the file calls vertices by their names, or may do so. It returns how many these
// are. It refuses what is no value of the property, if that is known and not nil; of the graph it
// knows nothing. Of a property that is not known it reads what follows the first id, which serves
// edges if no column is given.
func CopyLines(
	ctx context.Context, w io.Writer, c *kernel.Property, path string, of graphio.Column,
) (lines int, err error) {
	var scratch reflect.Value // nothing if texts are not checked
	if c != nil {
		if err := engine.Readable(*c); err != nil {
			return 0, err
		}
		if of.OfEdges = c.OfEdges; !of.Named || c.Type() != vertexType { // else it is a name
			scratch = reflect.New(c.Type()).Elem()
		}
	}
	var line []byte
	var broken error // of w
	anyone := func(uint64) (pregel.VertexID, bool) { return 0, true }
	err = graphio.ReadColumn(ctx, path, of, func(v *graphio.Value) (found, expected string) {
		if scratch.IsValid() {
			if found, expected = engine.SetText(scratch, v.Text, anyone); found != "" {
				return found, expected
			}
		}
		if of.Named {
			if bytes.IndexByte(v.Text, '\n') >= 0 {
				return "a value with a line break", "one without"
			}
			v.ID, v.IDAt, v.At = graphio.NoNumber, 0, 0
		} else {
			for end := range v.Names {
				if v.Names[end] != nil && [2]uint64{v.ID, v.To}[end] == graphio.NoNumber {
					v.OfID = true
					return "vertex " + v.Vertex(end),
						"a number: names are not sent to a cluster yet"
				}
			}
		}
		line = append(AppendLine(line[:0], v, of.OfEdges), '\n')
		lines++
		if _, broken = w.Write(line); broken != nil {
			return "a failure", "none"
		}
		return "", ""
	})
	if broken != nil {
		return lines, broken
	}
	return lines, err
}

// AppendLine appends a value as ParseLine parses it.
func AppendLine(line []byte, v *graphio.Value, ofEdges bool) []byte {
	line = append(strconv.AppendInt(line, int64(v.Line), 10), ':')
	line = append(strconv.AppendInt(line, int64(v.IDAt), 10), ':')
	line = append(strconv.AppendInt(line, int64(v.At), 10), ' ')
	if v.ID == graphio.NoNumber {
		line = strconv.AppendQuote(line, string(v.Names[0]))
	} else {
		line = strconv.AppendUint(line, v.ID, 10)
	}
	if ofEdges {
		line = strconv.AppendUint(append(line, ' '), v.To, 10)
	}
	return append(append(line, ' '), v.Text...)
}

// ParseLine parses what CopyLines has written, a line without its end: "PLACE ID VALUE", or of
// edges "PLACE FROM TO VALUE", where PLACE is LINE:COLUMN:COLUMN, those of the ids and of the
// value, and ID may be a name in quotes as Go has them. The value's text is part of the line.
func ParseLine(text []byte, ofEdges bool) (v graphio.Value, err error) {
	number, rest, _ := bytes.Cut(text, []byte(" "))
	id, value, ok := bytes.Cut(rest, []byte(" "))
	if bytes.HasPrefix(rest, []byte{'"'}) {
		quoted, err := strconv.QuotedPrefix(string(rest))
		id = rest[:len(quoted)]
		value, ok = bytes.CutPrefix(rest[len(quoted):], []byte(" "))
		ok = ok && err == nil
	}
	v = graphio.Value{Text: value}
	for i, to := range []*int{&v.Line, &v.IDAt, &v.At} {
		var part []byte
		part, number, _ = bytes.Cut(number, []byte(":"))
		n, err := strconv.ParseUint(string(part), 10, 62)
		ok = ok && err == nil && (i < 2 || len(number) == 0)
		*to = int(n)
	}
	if name, err := strconv.Unquote(string(id)); err == nil && name != "" && id[0] == '"' {
		v.ID, v.Names[0] = graphio.NoNumber, []byte(name)
	} else {
		v.ID, ok = wholeOf(id, ok)
		ok = ok && v.ID != graphio.NoNumber
	}
	form := "PLACE ID VALUE"
	if ofEdges {
		// a line as the file has it, of a property that the sender does not know
		value = bytes.TrimLeft(value, " \t")
		end := max(bytes.IndexAny(value, " \t"), 0)
		v.To, ok = wholeOf(value[:end], ok)
		v.Text, form = value[min(end+1, len(value)):], "PLACE FROM TO VALUE"
	}
	if !ok {
		return graphio.Value{}, fmt.Errorf("found %.80q for a line of a column, expected %s", text,
			form)
	}
	return v, nil
}

// wholeOf returns an id from its digits, if all was well before.
func wholeOf(text []byte, ok bool) (uint64, bool) {
	id, err := strconv.ParseUint(string(text), 10, 64)
	return id, ok && err == nil
}

// RefersTo returns the vertex that the text of a value of a property names by its input id, if it
// does.
func RefersTo(c kernel.Property, text []byte) (label uint64, ok bool) {
	if c.Type() != vertexType {
		return 0, false
	}
	label, err := strconv.ParseUint(string(bytes.Trim(text, " \t")), 10, 64)
	return label, err == nil
}

// NameIn returns the vertex that the text of a value of a property names, if it does.
func NameIn(c kernel.Property, text []byte) (name string, ok bool) {
	if c.Type() != vertexType || string(text) == "-1" {
		return "", false
	}
	if plain, err := strconv.Unquote(string(text)); err == nil && text[0] == '"' {
		return plain, true
	}
	return string(text), true
}
