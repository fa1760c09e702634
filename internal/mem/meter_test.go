package mem

import "testing"

func TestMeter(t *testing.T) {
	var m Meter
	a, b := Arena{Meter: &m}, Arena{Meter: &m}
	s := Make[uint64](&a, 1<<20)
	Make[uint32](&b, 1<<20)
	Make[uint32](&b, 10) // on the heap
	if m.Now() != 12<<20 || m.Peak() != 12<<20 {
		t.Errorf("now %d, peak %d", m.Now(), m.Peak())
	}
	Trim(&a, s, 1<<19)
	b.Close()
	if m.Now() != 4<<20 || m.Peak() != 12<<20 {
		t.Errorf("now %d, peak %d", m.Now(), m.Peak())
	}
	a.Close()
	a.Close()
	if m.Now() != 0 {
		t.Errorf("%d bytes are left", m.Now())
	}
}
