package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// ColumnText sets the values of a vertex property from their texts, as results are written. Make it with NewColumnText.
type ColumnText struct {
	partitions uint64
	values     map[int]reflect.Value // []T by partition here
	seen       map[int][]uint64      // bits of vertices that have their value, by partition here
	Count      int                   // of these vertices
}

// NewColumnText returns a ColumnText of what a property begins with, for a graph of so many partitions.
func NewColumnText(p *Prefilled, partitions int) (*ColumnText, error) {
	if err := readable(p.Property); err != nil {
		return nil, err
	}
	c := &ColumnText{partitions: uint64(partitions), values: map[int]reflect.Value{}, seen: map[int][]uint64{}}
	for i, storage := range p.Storage {
		c.values[i] = reflect.ValueOf(storage.Slice())
		c.seen[i] = make([]uint64, bitmap.Words(c.values[i].Len()))
	}
	return c, nil
}

// Has reports whether a vertex here has its value.
func (c *ColumnText) Has(id pregel.VertexID) bool {
	return bitmap.Get(c.seen[int(uint64(id)%c.partitions)], uint32(uint64(id)/c.partitions))
}

// Set sets the value of a vertex here, which has the input id label. It returns what is wrong, if anything, as found and expected; a vertex
// that has its value already is.
func (c *ColumnText) Set(id pregel.VertexID, label uint64, text []byte, find Find) (found, expected string) {
	partition, i := int(uint64(id)%c.partitions), uint32(uint64(id)/c.partitions)
	if c.Has(id) {
		return fmt.Sprintf("vertex %d again", label), "every vertex once"
	}
	bitmap.Set(c.seen[partition], i)
	c.Count++
	return misfitOf(setValue(c.values[partition].Index(int(i)), text, find))
}

// readable refuses a property whose values have no texts.
func readable(c kernel.Property) error {
	if c.Type().Kind() == reflect.Slice || !settable(c.Type()) {
		return fmt.Errorf("values of type %v are not read from files, only strings, booleans, numbers, time.Duration and pregel.VertexID", c.Type())
	}
	return nil
}

// ReadFile sets the values that a file has, as results are written, in one of its columns. It
// returns how many these are. Vertices of a graph with names are called by their names there; ends
// of edges but those in a table, by their input ids. The graph is in this process as a whole. A
// vertex that the file does not name keeps its zero, but all edges have values; what is not in the
// graph is an error, and so is a vertex that is named twice.
func (p *Prefilled) ReadFile(ctx context.Context, g *graph.Graph, path string, column graphio.Column) (values int, err error) {
	vertex := func(v *graphio.Value, end int) (id pregel.VertexID, found, expected string) {
		label, ok := [2]uint64{v.ID, v.To}[end], true
		if name := v.Names[end]; name != nil && g.Names != nil {
			label, ok = g.Names.Find(string(name))
		}
		if ok {
			id, ok = g.Find(label)
		}
		if !ok {
			return id, "vertex " + v.Vertex(end), "one of " + g.Name
		}
		return id, "", ""
	}
	if !p.OfEdges && g.Names != nil && column.Name == "" {
		return p.readNamed(ctx, g, path, column)
	}
	if !p.OfEdges {
		to, err := NewColumnText(p, len(g.Parts))
		if err != nil {
			return 0, err
		}
		err = graphio.ReadColumn(ctx, path, false, column, func(v *graphio.Value) (found, expected string) {
			id, found, expected := vertex(v, 0)
			if v.OfID = found != "" || to.Has(id); found == "" && v.OfID {
				return "vertex " + v.Vertex(0) + " again", "every vertex once"
			}
			text := v.Text
			if found == "" {
				text, found, expected = p.byID(g, text)
			}
			if found == "" {
				found, expected = to.Set(id, v.ID, text, g.Find)
			}
			return found, expected
		})
		return to.Count, err
	}
	to, err := NewEdgeText(p, g)
	if err != nil {
		return 0, err
	}
	err = graphio.ReadColumn(ctx, path, true, column, func(v *graphio.Value) (found, expected string) {
		from, found, expected := vertex(v, 0)
		if v.OfID = found != ""; v.OfID {
			return found, expected
		}
		other, found, expected := vertex(v, 1)
		if v.OfID = found != ""; found == "" {
			v.Text, found, expected = p.byID(g, v.Text)
		}
		if found == "" {
			found, expected = to.Set(from, other, v, g.Find)
		}
		return found, expected
	})
	if err != nil {
		return to.Count, err
	}
	if found, expected := to.Missing(); found != "" {
		return to.Count, graphio.LineError(path, 0, found, expected)
	}
	return to.Count, nil
}

