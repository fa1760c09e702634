package wire

import (
	"math"
	"testing"
)

func TestViewsShareMemory(t *testing.T) {
	s := []uint32{1, 0x01020304}
	b := Bytes(s)
	if len(b) != 8 || b[0] != 1 || b[4] != 4 {
		t.Fatal(b)
	}
	back := Slice[uint32](b)
	back[0] = 9
	if s[0] != 9 || len(back) != 2 {
		t.Fatal("not the same memory")
	}
	if odd := Slice[uint32](b[1:6]); len(odd) != 1 || odd[0] != 0x04000000 {
		t.Fatalf("%x", odd)
	}
	if Bytes([]uint64(nil)) != nil || Slice[uint64](nil) != nil || Slice[struct{}](b) != nil {
		t.Fatal("empty views")
	}
}

func TestLoadAndStore(t *testing.T) {
	singles, doubles := []float32{1, 2, 3}, []float64{1, 2, 3}
	for i, x := range []float64{-0.5, math.Inf(1), math.Copysign(0, -1)} {
		Store(&singles[i], float32(x))
		Store(&doubles[i], x)
		if one, two := Load(&singles[i]),
			Load(&doubles[i]); math.Float32bits(one) != math.Float32bits(float32(x)) ||
			math.Float64bits(two) != math.Float64bits(x) {
			t.Fatal(one, two, "for", x)
		}
		if i < 2 && (singles[i+1] != float32(i+2) || doubles[i+1] != float64(i+2)) {
			t.Fatal("the number after it was written", singles, doubles)
		}
	}
}
