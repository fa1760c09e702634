package master

import (
	"encoding/json"
	"net/http"

	"github.com/superstep-go/superstep/internal/control"
)

// observed adds the pages of those who watch over the cluster. Health is for everyone. Metrics, and where workers have
// theirs, are for those with the cluster's token, or with one that opens nothing else.
func (s *Server) observed(mux *http.ServeMux) {
	s.health.Handle(mux)
	guard := func(h http.Handler) http.Handler {
		return control.Guard(h, s.turnAway, s.options.Token, s.options.MetricsToken)
	}
	if s.options.Metrics != nil {
		mux.Handle("GET /metrics", guard(s.options.Metrics))
	}
	mux.Handle("GET /metrics/targets", guard(http.HandlerFunc(s.targets)))
}

// target is what Prometheus's http_sd wants to know of a place to scrape.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// targets lists the workers that are there and have a port for it.
func (s *Server) targets(w http.ResponseWriter, _ *http.Request) {
	all := []target{}
	for _, k := range s.status().Workers {
		there := k.State == control.WorkerState_WORKER_STATE_REGISTERED || k.State == control.WorkerState_WORKER_STATE_LEAVING
		if there && k.HttpAddress != "" {
			all = append(all, target{[]string{k.HttpAddress}, map[string]string{"worker": k.Name, "site": k.Site}})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
}

// watched passes an event of a job on.
func (s *Server) watched(id string, e *control.JobEvent) {
	if s.options.Watch != nil {
		s.options.Watch(id, e)
	}
}
