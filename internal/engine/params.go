package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/bsp"
)

// Parameter is an exported field of a program with a `param` tag.
type Parameter struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Help    string `json:"help"`
	Type    string `json:"-"`
	// Kind is the kind of the field, or of its elements if it is a slice. It is Invalid for a
	// parameter without a field.
	Kind  reflect.Kind `json:"-"`
	List  bool         `json:"list"`            // the field is a slice: comma-separated values
	Words []string     `json:"words,omitempty"` // the allowed values, or nil
	// Required is set for a vertex without a default, and for a list of vertices without a tag for
	// one.
	Required bool `json:"required"`
	NotZero  bool `json:"-"` // 0 is not allowed, because in Go it stands for the default
	// If the parameter Unless is given, this one has no default.
	Unless string `json:"-"`
	field  int
}

// Parameters returns the parameters of a program, a struct or a pointer to one, in the order of its
// fields.
func Parameters(program any) []Parameter {
	t := indirect(program)
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var all []Parameter
	for i := range t.NumField() {
		f := t.Field(i)
		if _, ok := f.Tag.Lookup("param"); !ok || !f.IsExported() {
			continue
		}
		all = append(all, parameter(f, i))
	}
	return all
}

// parameter returns the parameter that a field declares.
func parameter(f reflect.StructField, i int) Parameter {
	p := Parameter{
		Name: f.Tag.Get("param"), Default: f.Tag.Get("default"), Help: f.Tag.Get("help"),
		NotZero: f.Tag.Get("zero") == "refused", Unless: f.Tag.Get("unless"),
		Type: f.Type.String(), field: i,
	}
	t := f.Type
	if p.List = t.Kind() == reflect.Slice; p.List {
		t = t.Elem()
	}
	switch p.Kind = t.Kind(); t {
	case vertexType:
		_, hasDefault := f.Tag.Lookup("default")
		p.Type, p.Required = strings.Replace(p.Type, vertexType.String(), "vertex", 1),
			p.Default == "" && !(p.List && hasDefault)
	case durationType:
		p.Type = strings.Replace(p.Type, durationType.String(), "duration", 1)
	}
	return p
}

// ValueName returns the placeholder for a parameter's value in help texts and forms.
func (p Parameter) ValueName() string {
	if p.List {
		p.Type, p.List = strings.TrimPrefix(p.Type, "[]"), false
		return p.ValueName() + ",..."
	}
	switch {
	case p.Words != nil:
		return strings.Join(p.Words, "|")
	case p.Type == "vertex":
		return "VERTEX"
	case p.Type == "duration":
		return "TIME"
	}
	switch p.Kind {
	case reflect.Float32, reflect.Float64:
		return "NUMBER"
	case reflect.Bool:
		return "true|false"
	case reflect.String, reflect.Invalid:
		return "TEXT"
	default:
		return "N"
	}
}

// ParameterError is an error in a parameter. Its text includes the parameter's name.
type ParameterError struct {
	Name string
	Err  error
}

func (e *ParameterError) Error() string { return e.Err.Error() }
func (e *ParameterError) Unwrap() error { return e.Err }

func wrong(parameter, format string, args ...any) error {
	return &ParameterError{parameter, fmt.Errorf(format, args...)}
}

// Check checks that values has only known parameters, with allowed words, and that none is missing.
// Fill checks the other values.
func Check(params []Parameter, values map[string]string) error {
	known := map[string]Parameter{}
	var names []string
	for _, p := range params {
		known[p.Name] = p
		names = append(names, p.Name)
	}
	for name, text := range values {
		p, ok := known[name]
		if !ok {
			if len(names) == 0 {
				return wrong(name, "parameter %q: there are no parameters", name)
			}
			return wrong(name, "parameter %q: expected one of %s", name, strings.Join(names, ", "))
		}
		if p.Words != nil && !slices.Contains(p.Words, text) {
			return wrong(name, "parameter %s: found %q, expected one of %s", name, text,
				strings.Join(p.Words, ", "))
		}
	}
	for _, p := range params {
		if _, ok := values[p.Name]; p.Required && !ok {
			return wrong(p.Name, "parameter %s is missing: %s", p.Name, p.Help)
		}
	}
	return nil
}

// Fill sets the parameters of the struct that program points to, including defaults. find
// translates input ids of vertices. If find is nil, vertices become None.
func Fill(program any, values map[string]string, find Find) error {
	v := elem(program)
	for _, p := range Parameters(v.Addr().Interface()) {
		text, given := values[p.Name]
		if !given {
			if text = p.Default; text == "" || values[p.Unless] != "" {
				continue
			}
		}
		if err := set(v.Field(p.field), text, find); err != nil {
			return wrong(p.Name, "parameter %s: %w", p.Name, err)
		}
		if given && p.NotZero && isZero(v.Field(p.field)) {
			if p.List {
				return wrong(p.Name, "parameter %s: found an empty list, expected one or more",
					p.Name)
			}
			return wrong(p.Name, "parameter %s: found %q, expected a number other than 0", p.Name,
				text)
		}
	}
	return nil
}

// Fresh returns a copy of a program with its parameters filled in and validated.
func Fresh(p Erased, values map[string]string, find Find) (fresh Erased, err error) {
	inner := p.Program
	v := reflect.Indirect(reflect.ValueOf(inner))
	copied := reflect.New(v.Type())
	copied.Elem().Set(v)
	if v.Kind() == reflect.Struct {
		if err := Fill(copied.Interface(), values, find); err != nil {
			return fresh, err
		}
	}
	if reflect.TypeOf(inner).Kind() != reflect.Pointer {
		copied = copied.Elem()
	}
	if err := validated(copied.Interface()); err != nil {
		return fresh, err
	}
	fresh = p.Wrap(copied.Interface())
	fresh.Complete = true
	return fresh, nil
}

// validated calls the program's Validate, if it has one.
func validated(program any) error {
	p, ok := program.(Validating)
	if !ok {
		return nil
	}
	return bsp.Contain(Name(program), &bsp.NoSuperstep, func() error { return p.Validate(nil) })
}
