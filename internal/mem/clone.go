package mem

import (
	"reflect"
	"unsafe"
)

// cloneDepth bounds the depth to which Clone follows slices and maps.
const cloneDepth = 32

// Clone copies a value: its fields, and the elements of its slices and maps. For a pointer it
// copies the value pointed to. All other pointers, functions and channels are shared with the copy.
func Clone(v any) any {
	from := reflect.ValueOf(v)
	if !from.IsValid() {
		return v
	}
	pointer := from.Kind() == reflect.Pointer && !from.IsNil()
	if pointer {
		from = from.Elem()
	}
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	cloneIn(to.Elem(), cloneDepth)
	if pointer {
		return to.Interface()
	}
	return to.Elem().Interface()
}

// cloneIn replaces the slices and maps in a value by copies.
func cloneIn(v reflect.Value, depth int) {
	if depth == 0 || PointerFreeType(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			// this works for unexported fields too
			cloneIn(reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem(), depth)
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(to, v)
		v.Set(to)
		if PointerFreeType(v.Type().Elem()) {
			return
		}
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			cloneIn(v.Index(i), depth-1)
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		to := reflect.MakeMapWithSize(v.Type(), v.Len())
		for each := v.MapRange(); each.Next(); {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(each.Value())
			cloneIn(value, depth-1)
			to.SetMapIndex(each.Key(), value)
		}
		v.Set(to)
	}
}
