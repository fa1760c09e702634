package pack

import (
	"math/bits"
	"reflect"
)

// sampled is the number of elements that Sizer looks at in a longer slice, evenly spread.
const sampled = 64

// Sizer returns a function that estimates the encoded size of a message of type t without encoding
// it. It is exact if all slices in the message are short, else it samples.
func Sizer(t reflect.Type) func(v reflect.Value) int { return sizer(t, 8) }

type sizeOf = func(v reflect.Value) int

// sizer returns the size function of a type. It inspects element types down to a depth.
func sizer(t reflect.Type, depth int) sizeOf {
	if depth == 0 || encodesItself(t) {
		return constant(int(t.Size()))
	}
	switch t.Kind() {
	case reflect.Bool:
		return constant(1)
	case reflect.Float32:
		return constant(5)
	case reflect.Float64:
		return constant(9)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(v reflect.Value) int { return signed(v.Int()) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(v reflect.Value) int { return unsigned(v.Uint()) }
	case reflect.String:
		return func(v reflect.Value) int { return head(v.Len(), 31) + v.Len() }
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return func(v reflect.Value) int {
				if v.Kind() == reflect.Slice && v.IsNil() {
					return 1
				}
				return head(v.Len(), -1) + v.Len()
			}
		}
		return elements(sizer(t.Elem(), depth-1))
	case reflect.Map:
		return entries(sizer(t.Key(), depth-1), sizer(t.Elem(), depth-1))
	case reflect.Pointer:
		to := sizer(t.Elem(), depth-1)
		return func(v reflect.Value) int {
			if v.IsNil() {
				return 1
			}
			return to(v.Elem())
		}
	case reflect.Struct:
		return fields(t, depth)
	}
	return constant(int(t.Size()))
}

func encodesItself(t reflect.Type) bool {
	for _, i := range selfEncoding {
		if t.Implements(i) || reflect.PointerTo(t).Implements(i) {
			return true
		}
	}
	return t == timeType
}

func constant(n int) sizeOf { return func(reflect.Value) int { return n } }

// elements returns the size function of a slice or an array.
func elements(of sizeOf) sizeOf {
	return func(v reflect.Value) int {
		n := v.Len()
		step, sum, seen := max(1, (n+sampled-1)/sampled), 0, 0
		for i := 0; i < n; i += step {
			sum += of(v.Index(i))
			seen++
		}
		if seen == 0 {
			return 1
		}
		return head(n, 15) + sum*n/seen
	}
}

// entries returns the size function of a map.
func entries(key, value sizeOf) sizeOf {
	return func(v reflect.Value) int {
		sum := head(v.Len(), 15)
		for each := v.MapRange(); each.Next(); {
			sum += key(each.Key()) + value(each.Value())
		}
		return sum
	}
}

// fields returns the size function of a struct, which is encoded as an array.
func fields(t reflect.Type, depth int) sizeOf {
	of := make([]sizeOf, t.NumField())
	for i := range of {
		of[i] = sizer(t.Field(i).Type, depth-1)
	}
	return func(v reflect.Value) int {
		sum := head(len(of), 15)
		for i, f := range of {
			sum += f(v.Field(i))
		}
		return sum
	}
}

// head returns the size of an encoded length, which is one byte up to short.
func head(n, short int) int {
	switch {
	case n <= short:
		return 1
	case n < 1<<8 && short != 15:
		return 2
	case n < 1<<16:
		return 3
	}
	return 5
}

func unsigned(x uint64) int {
	if x < 1<<7 {
		return 1
	}
	return 1 + 1<<bits.Len(uint((bits.Len64(x)-1)/8))
}

func signed(x int64) int {
	switch {
	case x >= 0:
		return unsigned(uint64(x))
	case x >= -32:
		return 1
	}
	return 1 + 1<<bits.Len(uint(bits.Len64(uint64(^x))/8))
}
