package engine

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// checkedPrograms has the types of programs that checkNames has accepted.
var checkedPrograms sync.Map

// checkNames returns an error if the program has methods that would be ignored.
func (m *methods) checkNames(value any) error {
	program := reflect.TypeOf(value)
	if _, known := checkedPrograms.Load(program); known {
		return nil
	}
	list, errs := methodsOfType(program), []error(nil)
	for _, name := range slices.Sorted(maps.Keys(m.Wanted)) {
		if !m.Has(name) {
			misnamed(value, list, name, m.Wanted[name], &errs)
		}
	}
	for _, t := range untyped {
		if !program.Implements(t) {
			misnamed(value, list, t.Method(0).Name, t.Method(0).Type, &errs)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(replaced)) {
		if has(value, name) {
			errs = append(errs, fmt.Errorf("%s: the method %s is now %s", Name(value), name,
				replaced[name]))
		}
	}
	if errs == nil {
		checkedPrograms.Store(program, true)
	}
	return errors.Join(errs...)
}

// misnamed adds an error if value has a method that would be ignored: the optional method name with
// another signature than want, or a method with the signature want whose name differs from name in
// one letter. list has the methods of value's type.
func misnamed(value any, list []reflect.Method, name string, want reflect.Type, errs *[]error) {
	if method, ok := reflect.TypeOf(value).MethodByName(name); ok {
		*errs = append(*errs, fmt.Errorf("%s: method %s is %s, want %s", Name(value), name,
			signature(method.Type, true), signature(want, false)))
		return
	}
	if has(value, name) {
		*errs = append(*errs,
			fmt.Errorf("%s: method %s has a pointer receiver: pass &%s{...}, or give it a value receiver", Name(value), name, Name(value)))
		return
	}
	if len(name) < leastMisspelled && (want.NumIn() > 0 || len(name) < leastUnasked) {
		return
	}
	for _, m := range list {
		if oneLetterOff(m.Name, name) && signature(m.Type, true) == signature(want, false) {
			*errs = append(*errs, fmt.Errorf(
				"%s: method %s has the signature of %s and nearly its name: it would be ignored",
				Name(value), m.Name, name))
		}
	}
}

// methodsOfType returns the methods of a type. The result is stored because reflect makes them at
// each call.
func methodsOfType(t reflect.Type) []reflect.Method {
	list := make([]reflect.Method, t.NumMethod())
	for i := range list {
		list[i] = t.Method(i)
	}
	return list
}

// oneLetterOff reports whether b differs from a by one letter that is changed, left out, added, or
// swapped with the next.
func oneLetterOff(a, b string) bool {
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	a, b = a[first:], b[first:]
	switch len(a) - len(b) {
	case -1:
		return a == b[1:]
	case 1:
		return a[1:] == b
	case 0:
		return a != "" && (a[1:] == b[1:] || len(a) > 1 && a[0] == b[1] && a[1] == b[0] &&
			a[2:] == b[2:])
	}
	return false
}

func signature(t reflect.Type, receiver bool) string {
	s := t.String()
	if !receiver {
		return s
	}
	var in, out []string
	for i := 1; i < t.NumIn(); i++ {
		in = append(in, t.In(i).String())
	}
	for i := range t.NumOut() {
		out = append(out, t.Out(i).String())
	}
	s = "func(" + strings.Join(in, ", ") + ")"
	switch len(out) {
	case 0:
		return s
	case 1:
		return s + " " + out[0]
	default:
		return s + " (" + strings.Join(out, ", ") + ")"
	}
}
