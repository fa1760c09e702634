package parallel

import (
	"errors"
	"testing"
)

// TestFirst: the error at the least position counts, in any order.
func TestFirst(t *testing.T) {
	var f First
	if f.Err() != nil || f.Before(7) {
		t.Error("an error before any was reported")
	}
	least := errors.New("least")
	f.Report(5, errors.New("later"))
	f.Report(3, least)
	f.Report(9, errors.New("latest"))
	if f.Err() != least || f.Before(3) || !f.Before(4) {
		t.Errorf("found %v, before 3 %t, before 4 %t", f.Err(), f.Before(3), f.Before(4))
	}
}
