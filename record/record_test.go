package record

import "testing"

// TestEndCountsWaiting: the time after a partition has finished counts as waiting.
func TestEndCountsWaiting(t *testing.T) {
	s := &Superstep{Partitions: []Partition{{Times: Seconds{Wait: 1, Total: 2}}, {Times: Seconds{Total: 5}}}}
	s.End(5)
	if a, b := s.Partitions[0].Times, s.Partitions[1].Times; a != (Seconds{Wait: 4, Total: 5}) ||
		b != (Seconds{Total: 5}) || s.Seconds != 5 {
		t.Errorf("found %+v, %+v, %g", a, b, s.Seconds)
	}
}
