package master

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/superstep-go/superstep/internal/control"
)

// observed adds the pages of those who watch over the cluster. Health is for everyone. Metrics, and where workers have
// theirs, are for those with the cluster's token, or with one that opens nothing else.
func (s *Server) observed(mux *http.ServeMux) {
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
func (s *Server) Closing() <-chan struct{} { return s.ctx.Done() }

var errName = errors.New("without a token only names of this machine are answered to, such as 127.0.0.1 or localhost (--token-file allows others)")

// atHome refuses what a browser may have been led into: without a token, requests to names that are not this machine's,
// which another site's name can be made to lead here by (DNS rebinding). Workers and clients send POST, without an origin.
func (s *Server) atHome(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		health := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		led := r.Method != http.MethodPost || r.Header.Get("Origin") != ""
		if led && !health && s.gate.Open() && !control.Local(r.Host) {
			s.turnAway(r.RemoteAddr, errName)
			control.Deny(w, http.StatusForbidden, errName.Error())
			return
		}
		next.ServeHTTP(w, r)
	})
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
func (s *Server) watched(id string, e *control.JobEvent) {
	if s.options.Watch != nil {
		s.options.Watch(id, e)
	}
}
