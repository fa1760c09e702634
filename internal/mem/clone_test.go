package mem_test

import (
	"reflect"
	"testing"

	"github.com/superstep-go/superstep/internal/mem"
)

// TestClone changes a copy, and checks that the original did not change.
func TestClone(t *testing.T) {
	type part struct{ list []int }
	type whole struct {
		N     int
		list  []part
		names map[string][]int
		array [2]map[int]bool
		one   *int
		f     func()
	}
	one := 1
	a := &whole{3, []part{{[]int{1, 2}}}, map[string][]int{"a": {1}}, [2]map[int]bool{{1: true}}, &one, func() {}}
	b := mem.Clone(a).(*whole)
	if b == a || b.one != a.one || b.f == nil || b.N != 3 ||
		!reflect.DeepEqual([]any{a.list, a.names, a.array}, []any{b.list, b.names, b.array}) {
		t.Fatalf("copied %+v, got %+v", a, b)
	}
	b.N, b.list[0].list[1], b.names["a"][0], b.names["b"], b.array[0][2] = 4, 9, 9, nil, true
	if a.N != 3 || a.list[0].list[1] != 2 || a.names["a"][0] != 1 || len(a.names) != 1 ||
		len(a.array[0]) != 1 {
		t.Errorf("the original became %+v", a)
	}
	for _, v := range []any{nil, 5, (*whole)(nil), []int(nil), map[string]int(nil), whole{}} {
		if c := mem.Clone(v); !reflect.DeepEqual(c, v) {
			t.Errorf("%#v became %#v", v, c)
		}
	}
}
