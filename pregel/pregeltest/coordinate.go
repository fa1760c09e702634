package pregeltest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// fieldDepth bounds how far a field is followed: not all of a test belongs to a program.
const fieldDepth = 8

// Coordinate refuses a change of the program's fields by Coordinate: vertices do not see it.
func (s *sentMessages) Coordinate(program any, call func()) error {
	before := fieldTexts(program)
	call()
	if name, before, after, ok := changedField(before, fieldTexts(program)); ok {
		return fmt.Errorf("Coordinate changed the program's field %s, from %.100s to %.100s: no vertex sees that, since Coordinate has a copy of the "+
			"program; what vertices are to know goes into an aggregator (Replace), and state of the coordinator's own has MarshalBinary",
			name, before, after)
	}
	return nil
}

// changedField returns the first field that differs.
func changedField(before, after map[string]string) (name, was, is string, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if before[name] != after[name] {
			return name, before[name], after[name], true
		}
	}
	return "", "", "", false
}

// fieldTexts writes the fields of a struct, or of what points to one, those of embedded structs by
// themselves.
func fieldTexts(program any) map[string]string {
	texts := map[string]string{}
	var list func(v reflect.Value)
	list = func(v reflect.Value) {
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			texts[v.Type().String()] = string(appendDeep(nil, v, fieldDepth))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Anonymous && v.Field(i).Kind() == reflect.Struct {
				list(v.Field(i))
			} else {
				texts[f.Name] = string(appendDeep(nil, v.Field(i), fieldDepth))
			}
		}
	}
	list(reflect.ValueOf(program))
	return texts
}
