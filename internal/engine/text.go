package engine

import (
	"bytes"
	"encoding"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/pregel"
)

// Printable returns an error if the program's values have no text form for a result file.
func (m *Program) Printable() error {
	if m.Has("Output") || m.Has("OutputLabels") {
		return nil
	}
	if err := printable(m.program.Value, 16); err != nil {
		return fmt.Errorf("%s: values of type %v cannot be written: %w: give the program a method Output(dst []byte, v %[2]v) []byte", m.Name(), m.program.Value, err)
	}
	return nil
}

// printable returns an error if appender cannot write values of a type, down to a depth.
func printable(t reflect.Type, depth int) error {
	if depth == 0 || textual(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.Interface,
		reflect.UnsafePointer:
		return fmt.Errorf("%v has no text", t)
	case reflect.Array, reflect.Slice:
		return printable(t.Elem(), depth-1)
	case reflect.Struct:
		err := fmt.Errorf("%v has no exported fields", t)
		for _, f := range shown(t) {
			if err = printable(f.Type, depth-1); err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
		}
		return err
	}
	return nil
}

// shown returns the exported fields of a struct, which are the ones written.
func shown(t reflect.Type) iter.Seq2[int, reflect.StructField] {
	return func(yield func(int, reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && !yield(i, f) {
				return
			}
		}
	}
}

// parts returns the parts of a composite value: its exported fields, or its elements.
func parts(v reflect.Value) iter.Seq[reflect.Value] {
	return func(yield func(reflect.Value) bool) {
		if v.Kind() == reflect.Struct {
			for i := range shown(v.Type()) {
				if !yield(v.Field(i)) {
					return
				}
			}
			return
		}
		for i := range v.Len() {
			if !yield(v.Index(i)) {
				return
			}
		}
	}
}

// textual reports whether values of a type are written with MarshalText or String. Structs with
// exported fields are written field by field instead.
func textual(t reflect.Type) bool {
	if t.NumMethod() == 0 || t == vertexType {
		return false
	}
	if t.Kind() == reflect.Struct {
		for range shown(t) {
			return false
		}
	}
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) ||
		t.Implements(reflect.TypeFor[fmt.Stringer]())
}

// AppendAs is Append with another mapping to input ids. If name is not nil, vertices are written as
// the names that it appends. A text that could not be read back as one value on one line is quoted.
func (j *Job) AppendAs(dst []byte, id pregel.VertexID, label Label, name AppendName) []byte {
	start := len(dst)
	return quote(j.text(dst, id, label, name), start)
}

// Label returns the input id of a vertex. AppendName appends the name of the vertex with an input
// id.
type (
	Label      = func(id pregel.VertexID) uint64
	AppendName = func(dst []byte, label uint64) []byte
)

// quote quotes the text that begins at start if it could not be read back as one value on one line.
func quote(dst []byte, start int) []byte {
	if text := dst[start:]; len(text) > 0 && (text[0] == '"' || bytes.IndexByte(text, '\n') >= 0 ||
		bytes.IndexByte(text, '\r') >= 0) {
		return strconv.AppendQuote(dst[:start], string(text))
	}
	return dst
}

// text appends the text of a value. If a method of the program panics, it panics with a
// ProgramError.
func (j *Job) text(dst []byte, id pregel.VertexID, label Label, name AppendName) []byte {
	method := "String"
	r, local := j.at(id)
	defer func() {
		if p := recover(); p != nil {
			e := bsp.NewProgramError(j.name, p, bsp.NoSuperstep)
			e.Vertex, e.Known, e.Method = j.Label(id), true, method
			e.Name = j.vertexName(e.Vertex)
			panic(e)
		}
	}()
	if j.methods.Has("Output") {
		method = "Output"
		return r.instance.Output(dst, local, nil)
	}
	if j.methods.Has("OutputLabels") {
		method = "OutputLabels"
		return r.instance.Output(dst, local, func(dst []byte, id pregel.VertexID) []byte {
			if uint64(id) >= j.IDs() {
				panic(fmt.Sprintf("the label of vertex %v: the graph has vertices 0..%d", id,
					int64(j.IDs())-1))
			}
			if name == nil {
				return strconv.AppendUint(dst, label(id), 10)
			}
			return escape(name(dst, label(id)), len(dst))
		})
	}
	value := r.instance.Values().Any(int(local))
	if id, ok := value.(uint64); ok && j.methods.traits.InputIDs && name != nil {
		return name(dst, id)
	}
	return appender{j.IDs(), label, name}.value(dst, value)
}

