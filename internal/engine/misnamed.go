package engine

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
)

// checkedPrograms has the types of programs that checkNames has accepted.
var checkedPrograms sync.Map

// checkNames returns an error if the program has methods that would be ignored.
func (m *Program) checkNames(value any) error {
	program := reflect.TypeOf(value)
	if _, known := checkedPrograms.Load(program); known {
		return nil
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(m.Wanted)) {
		if !m.Has(name) {
			misnamed(value, name, m.Wanted[name], &errs)
		}
	}
	for _, t := range untyped {
		if !program.Implements(t) {
			misnamed(value, t.Method(0).Name, t.Method(0).Type, &errs)
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
// one letter.
func misnamed(value any, name string, want reflect.Type, errs *[]error) {
	v := reflect.ValueOf(value)
	if method := v.MethodByName(name); method.IsValid() {
		*errs = append(*errs, fmt.Errorf("%s: method %s is %s, want %s", Name(value), name,
			method.Type(), want))
		return
	}
	if has(value, name) {
		*errs = append(*errs,
			fmt.Errorf("%s: method %s has a pointer receiver: "+
				"pass &%[1]s{...}, or give it a value receiver", Name(value), name))
		return
	}
	if len(name) < leastMisspelled && (want.NumIn() > 0 || len(name) < leastUnasked) {
		return
	}
	for i := range v.NumMethod() {
		if other := v.Type().Method(i).Name; oneLetterOff(other, name) &&
			v.Method(i).Type() == want {
			*errs = append(*errs, fmt.Errorf(
				"%s: method %s has the signature of %s and nearly its name: it would be ignored",
				Name(value), other, name))
		}
	}
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
