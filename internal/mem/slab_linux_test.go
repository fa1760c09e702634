package mem

import (
	"testing"
	"unsafe"
)

// TestSlabs: small arrays share a huge page, which is freed with the last of them. A part that was
// in use is zero again when another array gets it.
func TestSlabs(t *testing.T) {
	if poisons {
		t.Skip("freed arrays must be inaccessible")
	}
	var l slabList
	var all [][]byte
	take := func(n int) []byte {
		t.Helper()
		data, err := l.take(n)
		if err != nil {
			t.Fatal(err)
		}
		if uintptr(unsafe.Pointer(&data[0]))%64 != 0 || len(data) < n || cap(data) != len(data) {
			t.Errorf("an array of %d bytes has %d", n, len(data))
		}
		for i, x := range data {
			if x != 0 {
				t.Fatalf("byte %d of %d is %d", i, n, x)
			}
			data[i] = 7
		}
		all = append(all, data)
		return data
	}
	for range 4 {
		take(hugePage/4 - 100)
	}
	if len(l.free) != 0 {
		t.Errorf("four quarters leave %d parts", len(l.free))
	}
	l.leave(all[1])
	if small := take(minMap); &small[0] != &all[1][0] {
		t.Error("a freed part is not used again")
	}
	rest := take(hugePage / 8)
	if &rest[0] != &all[1][minMap] {
		t.Error("the rest of a freed part is not used again")
	}
	other := take(hugePage - 1)
	if freed := l.leave(other); len(freed) != hugePage || &freed[0] != &other[0] {
		t.Error("an unused slab is not freed")
	} else {
		release(freed)
	}
	for i, data := range [][]byte{all[0], all[2], all[3], rest, all[4]} {
		freed := l.leave(data)
		if last := i == 4; (freed != nil) != last {
			t.Errorf("freed %d bytes after %d of 5 arrays", len(freed), i+1)
		}
		release(freed)
	}
	if len(l.free) != 0 || len(l.used) != 0 {
		t.Errorf("%d parts are free, %d are used", len(l.free), len(l.used))
	}
}