// escape adds a backslash before each separator of OutputLabels in a name that begins at start.
func escape(dst []byte, start int) []byte {
	if !bytes.ContainsAny(dst[start:], ` :;\`) {
		return dst
	}
	return append(dst[:start], escaper.Replace(string(dst[start:]))...)
}

var escaper = strings.NewReplacer(` `, `\ `, `:`, `\:`, `;`, `\;`, `\`, `\\`)

// appender writes values of a graph of n vertices in the format of result files.
type appender struct {
	n     uint64
	label Label
	name  AppendName // nil if vertices have no names
}

func (a appender) value(dst []byte, v any) []byte {
	switch v := v.(type) {
	case pregel.VertexID:
		if uint64(v) >= a.n {
			return append(dst, "-1"...)
		}
		if a.name != nil {
			return a.name(dst, a.label(v))
		}
		return strconv.AppendUint(dst, a.label(v), 10)
	case float64:
		return graphio.AppendFloat(dst, v, 64)
	case float32:
		return graphio.AppendFloat(dst, float64(v), 32)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		return append(dst, v...)
	}
	return a.reflected(dst, reflect.ValueOf(v))
}

// between returns the separator of fields: a tab if vertices have names, because names may contain
// spaces.
func (a appender) between() byte {
	if a.name != nil {
		return '\t'
	}
	return ' '
}

// reflected writes the fields of a struct, or the elements of a list of numbers, with a separator.
// It writes textual values by their own method. Nested values are in brackets.
func (a appender) reflected(dst []byte, v reflect.Value) []byte {
	fields := 0
	part := func(f reflect.Value) {
		if fields++; fields > 1 {
			dst = append(dst, a.between())
		}
		if isComposite(f.Type()) {
			dst = a.nested(dst, f)
			return
		}
		start := len(dst)
		if dst = a.value(dst, f.Interface()); a.name != nil &&
			bytes.IndexByte(dst[start:], '\t') >= 0 && f.Type() == vertexType {
			dst = strconv.AppendQuote(dst[:start], string(dst[start:]))
		}
	}
	switch {
	case !v.IsValid():
		return dst // a nil interface
	case textual(v.Type()):
		return text(dst, v.Interface())
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Array, reflect.Slice:
		if v.Kind() != reflect.Struct && !isPlain(v.Type().Elem()) {
			return a.nested(dst, v)
		}
		for p := range parts(v) {
			part(p)
		}
		return dst
	case reflect.Float32, reflect.Float64:
		return graphio.AppendFloat(dst, v.Float(), v.Type().Bits())
	default:
		return fmt.Append(dst, v.Interface())
	}
}

// nested writes a value as JSON without spaces. Lists and structs are arrays. Texts, names,
// infinities and NaN are strings.
func (a appender) nested(dst []byte, v reflect.Value) []byte {
	start := len(dst)
	if !isComposite(v.Type()) {
		dst = a.value(dst, v.Interface())
		if plain := dst[start:]; !isPlain(v.Type()) || a.name != nil && v.Type() == vertexType ||
			bytes.ContainsAny(plain, "iN") || string(plain) == "nan" {
			return graphio.AppendJSON(dst[:start], plain)
		}
		return dst
	}
	dst = append(dst, '[')
	for p := range parts(v) {
		if len(dst) > start+1 {
			dst = append(dst, ',')
		}
		dst = a.nested(dst, p)
	}
	return append(dst, ']')
}

// isComposite reports whether values of a type are written in several parts.
func isComposite(t reflect.Type) bool {
	k := t.Kind()
	return (k == reflect.Struct || k == reflect.Array || k == reflect.Slice) && !textual(t)
}

// isPlain reports whether values of a type are written as numbers, booleans or vertices.
func isPlain(t reflect.Type) bool {
	k := t.Kind()
	return k >= reflect.Bool && k <= reflect.Float64 && !textual(t)
}

// text appends the result of a value's MarshalText or String.
func text(dst []byte, v any) []byte {
	if m, ok := v.(encoding.TextMarshaler); ok {
		b, err := m.MarshalText()
		if err != nil {
			panic(err)
		}
		return append(dst, b...)
	}
	return fmt.Append(dst, v)
}
