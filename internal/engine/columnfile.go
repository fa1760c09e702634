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
		c.values[i] = reflect.ValueOf(storage)
		c.seen[i] = make([]uint64, bitmap.Words(c.values[i].Len()))
	}
	return c, nil
}

// Set sets the value of a vertex here, which has the input id label. It returns what is wrong, if anything, as found and expected; a vertex
// that has its value already is.
func (c *ColumnText) Set(id pregel.VertexID, label uint64, text []byte, find Find) (found, expected string) {
	partition, i := int(uint64(id)%c.partitions), uint32(uint64(id)/c.partitions)
	if bitmap.Get(c.seen[partition], i) {
		return fmt.Sprintf("vertex %d again", label), "every vertex once"
	}
	bitmap.Set(c.seen[partition], i)
	c.Count++
	return misfitOf(setValue(c.values[partition].Index(int(i)), text, find))
}

// readable refuses a property whose values have no texts.
func readable(c kernel.Property) error {
	if c.Type.Kind() == reflect.Slice || !settable(c.Type) {
		return fmt.Errorf("values of type %v are not read from files, only strings, booleans, numbers, time.Duration and pregel.VertexID", c.Type)
	}
	return nil
}

// ReadFile sets the values that a file has, as results are written, in one of its columns; 0 is all that follows the id. It returns how many
// these are. The graph is in this process as a whole. A vertex that the file does not name keeps its zero; a vertex that is not in the graph
// is an error, and so is one that is named twice.
func (p *Prefilled) ReadFile(ctx context.Context, g *graph.Graph, path string, column int) (values int, err error) {
	to, err := NewColumnText(p, len(g.Parts))
	if err != nil {
		return 0, err
	}
	err = graphio.ReadColumn(ctx, path, column, func(_ int, label uint64, value []byte) (found, expected string) {
		id, ok := g.Find(label)
		if !ok {
			return fmt.Sprintf("vertex %d", label), "one of " + g.Name
		}
		return to.Set(id, label, value, g.Find)
	})
	return to.Count, err
}

// ColumnLine is a line of a column's file as it travels: "LINE ID VALUE".
type ColumnLine struct {
	Number int // of the line, from 1
	Label  uint64
	Value  []byte
}

// ParseColumnLine parses what CopyLines has written, a line without its end.
func ParseColumnLine(text []byte) (ColumnLine, error) {
	number, rest, _ := bytes.Cut(text, []byte(" "))
	id, value, ok := bytes.Cut(rest, []byte(" "))
	at, err := strconv.Atoi(string(number))
	label, badID := strconv.ParseUint(string(id), 10, 64)
	if err != nil || badID != nil || !ok {
		return ColumnLine{}, fmt.Errorf("found %.80q for a line of a column, expected LINE ID VALUE", text)
	}
	return ColumnLine{at, label, value}, nil
}

// CopyLines writes the values that a file has for a property as lines that ParseColumnLine parses, and returns how many these are. It refuses
// what is no value of the property, if that is known and not nil; of vertices it knows nothing.
func CopyLines(ctx context.Context, w io.Writer, c *kernel.Property, path string, column int) (lines int, err error) {
	var scratch reflect.Value
	if c != nil {
		if err := readable(*c); err != nil {
			return 0, err
		}
		scratch = reflect.New(c.Type).Elem()
	}
	var line []byte
	anyone := func(uint64) (pregel.VertexID, bool) { return 0, true }
	var broken error // of w
	err = graphio.ReadColumn(ctx, path, column, func(at int, label uint64, value []byte) (found, expected string) {
		if c != nil {
			if found, expected = misfitOf(setValue(scratch, value, anyone)); found != "" {
				return found, expected
			}
		}
		line = strconv.AppendInt(line[:0], int64(at), 10)
		line = strconv.AppendUint(append(line, ' '), label, 10)
		line = append(append(append(line, ' '), value...), '\n')
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
	if c.Type != vertexType {
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
