package mesh

import (
	"reflect"
	"testing"
)

// TestStatsAdd fails if Add forgets a field.
func TestStatsAdd(t *testing.T) {
	var one, sum Stats
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		v.Field(i).SetUint(uint64(i + 1))
	}
	sum.Add(one)
	sum.Add(one)
	v = reflect.ValueOf(sum)
	for i := range v.NumField() {
		if got := v.Field(i).Uint(); got != uint64(2*(i+1)) {
			t.Errorf("%s: found %d, expected %d", v.Type().Field(i).Name, got, 2*(i+1))
		}
	}
}
