package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
)

// maxWorkers bounds the workers with their own series, the first by name. The counts by state
// include all workers.
const maxWorkers = 256

// NewMaster adds the metrics of a master to the set. status returns the state of the cluster.
func (s *Set) NewMaster(status func() *control.StatusResponse) {
	s.MustRegister(collector(func(to chan<- prometheus.Metric) { collectMaster(to, status()) }))
}

func clusterDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("superstep_"+name, help, labels, nil)
}

// collectMaster collects the state of the cluster.
func collectMaster(to chan<- prometheus.Metric, s *control.StatusResponse) {
	states, graphs, jobs := values{}, values{}, values{trace.Queued: 0, trace.Running: 0}
	for state := control.WorkerState_WORKER_STATE_REGISTERED; state <= control.WorkerState_WORKER_STATE_LEFT; state++ {
		states[state.Word()] = 0
	}
	memory, used, limit := values{}, values{}, values{}
	held, spilled, silence := values{}, values{}, values{}
	attached, suspected, cores := 0., 0., 0.
	for _, w := range s.Workers {
		states[w.State.Word()]++
		if w.State != control.WorkerState_WORKER_STATE_REGISTERED &&
			w.State != control.WorkerState_WORKER_STATE_LEAVING {
			continue
		}
		cores += float64(w.Cores)
		if w.Attached && w.State == control.WorkerState_WORKER_STATE_REGISTERED {
			attached++
		}
		if w.Suspected {
			suspected++
		}
		if len(memory) == maxWorkers {
			continue
		}
		memory[w.Name], used[w.Name] = float64(w.Memory), float64(w.MemoryUsed)
		silence[w.Name] = w.HeardSeconds
		if b := w.Budget; b != nil {
			limit[w.Name], held[w.Name] = float64(b.Limit), float64(b.Arrays+b.Heap)
			spilled[w.Name] = float64(b.Spilled)
		}
	}
	for _, j := range s.Jobs { // which have not ended
		jobs[j.State.Word()]++
	}
	for state := control.GraphState_GRAPH_STATE_LOADING; state <= control.GraphState_GRAPH_STATE_WAITING; state++ {
		graphs[state.Word()] = 0
	}
	bytes := 0.
	for _, g := range s.Graphs {
		graphs[g.State.Word()]++
		bytes += float64(g.Bytes)
	}
	gauge, counter := collected{to, prometheus.GaugeValue}, collected{to, prometheus.CounterValue}
	gauge.by("state", "workers", "Workers by state. Ended ones stay listed for a while.", states)
	gauge.one("workers_attached",
		"Registered workers that have a session, and so get work.", attached)
	gauge.one("workers_suspected",
		"Workers that gossip considers dead although their lease is valid.", suspected)
	gauge.one("workers_cores", "Threads of all registered and leaving workers.", cores)
	counter.one("worker_losses_total", "Workers whose lease expired.", float64(s.WorkersLost))
	counter.one("straggler_moves_total",
		"Moves of jobs away from workers that were slow.", float64(s.Stragglers))
	counter.by("what", "refusals_total", "Rejected workers, and callers with a wrong token or "+
		"above the limit of connections.",
		values{"worker": float64(s.Refused - s.RefusedTokens), "token": float64(s.RefusedTokens)})
	counter.one("stale_messages_total",
		"Messages of earlier incarnations, or for ended calls.", float64(s.Stale))
	gauge.by("state", "jobs", "Jobs that have not ended, by state.", jobs)
	gauge.by("state", "graphs", "Graphs of the catalog, by state.", graphs)
	gauge.one("graphs_memory_bytes", "Memory that the catalog's graphs take on all workers.", bytes)
	gauge.by("worker", "worker_memory_bytes",
		"Memory of the worker for graphs and jobs, as registered.", memory)
	gauge.by("worker", "worker_memory_used_bytes",
		"Resident memory of the worker's process, by its last heartbeat.", used)
	gauge.by("worker", "worker_memory_limit_bytes",
		"The worker's budget of memory, if it has one.", limit)
	gauge.by("worker", "worker_memory_held_bytes", "Memory of the worker's budget that arrays and "+
		"Go's heap use, by its last heartbeat, without arrays in files.", held)
	gauge.by("worker", "worker_memory_spilled_bytes", "Arrays kept in files.", spilled)
	gauge.by("worker", "worker_silence_seconds", "Time since the worker's last message.", silence)
	gauge.one("uptime_seconds", "Time since the master started.", s.UptimeSeconds)
}

// values are those of a family of metrics, by the value of its label.
type values map[string]float64

// collected is where families of metrics of a kind go.
type collected struct {
	to   chan<- prometheus.Metric
	kind prometheus.ValueType
}

// one sends a metric without labels.
func (c collected) one(name, help string, v float64) {
	send(c.to, clusterDesc(name, help), c.kind, v)
}

// by sends a metric for each value of a label.
func (c collected) by(label, name, help string, all values) {
	d := clusterDesc(name, help, label)
	for value, v := range all {
		send(c.to, d, c.kind, v, value)
	}
}

// send sends a metric. An invalid label only makes the scrape fail.
func send(
	to chan<- prometheus.Metric, d *prometheus.Desc, kind prometheus.ValueType, v float64,
	labels ...string,
) {
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	to <- m
}
