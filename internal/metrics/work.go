package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/superstep-go/superstep/record"
)

// Work counts the work of this process's partitions.
type Work struct {
	phases          [len(record.Phases)]prometheus.Counter
	vertices, edges prometheus.Counter
	partitions      prometheus.Counter
	values, bytes   prometheus.Counter
}

// NewWork adds the metrics of partitions to the set.
func (s *Set) NewWork() *Work {
	phases := s.counters("superstep_phase_seconds_total",
		"Time that this process's partitions spent in the phases of supersteps, summed over partitions; traverse includes compute where both are one loop.", "phase")
	w := &Work{
		vertices: s.counter("superstep_vertices_computed_total",
			"Vertices that this process's partitions ran."),
		edges: s.counter("superstep_edges_walked_total",
			"Edges that this process's partitions walked to deliver messages."),
		partitions: s.counter("superstep_partition_supersteps_total",
			"Supersteps of this process's partitions, each partition counted."),
		values: s.counter("superstep_sent_values_total",
			"Combined messages that this process's partitions sent to other partitions."),
		bytes: s.counter("superstep_sent_bytes_total", "Bytes of presence and values that this process's partitions sent to other partitions."),
	}
	for i, phase := range record.Phases {
		w.phases[i] = phases.WithLabelValues(phase)
	}
	return w
}

// record counts a partition's superstep.
func (w *Work) record(p *record.Partition) {
	for i, seconds := range p.Times.ByPhase() {
		w.phases[i].Add(max(0, seconds))
	}
	w.partitions.Inc()
	w.vertices.Add(float64(p.Computed))
	w.edges.Add(float64(p.Walked))
	w.values.Add(float64(p.Sent))
	w.bytes.Add(float64(p.Bytes))
}
