package engine

import (
	"reflect"
	"strings"
	"unicode"
)

// Field is one of the fields that a vertex's value is written as.
type Field struct {
	Name   string // such as hub, in_degree; "value" where a value has no fields
	Vertex bool   // it is a vertex
	// of a number or a truth value that is written plainly; Array of an array of JSON; Slice of a
	// list of numbers; Invalid of what is text
	Kind     reflect.Kind
	Vertices bool // of a list: it is of vertices
}

// Fields are those of a type's exported fields, if it is a struct of numbers, truth values,
// vertices and lists of such; every other value is one field, its whole text.
func (m *methods) Fields() []Field {
	t := m.program.Value
	switch {
	case m.Has("Output") || m.Has("OutputLabels"):
		return []Field{{Name: "value"}}
	case t.Kind() != reflect.Struct || textual(t):
		f := fieldOf("value", t)
		f.Vertex = f.Vertex || m.traits.InputIDs
		if f.Kind == reflect.Array && isPlain(t.Elem()) {
			f.Kind, f.Vertices = reflect.Slice, t.Elem() == vertexType
		}
		return []Field{f}
	}
	var fields []Field
	for _, f := range shown(t) {
		if !isCell(f.Type) {
			return []Field{{Name: "value"}}
		}
		fields = append(fields, fieldOf(snake(f.Name), f.Type))
	}
	return fields
}

// isCell reports whether the text of a type's values has no blanks in it, but those of names.
func isCell(t reflect.Type) bool {
	switch {
	case !isComposite(t):
		return isPlain(t)
	case t.Kind() != reflect.Struct:
		return isCell(t.Elem())
	}
	for _, f := range shown(t) {
		if !isCell(f.Type) {
			return false
		}
	}
	return true
}

// fieldOf is the field of a name and a type.
func fieldOf(name string, t reflect.Type) Field {
	f := Field{Name: name, Vertex: t == vertexType}
	switch {
	case isPlain(t):
		f.Kind = t.Kind()
	case isComposite(t):
		f.Kind = reflect.Array
	}
	return f
}

// snake writes a field's name as columns are named: InDegree is in_degree, URLCount is url_count.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) &&
			unicode.IsLower(letters[i+1])) && letters[i-1] != '_' {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
