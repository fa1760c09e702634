package master

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/superstep-go/superstep/internal/control"
)

// observed adds the pages of those who watch over the cluster. Health is for everyone. Metrics, and
// where workers have theirs, are for those with the cluster's token, or with one that opens nothing
// else.
func (s *server) observed(mux *http.ServeMux) {
	s.health.Handle(mux)
	guard := func(h http.Handler) http.Handler { return s.gate.Page(h, control.Reading, true) }
	if s.options.Metrics != nil {
		mux.Handle("GET /metrics", guard(s.options.Metrics))
	}
	mux.Handle("GET /metrics/targets", guard(http.HandlerFunc(s.targets)))
	if s.options.Page != nil {
		mux.Handle("/", s.options.Page(s))
	}
}

// Closing is closed when everything ends.
func (s *server) Closing() <-chan struct{} { return s.ctx.Done() }

// target is what Prometheus's http_sd wants to know of a place to scrape.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// resolveTime is how long a name may take to be resolved.
const resolveTime = time.Second

// scraped returns where the metrics of a worker are that registers from an address of peer, or
// nothing if it says that they are at another host: Prometheus would go there with its token.
func scraped(ctx context.Context, peer, address string) string {
	from, _, err := net.SplitHostPort(peer)
	if err != nil {
		return ""
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	source := net.ParseIP(from)
	same := func(ip net.IP) bool { return ip != nil && ip.Equal(source) }
	if ip := net.ParseIP(host); ip != nil {
		if own, _ := net.InterfaceAddrs(); source.IsLoopback() &&
			slices.ContainsFunc(own, func(a net.Addr) bool {
				n, ok := a.(*net.IPNet)
				return ok && n.IP.Equal(ip)
			}) || same(ip) {
			return address
		}
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	all, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil || !slices.ContainsFunc(all, func(a net.IPAddr) bool { return same(a.IP) }) {
		return ""
	}
	return net.JoinHostPort(from, port) // the name may be another host's later
}

// targets lists the workers that are there and have a port for it.
func (s *server) targets(w http.ResponseWriter, _ *http.Request) {
	all := []target{}
	s.mu.Lock()
	workers := s.workers()
	s.mu.Unlock()
	for _, k := range workers {
		there := k.State == control.WorkerState_WORKER_STATE_REGISTERED ||
			k.State == control.WorkerState_WORKER_STATE_LEAVING
		if there && k.HttpAddress != "" {
			labels := map[string]string{"worker": k.Name, "site": k.Site}
			if s.options.TLS != nil {
				labels["__scheme__"] = "https"
			}
			all = append(all, target{[]string{k.HttpAddress}, labels})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
}

// watched passes an event of a job on.
func (s *server) watched(id string, e *control.JobEvent) {
	if s.options.Watch != nil {
		owner := ""
		if j := s.cluster.jobs[id]; j != nil {
			owner = j.owner
		}
		s.options.Watch(id, s.shownEvent(s.ctx, owner, e)) // which readers are shown
	}
}
