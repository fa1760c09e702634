package graph500

import (
	"bytes"
	"encoding/json"
	"math"
)

// MarshalJSON returns the report as one object, a key a line: the specification's field names in
// its order, without those of a kernel that was not run, then what the run was and what it found.
func (r Report) MarshalJSON() ([]byte, error) {
	o := object{}
	o.add("SCALE", r.Scale)
	o.add("edgefactor", r.EdgeFactor)
	o.add("NBFS", len(r.Roots))
	o.add("graph_generation", finite(r.Generation))
	o.add("num_mpi_processes", r.Processes)
	o.add("construction_time", finite(r.Construction))
	o.kernel("bfs_", r.BFS)
	o.kernel("sssp_", r.SSSP)
	o.searches("bfs_", r.BFS)
	o.searches("sssp_", r.SSSP)
	o.add("roots", array(r.Roots))
	o.add("valid", r.Valid)
	o.add("seed1", r.Seeds[0])
	o.add("seed2", r.Seeds[1])
	o.add("peak_rss_bytes", r.PeakRSS)
	o.add("threads", r.Threads)
	o.add("partitions", r.Partitions)
	o.add("workers", r.Processes)
	o.add("grid", r.Grid())
	o.add("restarts", array(r.Restarts))
	return o.close()
}

// object is a JSON object as it is written, key by key in order.
type object struct {
	text bytes.Buffer
	err  error
}

func (o *object) add(key string, value any) {
	text, err := json.Marshal(value)
	if err != nil && o.err == nil {
		o.err = err
	}
	if o.text.Len() == 0 {
		o.text.WriteString("{\n")
	} else {
		o.text.WriteString(",\n")
	}
	o.text.WriteString("  \"" + key + "\": ")
	o.text.Write(text)
}

func (o *object) close() ([]byte, error) {
	o.text.WriteString("\n}\n")
	return o.text.Bytes(), o.err
}

func (o *object) kernel(prefix string, k Kernel) {
	if !k.ran() {
		return
	}
	time, nedge, teps, validate := k.statistics()
	o.statistics(prefix, "time", time)
	o.statistics(prefix, "nedge", nedge)
	for _, p := range teps.places() {
		o.add(prefix+p.name+"_TEPS", finite(p.value))
	}
	o.add(prefix+"harmonic_mean_TEPS", finite(teps.Mean))
	o.add(prefix+"harmonic_stddev_TEPS", finite(teps.Stddev))
	o.statistics(prefix, "validate", validate)
}

func (o *object) searches(prefix string, k Kernel) {
	if k.ran() {
		o.add(prefix+"time", k.Time)
		o.add(prefix+"nedge", k.Nedge)
		o.add(prefix+"validate", array(k.Validate))
		o.add(prefix+"translate", array(k.Translate))
	}
}

func (o *object) statistics(prefix, what string, s Statistics) {
	for _, p := range s.places() {
		o.add(prefix+p.name+"_"+what, finite(p.value))
	}
	o.add(prefix+"mean_"+what, finite(s.Mean))
	o.add(prefix+"stddev_"+what, finite(s.Stddev))
}

// finite returns x, or nil where JSON has no number for it: the rate of a search that took no time.
func finite(x float64) any {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return x
}

// array returns x, and an empty array rather than null for a nil one.
func array[T any](x []T) []T {
	if x == nil {
		return []T{}
	}
	return x
}
