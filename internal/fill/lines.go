package fill

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

var vertexType = reflect.TypeFor[pregel.VertexID]()

// CopyLines writes the values in a file for a property as lines for ParseLine, and returns their
// number. Lines have names if the file has vertices by name, or may have. If the property is known,
// not nil, CopyLines checks the values; it does not know the graph. If it is not known, it copies
// all text after the first id, which works for edges too if no column is given. If the file is a
// vertex set, CopyLines writes the set, and returns its size.
func CopyLines(
	ctx context.Context, w io.Writer, c *kernel.Property, path string, of graphio.Column,
) (lines int, err error) {
	if graph.IsSet(path) {
		if c != nil {
			if err := takesSets(*c); err != nil {
				return 0, err
			}
		}
		return graph.CopySet(ctx, w, path)
	}
	var scratch reflect.Value // unset if texts are not checked
	if c != nil {
		if err := engine.Readable(*c); err != nil {
			return 0, err
		}
		if of.OfEdges = c.OfEdges; !of.Named || c.Type() != vertexType { // otherwise it is a name
			scratch = reflect.New(c.Type()).Elem()
		}
	}
	var line []byte
	var broken error // error of w
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

// AppendLine appends a value in the format of ParseLine.
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

// ParseLine parses a line of CopyLines without its end: "PLACE ID VALUE", or for edges "PLACE FROM
// TO VALUE". PLACE is LINE:COLUMN:COLUMN, the columns of the ids and of the value. ID may be a name
// in Go's quotes. The value's text shares memory with the line.
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
		// the file's own line, from a sender that does not know the property
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

// wholeOf parses the digits of an id. It returns false if ok is false.
func wholeOf(text []byte, ok bool) (uint64, bool) {
	id, err := strconv.ParseUint(string(text), 10, 64)
	return id, ok && err == nil
}

// nameIn returns the name of the vertex that a value of a property names, if it names one.
func nameIn(c kernel.Property, text []byte) (name string, ok bool) {
	if c.Type() != vertexType || string(text) == "-1" {
		return "", false
	}
	if plain, err := strconv.Unquote(string(text)); err == nil && text[0] == '"' {
		return plain, true
	}
	return string(text), true
}