// ParseColumnLine parses what CopyLines has written, a line without its end: "PLACE ID VALUE", or of edges "PLACE FROM TO VALUE", where PLACE is LINE:COLUMN:COLUMN, those of the ids and of the value. The
// value's text is part of it.
func ParseColumnLine(text []byte, ofEdges bool) (v graphio.Value, err error) {
	number, rest, _ := bytes.Cut(text, []byte(" "))
	id, value, ok := bytes.Cut(rest, []byte(" "))
	v = graphio.Value{Text: value}
	for i, to := range []*int{&v.Line, &v.IDAt, &v.At} {
		var part []byte
		part, number, _ = bytes.Cut(number, []byte(":"))
		n, err := strconv.ParseUint(string(part), 10, 62)
		ok = ok && err == nil && (i < 2 || len(number) == 0)
		*to = int(n)
	}
	v.ID, ok = wholeOf(id, ok)
	form := "PLACE ID VALUE"
	if ofEdges {
		value = bytes.TrimLeft(value, " \t") // a line as the file has it, of a property that the sender does not know
		end := max(bytes.IndexAny(value, " \t"), 0)
		v.To, ok = wholeOf(value[:end], ok)
		v.Text, form = value[min(end+1, len(value)):], "PLACE FROM TO VALUE"
	}
	if !ok {
		return graphio.Value{}, fmt.Errorf("found %.80q for a line of a column, expected %s", text, form)
	}
	return v, nil
}

// wholeOf returns an id from its digits, if all was well before.
func wholeOf(text []byte, ok bool) (uint64, bool) {
	id, err := strconv.ParseUint(string(text), 10, 64)
	return id, ok && err == nil
}

// CopyLines writes the values that a file has for a property as lines that ParseColumnLine parses, and returns how many these are. It refuses
// what is no value of the property, if that is known and not nil; of the graph it knows nothing. Of a property that is not known it reads what follows the
// first id, which serves edges if no column is given.
func CopyLines(ctx context.Context, w io.Writer, c *kernel.Property, path string, column graphio.Column) (lines int, err error) {
	var scratch reflect.Value
	if c != nil {
		if err := readable(*c); err != nil {
			return 0, err
		}
		scratch = reflect.New(c.Type()).Elem()
	}
	var line []byte
	anyone := func(uint64) (pregel.VertexID, bool) { return 0, true }
	ofEdges := c != nil && c.OfEdges
	var broken error // of w
	err = graphio.ReadColumn(ctx, path, ofEdges, column, func(v *graphio.Value) (found, expected string) {
		if c != nil {
			if found, expected = misfitOf(setValue(scratch, v.Text, anyone)); found != "" {
				return found, expected
			}
		}
		for end := range v.Names {
			if v.Names[end] != nil && [2]uint64{v.ID, v.To}[end] == graphio.NoNumber {
				v.OfID = true
				return "vertex " + v.Vertex(end), "a number: names are not sent to a cluster yet"
			}
		}
		line = strconv.AppendInt(line[:0], int64(v.Line), 10)
		line = strconv.AppendInt(append(line, ':'), int64(v.IDAt), 10)
		line = strconv.AppendInt(append(line, ':'), int64(v.At), 10)
		line = strconv.AppendUint(append(line, ' '), v.ID, 10)
		if ofEdges {
			line = strconv.AppendUint(append(line, ' '), v.To, 10)
		}
		line = append(append(append(line, ' '), v.Text...), '\n')
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

// RefersTo returns the vertex that the text of a value of a property names by its input id, if it does.
func RefersTo(c kernel.Property, text []byte) (label uint64, ok bool) {
	if c.Type() != vertexType {
		return 0, false
	}
	label, err := strconv.ParseUint(string(bytes.Trim(text, " \t")), 10, 64)
	return label, err == nil
}

// misfitOf is what an error of setValue found, and what it expected.
func misfitOf(err error) (found, expected string) {
	var wrong *misfit
	if errors.As(err, &wrong) {
		return wrong.found, wrong.expected
	}
	return "", ""
}

// setValue sets a value to what a text, as AppendAs writes it, says. An error is a misfit.
func setValue(to reflect.Value, text []byte, find Find) error {
	if to.Kind() == reflect.String {
		return setString(to, string(text))
	}
	text = bytes.Trim(text, " \t")
	if to.Type() == vertexType && string(text) == "-1" {
		to.SetUint(uint64(pregel.None))
		return nil
	}
	err := setOne(to, string(text), find)
	if err != nil && !errors.As(err, new(*misfit)) {
		return &misfit{fmt.Sprintf("vertex %s as a value", text), "one of the graph, or -1"}
	}
	return err
}

// setString sets a string, which is quoted if it could not be a line otherwise.
func setString(to reflect.Value, text string) error {
	if strings.HasPrefix(text, `"`) {
		plain, err := strconv.Unquote(text)
		if err != nil {
			return unlike(text, "text quoted as Go does, or that begins with no quotation mark")
		}
		text = plain
	}
	to.SetString(text)
	return nil
}
