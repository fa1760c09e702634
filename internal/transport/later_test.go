package transport

import "testing"

// TestLater runs two runs over one transport, the second after three supersteps of the first.
func TestLater(t *testing.T) {
	local := NewLocal(2)
	if e := local.Endpoint(0); Later(e, 0) != e {
		t.Error("a run after nothing has an endpoint of its own")
	}
	for _, past := range []int{0, 3} {
		a, b := Later(local.Endpoint(0), past), Later(local.Endpoint(1), past)
		frame := &Frame{From: 0, To: 1, Kind: Fold, Count: 7}
		for superstep := range 3 {
			frame.Superstep = superstep
			if err := a.Send(frame); err != nil {
				t.Fatal(err)
			}
			if frame.Superstep != superstep+past {
				t.Errorf("superstep %d travels as %d", superstep, frame.Superstep)
			}
			f, err := b.Receive(t.Context(), Fold)
			if err != nil || f.Superstep != superstep || f.Count != 7 {
				t.Errorf("superstep %d: came %+v, %v", superstep, f, err)
			}
			for i, e := range []Endpoint{a, b} {
				if account, err := e.End(t.Context(), superstep); err != nil ||
					account.Superstep != superstep || account.Partition != i {
					t.Errorf("superstep %d: the account of partition %d is %+v, %v", superstep, i,
						account, err)
				}
			}
		}
	}
}
