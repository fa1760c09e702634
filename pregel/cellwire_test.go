package pregel

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestCellsTravel(t *testing.T) {
	type pair struct {
		A int32
		B [3]float64
	}
	type loose struct {
		Name string
		List []int
	}
	travels(t, NewAggregator("pair", nil, func(a, b pair) pair { return a }), pair{7, [3]float64{1, 2, 3}})
	travels(t, NewAggregator("loose", nil, func(a, b loose) loose { return a }), loose{"x", []int{1, 2}})
	travels(t, NewAggregator("slice", nil, func(a, b []uint64) []uint64 { return a }), []uint64{4, 5})
	travels(t, SumOf[float64]("float"), 0.1)
	type rank float64
	travels(t, SumOf[rank]("named float"), 0.1)
	travels(t, SumOf[int]("int"), -3)
	travels(t, AnyOf("any"), true)
}

func travels[T any](t *testing.T, a Aggregator[T], x T) {
	t.Helper()
	for _, exact := range []bool{false, true} {
		from, to, sum := a.NewCell(exact), a.NewCell(exact), a.NewCell(exact)
		from.(*cell[T]).value = x
		if c := from.(*cell[T]); c.parts != nil {
			c.value = a.identity()
			c.parts.add(c.float.from(x))
		}
		data, err := from.Encode(func(v any) ([]byte, error) { return json.Marshal(v) })
		if err != nil {
			t.Fatal(err)
		}
		if err := to.Decode(data, json.Unmarshal); err != nil {
			t.Fatalf("%s, exact %v: %v", a.Name(), exact, err)
		}
		sum.Merge(to)
		sum.Settle()
		if exact && a.float != nil && !reflect.DeepEqual(sum.Any(), any(x)) || !exact && !reflect.DeepEqual(to.Any(), any(x)) {
			t.Errorf("%s, exact %v: %v became %v", a.Name(), exact, x, sum.Any())
		}
	}
}

func FuzzCellDecode(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	a := SumOf[float64]("sum")
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = a.NewCell(false).Decode(data, json.Unmarshal)
		_ = a.NewCell(true).Decode(data, json.Unmarshal)
	})
}
