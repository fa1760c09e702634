package engine

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/superstep-go/superstep/pregel"
)

// Field is one of the fields that a vertex's value is written as.
type Field struct {
	Name   string       // such as hub, in_degree; "value" where a value has no fields
	Vertex bool         // it is a vertex
	Kind   reflect.Kind // of a number or a truth value that is written plainly; Invalid of what is text
}

// Fields are those of a type's exported fields that are numbers, truth values and vertices, if it is a struct of such alone; every other
// value is one field, its whole text.
func (e *erased) Fields() []Field {
	t := e.program.Value
	whole := []Field{fieldOf("value", t)}
	if e.methods.Has("Output") || e.methods.Has("OutputLabels") {
		return []Field{{Name: "value"}}
	}
	if t.Kind() != reflect.Struct || textual(t) {
		return whole
	}
	var fields []Field
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		if k := f.Type.Kind(); k < reflect.Bool || k > reflect.Float64 || textual(f.Type) {
			return whole
		}
		fields = append(fields, fieldOf(snake(f.Name), f.Type))
	}
	return fields
}

// fieldOf is the field of a name and a type.
func fieldOf(name string, t reflect.Type) Field {
	f := Field{Name: name, Vertex: t == reflect.TypeFor[pregel.VertexID]()}
	if k := t.Kind(); k >= reflect.Bool && k <= reflect.Float64 && !textual(t) {
		f.Kind = k
	}
	return f
}

// snake writes a field's name as columns are named: InDegree is in_degree, URLCount is url_count.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])) && letters[i-1] != '_' {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
