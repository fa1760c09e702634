package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
)

// maxWorkers bounds the workers with their own series, the first by name. The counts by state
// include all workers.
const maxWorkers = 256

// master collects the state of a cluster at every scrape.
type master struct {
	unchecked
	status func() *control.StatusResponse
}

// NewMaster adds the metrics of a master to the set. status returns the state of the cluster.
func (s *Set) NewMaster(status func() *control.StatusResponse) {
	s.MustRegister(master{status: status})
}

func clusterDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("superstep_"+name, help, labels, nil)
}

// Metrics of a cluster.
var (
	workersDesc    = clusterDesc("workers", "Workers, by state; those that are gone are remembered for a while.", "state")
	sessionsDesc   = clusterDesc("workers_attached", "Workers that are registered and have a session: those that get work.")
	suspectedDesc  = clusterDesc("workers_suspected", "Workers that gossip takes for dead and whose lease lives yet.")
	coresDesc      = clusterDesc("workers_cores", "Threads of all workers that are there.")
	lostDesc       = clusterDesc("worker_losses_total", "Workers given up as their lease lapsed.")
	stragglersDesc = clusterDesc("straggler_moves_total", "Moves of jobs away from workers that were slow.")
	refusedDesc    = clusterDesc("refusals_total", "Workers that were not taken in, and callers with a wrong token or one connection too many.", "what")
	staleDesc      = clusterDesc("stale_messages_total", "Messages of workers that fitted nothing that was waited for.")
	jobsDesc       = clusterDesc("jobs", "Jobs that have not ended, by state.", "state")
	graphsDesc     = clusterDesc("graphs", "Graphs of the catalog, by state.", "state")
	graphMemDesc   = clusterDesc("graphs_memory_bytes", "Memory that the catalog's graphs take on all workers.")
	memoryDesc     = clusterDesc("worker_memory_bytes", "Memory that the worker has for graphs and jobs, as it said when it registered.", "worker")
	usedDesc       = clusterDesc("worker_memory_used_bytes", "Resident memory of the worker's process, by its last heartbeat.", "worker")
	limitDesc      = clusterDesc("worker_memory_limit_bytes", "The worker's budget of memory, if it has one.", "worker")
	heldDesc       = clusterDesc("worker_memory_held_bytes", "What arrays and Go's heap hold of the worker's budget, by its last heartbeat; what is spilled to files is not in it.", "worker")
	silenceDesc    = clusterDesc("worker_silence_seconds", "Time since the worker was last heard of.", "worker")
	upDesc         = clusterDesc("uptime_seconds", "Time since the master started.")
)

// Collect collects the state of the cluster.
func (m master) Collect(to chan<- prometheus.Metric) {
	s := m.status()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		send(to, d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		send(to, d, prometheus.CounterValue, float64(v), labels...)
	}
	states := map[control.WorkerState]int{}
	attached, suspected, cores, shown := 0, 0, 0, 0
	for _, w := range s.Workers {
		states[w.State]++
		if w.State != control.WorkerState_WORKER_STATE_REGISTERED && w.State != control.WorkerState_WORKER_STATE_LEAVING {
			continue
		}
		cores += int(w.Cores)
		if w.Attached && w.State == control.WorkerState_WORKER_STATE_REGISTERED {
			attached++
		}
		if w.Suspected {
			suspected++
		}
		if shown++; shown <= maxWorkers {
			gauge(memoryDesc, float64(w.Memory), w.Name)
			gauge(usedDesc, float64(w.MemoryUsed), w.Name)
			if b := w.Budget; b != nil {
				gauge(limitDesc, float64(b.Limit), w.Name)
				gauge(heldDesc, float64(b.Arrays+b.Heap), w.Name)
			}
			gauge(silenceDesc, w.HeardSeconds, w.Name)
		}
	}
	for state := control.WorkerState_WORKER_STATE_REGISTERED; state <= control.WorkerState_WORKER_STATE_LEFT; state++ {
		gauge(workersDesc, float64(states[state]), state.Word())
	}
	gauge(sessionsDesc, float64(attached))
	gauge(suspectedDesc, float64(suspected))
	gauge(coresDesc, float64(cores))
	counter(lostDesc, s.WorkersLost)
	counter(stragglersDesc, s.Stragglers)
	counter(refusedDesc, s.Refused-s.RefusedTokens, "worker")
	counter(refusedDesc, s.RefusedTokens, "token")
	counter(staleDesc, s.Stale)
	jobs := map[string]int{}
	for _, j := range s.Jobs {
		jobs[j.State.Word()]++
	}
	for _, state := range []string{trace.Queued, trace.Running} {
		gauge(jobsDesc, float64(jobs[state]), state)
	}
	graphs, bytes := map[control.GraphState]int{}, uint64(0)
	for _, g := range s.Graphs {
		graphs[g.State]++
		bytes += g.Bytes
	}
	for state := control.GraphState_GRAPH_STATE_LOADING; state <= control.GraphState_GRAPH_STATE_WAITING; state++ {
		gauge(graphsDesc, float64(graphs[state]), state.Word())
	}
	gauge(graphMemDesc, float64(bytes))
	gauge(upDesc, s.UptimeSeconds)
}

// send sends a metric. An invalid label only makes the scrape fail.
func send(to chan<- prometheus.Metric, d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	to <- m
}
