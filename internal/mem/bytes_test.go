package mem

import "testing"

// TestBytesOfAnArena counts arrays on the Go heap and off it, what is trimmed, and nothing once it is closed.
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
	large := Make[uint64](&a, small)
	is(40 + 8*small)
	Trim(&a, large, small/2)
	is(40 + 4*small)
	a.Close()
	is(0)
}
