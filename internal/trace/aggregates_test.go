package trace

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

type named struct{ A, b int }

type hiding struct{ a, b int }

type own struct{ x int }

func (o own) MarshalJSON() ([]byte, error) { return json.Marshal([]int{o.x}) }

type spoiled struct{}

func (spoiled) MarshalJSON() ([]byte, error) { return []byte("\"\xff\""), nil }

type refusing struct{ X int }

func (refusing) MarshalJSON() ([]byte, error) { return nil, errors.ErrUnsupported }

func TestValueJSON(t *testing.T) {
	for _, c := range []struct {
		value      any
		json, text string
	}{
		{3, "3", "3"},
		{uint64(math.MaxUint64), "18446744073709551615", "18446744073709551615"},
		{0.1, "0.1", "0.1"},
		{1.9999999999999998, "1.9999999999999998", "2"},
		{-2.5e-7, "-2.5e-7", "-2.5e-07"},
		{math.Inf(1), `"+Inf"`, "+Inf"},
		{float32(math.NaN()), `"NaN"`, "NaN"},
		{true, "true", "true"},
		{90 * time.Second, `"1m30s"`, "1m30s"},
		{"a b", `"a b"`, "a b"},
		{"", `""`, `""`},
		{"two\nlines", `"two\nlines"`, `"two\nlines"`},
		{[]int{1, 2}, "[1,2]", "[1,2]"},
		{[]float64{1, math.NaN()}, `"[1 NaN]"`, "[1 NaN]"},
		{map[string]int{}, "{}", "{}"},
		{named{1, 2}, `{"A":1}`, `{"A":1}`},
		{hiding{1, 2}, `"{1 2}"`, "{1 2}"},
		{own{7}, "[7]", "[7]"},
		{spoiled{}, "\"\ufffd\"", "\ufffd"},
		{refusing{7}, `"{7}"`, "{7}"},
		{time.Unix(0, 0).UTC(), `"1970-01-01T00:00:00Z"`, "1970-01-01T00:00:00Z"},
		{complex(1, 2), `"(1+2i)"`, "(1+2i)"},
		{nil, "null", "null"},
	} {
		got := ValueJSON(c.value)
		if string(got) != c.json || Text(got) != c.text {
			t.Errorf("%v: found %s, %s, expected %s, %s", c.value, got, Text(got), c.json, c.text)
		}
	}
}

func TestAggregatesAreBounded(t *testing.T) {
	a := Aggregates{}
	if err := a.Add("large", strings.Repeat("x", MaxAggregate)); err == nil || len(a) != 0 {
		t.Errorf("found %v, and %d values", err, len(a))
	}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		err := a.Add(name, strings.Repeat("x", maxAggregates/4-2))
		if (err != nil) != (i == 4) {
			t.Errorf("%s: found %v", name, err)
		}
	}
	if len(a) != 4 {
		t.Errorf("found %d values, expected 4", len(a))
	}
}
