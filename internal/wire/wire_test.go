package wire

import "testing"

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
