package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Complete fills in a program's parameters, in a copy: a field that is zero gets the parameter's
// default, unless zero names the parameter. A program from Fresh is complete already.
func Complete(p Erased, zero []string) (Erased, error) {
	v := elem(p.Program)
	if p.Complete || !v.IsValid() || v.Kind() != reflect.Struct {
		return p, unknownZeros(nil, zero)
	}
	var all []Parameter
	copied := reflect.New(v.Type())
	copied.Elem().Set(v)
	changed, err := complete(copied.Elem(), zero, &all)
	if err == nil {
		err = unknownZeros(all, zero)
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", Name(p.Program), err)
	}
	if changed {
		if reflect.TypeOf(p.Program).Kind() != reflect.Pointer {
			copied = copied.Elem()
		}
		p = p.Wrap(copied.Interface())
	}
	p.Complete = true
	return p, nil
}

// complete fills in the defaults of a struct and of its embedded structs.
func complete(v reflect.Value, zero []string, all *[]Parameter) (changed bool, err error) {
	own := Parameters(v.Addr().Interface())
	*all = append(*all, own...)
	given := func(p Parameter) bool {
		return slices.Contains(zero, p.Name) || !isZero(v.Field(p.field))
	}
	var fill []Parameter
	for _, p := range own {
		if p.completes() && !given(p) && !slices.ContainsFunc(own,
			func(o Parameter) bool { return o.Name == p.Unless && given(o) }) {
			fill = append(fill, p)
		}
	}
	for _, p := range fill {
		if err := set(v.Field(p.field), p.Default, nil); err != nil {
			return changed, wrong(p.Name, "parameter %s: its default: %w", p.Name, err)
		}
		changed = true
	}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Anonymous && f.Type.Kind() == reflect.Struct &&
			f.IsExported() {
			within, err := complete(v.Field(i), zero, all)
			if changed = changed || within; err != nil {
				return changed, err
			}
		}
	}
	return changed, nil
}

// completes reports whether a zero field means the parameter's default. Parameters of vertices are
// an exception, because vertex 0 is valid, and so is an empty list of vertices.
func (p Parameter) completes() bool {
	return p.Default != "" && !strings.HasSuffix(p.Type, "vertex")
}

// unknownZeros returns an error if zero names an unknown parameter, or one that cannot be zero.
func unknownZeros(all []Parameter, zero []string) error {
	for _, name := range zero {
		i := slices.IndexFunc(all, func(p Parameter) bool { return p.Name == name })
		switch {
		case i < 0:
			return wrong(name, "Options.Zero names %q, which is no parameter", name)
		case all[i].NotZero:
			return wrong(name, "Options.Zero names %s, which cannot be 0", name)
		}
	}
	return nil
}
