package control

import (
	"encoding/json"

	"github.com/superstep-go/superstep/internal/trace"
)

// FinalAggregates are what the job's aggregators ended with, as reports have them; nil if there are none.
func (j *Job) FinalAggregates() trace.Aggregates {
	var all trace.Aggregates
	for _, a := range j.GetAggregators() {
		if !json.Valid([]byte(a.Json)) {
			continue // left out, or of a master with other ideas
		}
		if all == nil {
			all = trace.Aggregates{}
		}
		all[a.Name] = json.RawMessage(a.Json)
	}
	return all
}
