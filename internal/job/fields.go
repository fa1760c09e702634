package job

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Field is a field of a description, or of another struct with the same tags.
type Field struct {
	Key   string
	Tag   reflect.StructTag
	Value reflect.Value
}

// Fields returns the fields of a struct, given by a pointer. Fields of embedded structs take the
// place of these structs.
func Fields(of any) (all []Field) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			f, x := v.Type().Field(i), v.Field(i)
			switch {
			case !f.Anonymous:
				all = append(all, Field{Key(f), f.Tag, x})
			case f.Type.Kind() != reflect.Pointer:
				walk(x)
			case x.IsNil():
				walk(reflect.New(f.Type.Elem()).Elem())
			default:
				walk(x.Elem())
			}
		}
	}
	walk(reflect.ValueOf(of).Elem())
	return all
}

// Words returns the allowed words of a field, or nil.
func (f Field) Words() []string {
	if words, ok := f.Tag.Lookup("words"); ok {
		return strings.Split(words, ",")
	}
	return nil
}

// auto is the first word of a field that is determined automatically when empty.
const auto = "auto"

// Set sets the field from a text.
func (f Field) Set(text string) (err error) {
	v, words := f.Value, f.Words()
	if words != nil && !slices.Contains(words, text) {
		return fmt.Errorf("expected one of %s", strings.Join(words, ", "))
	}
	switch to := v.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		err = to.UnmarshalText([]byte(text))
	case *bool:
		yes, wrong := strconv.ParseBool(text)
		if err = wrong; err == nil {
			*to = yes
		}
	case **bool:
		if *to = nil; text != auto {
			yes := text == "yes"
			*to = &yes
		}
	case *string:
		if *to = text; text == auto && words != nil {
			*to = ""
		}
	default:
		if v.CanInt() {
			var n int64
			if n, err = strconv.ParseInt(text, 0, v.Type().Bits()); err == nil {
				v.SetInt(n)
			}
		} else {
			var n uint64
			if n, err = strconv.ParseUint(text, 0, v.Type().Bits()); err == nil {
				v.SetUint(n)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("expected %s", Expected(v.Type()))
	}
	return nil
}

// Expected describes the texts of a type's values.
func Expected(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Duration]():
		return "a time, such as 30s"
	case t == reflect.TypeFor[Size]():
		return "a number of bytes, such as 500MB"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", uint64(1)<<(t.Bits()-1)<<1-1)
	case reflect.Int, reflect.Int64:
		return "a whole number"
	default:
		return "an object"
	}
}

// Complete sets zero fields to their defaults.
func Complete(of any) {
	for _, f := range Fields(of) {
		if usual := f.Tag.Get("default"); usual != "" && f.Value.IsZero() {
			if err := f.Set(usual); err != nil {
				panic(err) // an invalid tag
			}
		}
	}
}

// Unasked returns the key of a non-zero field that users may not set, or "".
func (s *Spec) Unasked() string {
	for _, f := range Fields(s) {
		if f.Tag.Get("help") == "" && !f.Value.IsZero() {
			return f.Key
		}
	}
	return ""
}
