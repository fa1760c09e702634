package mem

import "testing"

// TestUse counts the arrays of two arenas together.
func TestUse(t *testing.T) {
	m := NewBudget(1<<30, "")
	a, b := Arena{Budget: m}, Arena{Budget: m}
	s := Make[uint64](&a, 1<<20)
	Make[uint32](&b, 1<<20)
	Make[uint32](&b, 10) // on the heap
	if m.Use().Memory != 12<<20 || m.Use().Peak != 12<<20 {
		t.Errorf("now %d, peak %d", m.Use().Memory, m.Use().Peak)
	}
	Trim(&a, s, 1<<19)
	b.Close()
	if m.Use().Memory != 4<<20 || m.Use().Peak != 12<<20 {
		t.Errorf("now %d, peak %d", m.Use().Memory, m.Use().Peak)
	}
	a.Close()
	a.Close()
	if m.Use().Memory != 0 {
		t.Errorf("%d bytes are left", m.Use().Memory)
	}
}
