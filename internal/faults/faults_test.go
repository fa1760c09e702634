package faults

import (
	"errors"
	"testing"
)

func TestPointsFailWhileSet(t *testing.T) {
	refused := errors.New("refused")
	reset := Set(func(point, who string) error {
		if point == Sending && who == "w1" {
			return refused
		}
		return nil
	})
	if err := At(Sending, "w1"); err != refused {
		t.Errorf("found %v", err)
	}
	if err := errors.Join(At(Sending, "w2"), At(Computing, "w1")); err != nil {
		t.Error(err)
	}
	reset()
	if err := At(Sending, "w1"); err != nil {
		t.Errorf("after the reset: %v", err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = At(Sending, "w1") }); n > 0 {
		t.Errorf("a point that is off allocates %v times", n)
	}
}
