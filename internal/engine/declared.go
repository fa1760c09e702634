package engine

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// CheckProgram returns the defects of a program that can be found without values: in its methods,
// and in the declarations of its parameters.
func CheckProgram(p Erased) []error {
	v := reflect.ValueOf(p.Program)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return []error{errors.New("the program is nil")}
	}
	problems := checkDeclared(indirect(p.Program))
	p.Complete = p.Complete || len(problems) > 0 // skip defaults that have been reported as wrong
	if _, err := NewProgram(p); err != nil {
		problems = append(problems, err)
	}
	return problems
}

// checkDeclared checks the fields of a program that have a param tag.
func checkDeclared(t reflect.Type) (problems []error) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	fields := map[string]string{} // by parameter name
	for i := range t.NumField() {
		f := t.Field(i)
		refuse := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("field "+f.Name+": "+format, args...))
		}
		name, tagged := f.Tag.Lookup("param")
		if !tagged {
			if f.Anonymous && len(Parameters(reflect.Zero(f.Type).Interface())) > 0 {
				refuse("parameters in an embedded struct are not found: declare its fields here")
			}
			continue
		}
		if name == "" || strings.ContainsFunc(name, notInParameter) {
			refuse("a parameter cannot be named %q: use letters, digits, _ . and -", name)
		}
		if first, twice := fields[name]; twice {
			refuse("parameter %q is field %s already", name, first)
		} else {
			fields[name] = f.Name
		}
		if !f.IsExported() {
			refuse("parameter %q: the field is not exported", name)
			continue
		}
		if !settable(f.Type) {
			refuse("parameter %q: a field of type %v cannot be a parameter, only strings, booleans, numbers, time.Duration, pregel.VertexID and slices of these can", name, f.Type)
			continue
		}
		p := parameter(f, i)
		if p.Default == "" {
			continue
		}
		if err := set(reflect.New(f.Type).Elem(), p.Default, nil); err != nil {
			refuse("parameter %q: the default: %w", name, err)
		}
	}
	return problems
}

func notInParameter(r rune) bool { return !strings.ContainsRune(nameRunes, r) }

const nameRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
