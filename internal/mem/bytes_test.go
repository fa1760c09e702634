package mem

import "testing"

// TestBytesOfAnArena counts arrays on the Go heap and outside it, and trimmed arrays. A closed
// arena has none.
func TestBytesOfAnArena(t *testing.T) {
	var a Arena
	is := func(want int64) {
		t.Helper()
		if got := a.Bytes(); got != want {
			t.Errorf("%d bytes, expected %d", got, want)
		}
	}
	is(0)
	Make[uint32](&a, 10)
	is(40)
	large := Make[uint64](&a, minMap)
	is(40 + 8*minMap)
	Trim(&a, large, minMap/2)
	is(40 + 4*minMap)
	a.Close()
	is(0)
}

// TestAdopt moves arrays from one arena to another, which frees them.
func TestAdopt(t *testing.T) {
	m := NewBudget(1<<30, "")
	a, b := Arena{Kind: Graph, Budget: m}, Arena{Kind: Loading, Budget: m}
	Make[uint32](&a, 10)
	of := Make[uint64](&b, minMap)
	Make[uint64](&b, 1)
	a.Adopt(&b)
	b.Close()
	of[minMap-1] = 1 // it has not been freed
	if a.Bytes() != 40+8*minMap+8 || b.Bytes() != 0 || m.Use().Memory != 8*minMap {
		t.Errorf("%d and %d bytes, %d counted", a.Bytes(), b.Bytes(), m.Use().Memory)
	}
	a.Close()
	if len(m.Use().Kinds) != 0 {
		t.Errorf("%v is left", m.Use())
	}
}
