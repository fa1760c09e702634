package pack

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

func newValues[V any]() (Values, error) {
	return NewValues(reflect.TypeFor[V](), mem.PointerFree[V]())
}

// appendBlock appends a block of values in the encoding of their type.
func appendBlock[V any](b []byte, partition, first int, values ...V) ([]byte, error) {
	c, err := newValues[V]()
	if err != nil {
		return nil, err
	}
	return c.AppendBlock(b, partition, first, &kernel.Vec[V]{Data: values})
}

// carry encodes values in small blocks, in partitions in turn, and decodes them in pieces of a few
// bytes.
func carry[V any](t *testing.T, partitions int, values ...V) []V {
	t.Helper()
	var b []byte
	var err error
	for p := range partitions {
		var own []V
		for i := p; i < len(values); i += partitions {
			own = append(own, values[i])
		}
		for first := 0; first < len(own); first += 2 {
			if b, err = appendBlock(b, p, first, own[first:min(first+2, len(own))]...); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := NewColumn[V](len(values), kernel.NewDeal(partitions), false)
	for piece := range slices.Chunk(b, 7) {
		if c.Whole(len(values)) == nil {
			t.Error("a column is whole before its end")
		}
		if n, err := c.Write(piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := c.Whole(len(values)); err != nil {
		t.Error(err)
	}
	return c.Values
}

func TestValuesSurvive(t *testing.T) {
	numbers := []float64{0, math.Copysign(0,
		-1), math.Inf(1), math.NaN(), math.Float64frombits(0x7ff8dead), 1e-320, 7}
	for i, x := range carry(t, 3, numbers...) {
		if math.Float64bits(x) != math.Float64bits(numbers[i]) {
			t.Errorf("found %v, expected %v", x, numbers[i])
		}
	}
	for p := 1; p < 7; p++ {
		texts := [][]string{nil, {}, {"a", ""}, {strings.Repeat("x", 300)}, {"ü"}}
		if found := carry(t, p, texts...); !reflect.DeepEqual(found, texts) {
			t.Errorf("found %q", found)
		}
		type pair struct {
			a bool
			b uint64
		}
		pairs := []pair{{true, 1}, {false, math.MaxUint64}, {true, 3}}
		if found := carry(t, p, pairs...); !slices.Equal(found, pairs) {
			t.Errorf("found %v", found)
		}
		carry(t, p, struct{}{}, struct{}{}, struct{}{})
	}
}

// TestColumnRefuses has bytes that are not blocks of the values' type. A master of another version
// might send them.
func TestColumnRefuses(t *testing.T) {
	block := func(partition, first int, values ...uint32) []byte {
		b, err := appendBlock(nil, partition, first, values...)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	column := func() *Column[uint32] { return NewColumn[uint32](5, kernel.NewDeal(2), false) }
	short := block(0, 0, 1, 2)
	binary.LittleEndian.PutUint64(short[16:], 7)
	for name, b := range map[string][]byte{
		"a partition that there is not": block(2, 0, 1),
		"values that come later":        block(0, 1, 1),
		"too many values":               block(1, 0, 1, 2, 3),
		"the same values twice":         slices.Concat(block(0, 0, 1), block(0, 0, 1)),
		"too few bytes":                 short,
	} {
		if _, err := column().Write(b); err == nil {
			t.Errorf("%s are taken", name)
		}
	}
	c := column()
	if _, err := c.Write(slices.Concat(block(0, 0, 1, 2, 3), block(1, 0, 4, 5),
		[]byte{1})); err != nil || c.Whole(5) == nil {
		t.Errorf("found %v; a byte too many is taken", err)
	}
}

// TestGaps: blocks leave out removed vertices.
func TestGaps(t *testing.T) {
	block := func(partition, first int, values ...uint32) []byte {
		b, err := appendBlock(nil, partition, first, values...)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	column := func() *Column[uint32] { return NewColumn[uint32](7, kernel.NewDeal(2), true) }
	c := column()
	if _, err := c.Write(slices.Concat(block(0, 1, 10), block(0, 3, 30),
		block(1, 0, 5, 15))); err != nil {
		t.Fatal(err)
	}
	if want := []uint32{0, 5, 10, 15, 0, 0, 30}; !slices.Equal(c.Values, want) ||
		c.Has[0] != 0b1001110 {
		t.Errorf("found %v, %b", c.Values, c.Has)
	}
	if c.Whole(4) != nil || c.Whole(3) == nil || c.Whole(5) == nil {
		t.Errorf("found %v of 4 vertices, %v of 3, %v of 5", c.Whole(4), c.Whole(3), c.Whole(5))
	}
	for name, b := range map[string][]byte{
		"values that came before": slices.Concat(block(0, 2, 1), block(0, 1, 1)),
		"the same twice":          slices.Concat(block(0, 2, 1), block(0, 2, 1)),
		"too many":                block(1, 2, 1, 2),
		"none far away":           block(1, 4),
	} {
		if _, err := column().Write(b); err == nil {
			t.Errorf("%s are taken", name)
		}
	}
}

// TestValueTypes: the description of a type has everything that its encoding depends on.
func TestValueTypes(t *testing.T) {
	type list struct {
		Next *list
		Name string
	}
	type named uint64
	check := func(want string, found interface{ Type() string }, err error) {
		t.Helper()
		if err != nil || found.Type() != want {
			t.Errorf("found %v, %v, expected %s", found.Type(), err, want)
		}
	}
	numbers, err := newValues[struct {
		a named
		b [3]float32
		c bool
	}]()
	check("struct{uint64; [3]float32; bool}", numbers, err)
	texts, err := newValues[map[string][]*list]()
	check("map[string][]*struct{*pack.list; string}", texts, err)
	_, err = newValues[func()]()
	if err == nil || !strings.Contains(fmt.Sprint(err),
		"values of type func() cannot be encoded") {
		t.Errorf("found %v", err)
	}
	if _, err := NewColumn[func()](1, kernel.NewDeal(1), false).Write(make([]byte, blockHeader)); err == nil {
		t.Error("a column of functions takes a block")
	}
}
