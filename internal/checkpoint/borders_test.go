package checkpoint

import (
	"slices"
	"testing"
)

// TestBorders keeps the states before the two newest supersteps, which count when all partitions' are there.
func TestBorders(t *testing.T) {
	b := NewBorders(2)
	for s := 1; s <= 5; s++ {
		for p := range 2 {
			if s < 5 || p == 0 {
				b.Add(&Part{Partition: p, Of: 3, Superstep: s})
			}
		}
	}
	if got := b.Supersteps(); !slices.Equal(got, []int{4}) {
		t.Errorf("found %v", got)
	}
	if b.Before(3) != nil || b.Before(5) != nil || len(b.Before(4)) != 2 {
		t.Errorf("found %v, %v, %v", b.Before(3), b.Before(5), b.Before(4))
	}
	b.Seal()
	b.Add(&Part{Partition: 1, Of: 3, Superstep: 5})
	if got := b.Supersteps(); !slices.Equal(got, []int{4}) || !b.Sealed() {
		t.Errorf("sealed: found %v", got)
	}
}
