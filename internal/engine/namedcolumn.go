package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// readNamed is ReadFile of a property of vertices, which the file calls by their names.
func (p *Prefilled) readNamed(ctx context.Context, g *graph.Graph, path string, column graphio.Column) (values int, err error) {
	to, err := NewColumnText(p, len(g.Parts))
	if err != nil {
		return 0, err
	}
	err = graphio.ReadNamedColumn(ctx, path, column, false, func(v graphio.NamedValue) (found, expected string) {
		label, ok := g.Names.Find(string(v.Name))
		id, here := g.Find(label)
		if !ok || !here {
			return fmt.Sprintf("vertex %.80q", v.Name), "one of " + g.Name
		}
		text, found, expected := p.byID(g, v.Text)
		if found == "" {
			found, expected = to.Set(id, label, text, g.Find)
		}
		return found, expected
	})
	return to.Count, err
}

// byID returns the text of a value, with the input id of a vertex that it names.
func (p *Prefilled) byID(g *graph.Graph, text []byte) (byID []byte, found, expected string) {
	name, ok := NameIn(p.Property, text)
	if g.Names == nil || !ok {
		return text, "", ""
	}
	label, ok := g.Names.Find(name)
	if !ok {
		return nil, fmt.Sprintf("vertex %.80q as a value", name), "one of the graph, or -1"
	}
	return strconv.AppendUint(nil, label, 10), "", ""
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

// CopyNamedLines is CopyLines of a property of vertices that a file calls by their names, or may do so: it writes lines that ParseNamedLine parses.
func CopyNamedLines(ctx context.Context, w io.Writer, c *kernel.Property, path string, column graphio.Column, loose bool) (lines int, err error) {
	var scratch reflect.Value
	if c != nil {
		if err := readable(*c); err != nil {
			return 0, err
		}
		scratch = reflect.New(c.Type()).Elem()
	}
	var line []byte
	anyone := func(uint64) (pregel.VertexID, bool) { return 0, true }
	var broken error // of w
	err = graphio.ReadNamedColumn(ctx, path, column, loose, func(v graphio.NamedValue) (found, expected string) {
		if c != nil && c.Type() != vertexType {
			if found, expected = misfitOf(setValue(scratch, v.Text, anyone)); found != "" {
				return found, expected
			}
		}
		if bytes.IndexByte(v.Text, '\n') >= 0 {
			return "a value with a line break", "one without"
		}
		line = append(strconv.AppendInt(line[:0], int64(v.Line), 10), ' ')
		line = append(strconv.AppendQuote(line, string(v.Name)), '\t')
		line = append(append(line, v.Text...), '\n')
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

// ParseNamedLine parses what CopyNamedLines has written, a line without its end: the name in quotes as Go has them. The value's text is part of it.
func ParseNamedLine(text []byte) (v graphio.NamedValue, err error) {
	number, rest, _ := bytes.Cut(text, []byte(" "))
	quoted, value, ok := bytes.Cut(rest, []byte{'\t'})
	line, err := strconv.Atoi(string(number))
	name, wrong := strconv.Unquote(string(quoted))
	if err = errors.Join(err, wrong); err != nil || !ok || name == "" {
		return v, fmt.Errorf("found %.80q for a line of a column by names, expected LINE \"NAME\"<TAB>VALUE", text)
	}
	return graphio.NamedValue{Line: line, Name: []byte(name), Text: value}, nil
}
