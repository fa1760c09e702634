package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// NewMesh adds the metrics of a data plane to the set. The numbers of stats must never fall.
func (s *Set) NewMesh(stats func() mesh.Stats) {
	s.MustRegister(collector(func(to chan<- prometheus.Metric) { collectMesh(to, stats()) }))
}

// collectMesh collects the counters of a worker's mesh.
func collectMesh(to chan<- prometheus.Metric, s mesh.Stats) {
	c := collected{to, prometheus.CounterValue}
	c.by("direction", "mesh_frames_total", "Frames of supersteps that crossed the data plane.",
		values{"out": float64(s.FramesOut), "in": float64(s.FramesIn)})
	c.by("direction", "mesh_messages_total",
		"Other messages that crossed the data plane, such as those of loading a graph.",
		values{"out": float64(s.MessagesOut), "in": float64(s.MessagesIn)})
	c.by("direction", "mesh_bytes_total", "Bytes that crossed the data plane, headers included.",
		values{"out": float64(s.BytesOut), "in": float64(s.BytesIn)})
	c.by("size", "mesh_compressed_bytes_total",
		"Bytes that were compressed for other workers, before and after.",
		values{"before": float64(s.CompressedFrom), "after": float64(s.CompressedTo)})
	c.by("reason", "mesh_stale_frames_total", "Rejected frames: of another job, superstep "+
		"or incarnation, or for a partition that is not here.", values{
		"job": float64(s.StaleJob), "superstep": float64(s.StaleSuperstep),
		"incarnation": float64(s.StaleIncarnation), "misrouted": float64(s.Misrouted),
	})
	c.by("reason", "mesh_refused_connections_total",
		"Rejected connections, by reason.", values{
			"garbage": float64(s.Garbage), "version": float64(s.WrongVersion),
			"token": float64(s.WrongToken), "certificate": float64(s.WrongCertificate),
			"fenced": float64(s.Fenced),
		})
	c.one("mesh_broken_connections_total", "Connections to other workers that broke.",
		float64(s.Broken))
	c.one("mesh_corrupt_connections_total",
		"Connections given up because a frame was corrupt.", float64(s.Corrupt))
}
