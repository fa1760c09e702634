package kernel

import (
	"math"
	"reflect"
)

// Limits returns the least and the greatest value of a type of numbers, infinities for floats.
func Limits[T any]() (least, greatest T) {
	lo, hi := reflect.ValueOf(&least).Elem(), reflect.ValueOf(&greatest).Elem()
	switch unused := 64 - lo.Type().Bits(); {
	case lo.CanFloat():
		lo.SetFloat(math.Inf(-1))
		hi.SetFloat(math.Inf(1))
	case lo.CanInt():
		lo.SetInt(math.MinInt64 >> unused)
		hi.SetInt(math.MaxInt64 >> unused)
	default:
		hi.SetUint(math.MaxUint64 >> unused)
	}
	return least, greatest
}
