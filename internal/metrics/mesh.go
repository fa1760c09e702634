package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/superstep-go/superstep/internal/transport/mesh"
)

// dataPlane collects the counters of a worker's mesh at every scrape.
type dataPlane struct {
	unchecked
	stats func() mesh.Stats
}

// NewMesh adds the metrics of a data plane to the set. The numbers of stats must never fall.
func (s *Set) NewMesh(stats func() mesh.Stats) { s.MustRegister(dataPlane{stats: stats}) }

// Metrics of a data plane.
var (
	framesDesc   = clusterDesc("mesh_frames_total", "Frames of supersteps that crossed the data plane.", "direction")
	exchangeDesc = clusterDesc("mesh_messages_total", "Other messages that crossed the data plane, such as those of loading a graph.", "direction")
	bytesDesc    = clusterDesc("mesh_bytes_total", "Bytes that crossed the data plane, headers included.", "direction")
	pressedDesc  = clusterDesc("mesh_compressed_bytes_total", "Bytes that were compressed for other workers, before and after.", "size")
	oldDesc      = clusterDesc("mesh_stale_frames_total", "Frames that were refused: of another job, superstep or incarnation, or for a partition that is not here.", "reason")
	turnedDesc   = clusterDesc("mesh_refused_connections_total", "Connections that were not let in, by why.", "reason")
	brokenDesc   = clusterDesc("mesh_broken_connections_total", "Connections to other workers that broke.")
	corruptDesc  = clusterDesc("mesh_corrupt_connections_total", "Connections given up because a frame was corrupt.")
)

// Collect collects the counters.
func (p dataPlane) Collect(to chan<- prometheus.Metric) {
	s := p.stats()
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		send(to, d, prometheus.CounterValue, float64(v), labels...)
	}
	count(framesDesc, s.FramesOut, "out")
	count(framesDesc, s.FramesIn, "in")
	count(exchangeDesc, s.MessagesOut, "out")
	count(exchangeDesc, s.MessagesIn, "in")
	count(bytesDesc, s.BytesOut, "out")
	count(bytesDesc, s.BytesIn, "in")
	count(pressedDesc, s.CompressedFrom, "before")
	count(pressedDesc, s.CompressedTo, "after")
	count(oldDesc, s.StaleJob, "job")
	count(oldDesc, s.StaleSuperstep, "superstep")
	count(oldDesc, s.StaleIncarnation, "incarnation")
	count(oldDesc, s.Misrouted, "misrouted")
	count(turnedDesc, s.Garbage, "garbage")
	count(turnedDesc, s.WrongVersion, "version")
	count(turnedDesc, s.WrongToken, "token")
	count(turnedDesc, s.WrongCertificate, "certificate")
	count(turnedDesc, s.Fenced, "fenced")
	count(brokenDesc, s.Broken)
	count(corruptDesc, s.Corrupt)
}
