package pregeltest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// fieldDepth is the depth to which pointers in fields are followed. A field may lead to the whole
// test.
const fieldDepth = 8

// Coordinate runs call, and returns an error if it changed the program's fields: vertices would not
// see the change.
func (s *sentMessages) Coordinate(program any, call func()) error {
	before := fieldTexts(program)
	call()
	if name, before, after, ok := changedField(before, fieldTexts(program)); ok {
		return fmt.Errorf("Coordinate changed the program's field %s, from %.100s to %.100s: no "+
			"vertex sees that, since Coordinate has a copy of the program; what vertices are to "+
			"know goes into an aggregator (Replace), and state of the coordinator's own has "+
			"MarshalBinary",
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

// fieldTexts writes the fields of a struct, or of the struct that program points to, as text.
// Fields of embedded structs are listed separately.
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
