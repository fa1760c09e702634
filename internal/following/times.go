package following

import (
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// Times is a journal that keeps the seconds of a job's supersteps in which a vertex ran.
type Times map[int]float64

// Record records a superstep. A superstep that runs again after a failure replaces the earlier one.
func (t Times) Record(e trace.Event) error {
	if s, ok := e.(*record.Superstep); ok && s.Ran() {
		t[s.Superstep] = s.Seconds
	}
	return nil
}

// Seconds returns the seconds of a number of supersteps, with unknown for those that were not
// received.
func (t Times) Seconds(supersteps int, unknown float64) []float64 {
	all := make([]float64, supersteps)
	for i := range all {
		seconds, ok := t[i]
		if all[i] = seconds; !ok {
			all[i] = unknown
		}
	}
	return all
}
