package pregel

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/superstep-go/superstep/internal/kernel"
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
	travels(t, NewAggregator("pair", nil, func(a, b pair) pair { return a }),
		pair{7, [3]float64{1, 2, 3}})
	travels(t, NewAggregator("loose", nil, func(a, b loose) loose { return a }),
		loose{"x", []int{1, 2}})
	travels(t,
		NewAggregator("slice", nil, func(a, b []uint64) []uint64 { return a }), []uint64{4, 5})
	travels(t, SumOf[float64]("float"), 0.1)
	type rank float64
	travels(t, SumOf[rank]("named float"), 0.1)
	travels(t, SumOf[int]("int"), -3)
	travels(t, AnyOf("any"), true)
}

func travels[T any](t *testing.T, a Aggregator[T], x T) {
	t.Helper()
	for _, exact := range []bool{false, true} {
		made := a.aggregate()
		from, to, sum := made.New(exact).(*kernel.TypedCell[T]), made.New(exact), made.New(exact)
		if exact && a.float != nil {
			from.Add(x)
		} else {
			from.Value = x
		}
		data, err := from.Encode(func(v any) ([]byte, error) { return json.Marshal(v) })
		if err != nil {
			t.Fatal(err)
		}
		if err := to.Decode(data, json.Unmarshal); err != nil {
			t.Fatalf("%s, exact %v: %v", a.name, exact, err)
		}
		sum.Merge(to)
		sum.Settle()
		if exact && a.float != nil && !reflect.DeepEqual(sum.Any(), any(x)) || !exact &&
			!reflect.DeepEqual(to.Any(), any(x)) {
			t.Errorf("%s, exact %v: %v became %v", a.name, exact, x, sum.Any())
		}
	}
}

func FuzzCellDecode(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8})
	a := SumOf[float64]("sum")
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = a.aggregate().New(false).Decode(data, json.Unmarshal)
		_ = a.aggregate().New(true).Decode(data, json.Unmarshal)
	})
}
