package kernel

import (
	"math"
	"reflect"
)

// Limits returns the least and the greatest value of T, infinities for floats.
func Limits[T any]() (least, greatest T) {
	t := reflect.TypeFor[T]()
	lo, hi := reflect.New(t).Elem(), reflect.New(t).Elem()
	switch size := t.Size() * 8; {
	case lo.CanFloat():
		lo.SetFloat(math.Inf(-1))
		hi.SetFloat(math.Inf(1))
	case lo.CanInt():
		lo.SetInt(math.MinInt64 >> (64 - size))
		hi.SetInt(math.MaxInt64 >> (64 - size))
	default:
		hi.SetUint(math.MaxUint64 >> (64 - size))
	}
	return lo.Interface().(T), hi.Interface().(T)
}
