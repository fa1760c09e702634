package engine

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/superstep-go/superstep/internal/resultlines"
)

// Fields returns a column for each exported field, if the value is a struct of numbers, booleans,
// vertices, and lists of these. Any other value has a single column with its whole text.
func (m *Program) Fields() []resultlines.Field {
	t := m.program.Value
	switch {
	case m.Has("Output") || m.Has("OutputLabels"):
		return []resultlines.Field{{Name: "value"}}
	case t.Kind() != reflect.Struct || textual(t):
		f := fieldOf("value", t)
		f.Vertex = f.Vertex || m.traits.InputIDs
		if f.Kind == reflect.Array && isPlain(t.Elem()) {
			f.Kind, f.Vertices = reflect.Slice, t.Elem() == vertexType
		}
		return []resultlines.Field{f}
	}
	var fields []resultlines.Field
	for _, f := range shown(t) {
		if !isCell(f.Type) {
			return []resultlines.Field{{Name: "value"}}
		}
		fields = append(fields, fieldOf(snake(f.Name), f.Type))
	}
	return fields
}

// isCell reports whether the text of a type's values contains no spaces except those in names.
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

func fieldOf(name string, t reflect.Type) resultlines.Field {
	f := resultlines.Field{Name: name, Vertex: t == vertexType}
	switch {
	case isPlain(t):
		f.Kind = t.Kind()
	case isComposite(t):
		f.Kind = reflect.Array
	}
	return f
}

// snake returns the column name of a field: in_degree for InDegree, url_count for URLCount.
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
