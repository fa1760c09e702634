package graph500

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// MarshalJSON returns the report as one object, with one key per line: first the specification's
// fields in its order, without those of kernels that did not run, then the run's configuration and
// other results.
func (r Report) MarshalJSON() ([]byte, error) {
	all := r.run()
	for _, k := range r.kernels() {
		for _, figure := range figures {
			for _, e := range k.entries(figure) {
				all = append(all, entry{k.name + "_" + e.key, e.value})
			}
		}
	}
	for _, k := range r.kernels() {
		all = append(all, entry{k.name + "_time", k.Time}, entry{k.name + "_nedge", k.Nedge},
			entry{k.name + "_validate", array(k.Validate)},
			entry{k.name + "_translate", array(k.Translate)})
	}
	all = append(all, []entry{
		{"roots", array(r.Roots)},
		{"valid", r.Valid},
		{"seed1", r.Seeds[0]},
		{"seed2", r.Seeds[1]},
		{"peak_rss_bytes", r.PeakRSS},
		{"threads", r.Threads},
		{"partitions", r.Partitions},
		{"workers", r.Processes},
		{"grid", r.Grid()},
		{"restarts", array(r.Restarts)},
	}...)
	var text bytes.Buffer
	between := "{"
	for _, e := range all {
		if x, ok := e.value.(float64); ok && (math.IsInf(x, 0) || math.IsNaN(x)) {
			e.value = nil // JSON cannot encode an infinite rate
		}
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%s\n  %q: %s", between, e.key, value)
		between = ","
	}
	text.WriteString("\n}\n")
	return text.Bytes(), nil
}

// array returns x, or an empty array if x is nil, which JSON would encode as null.
func array[T any](x []T) []T {
	if x == nil {
		return []T{}
	}
	return x
}
