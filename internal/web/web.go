// Package web serves the page about runs and the HTTP API behind it, for a local run, a saved trace
// or a master. A Source provides the data. docs/operating.md describes the page, and openapi.json
// the API.
package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/resultlines"
)

// Source provides the data of the page and the API: recorded runs, graphs and workers. Its methods
// may be called concurrently. Neither the Source nor the caller may change what they return.
type Source interface {
	About() About
	Graphs() []Graph
	Workers() []Worker
	recorded() *history.Store
	// Result passes the lines of a job's result to each, and form returns their format.
	Result(ctx context.Context, id string, each func(data []byte) error) error
	form(id string) (resultlines.Form, error)
}

// About describes the Source.
type About struct {
	Kind    string `json:"kind"` // run, file or master
	Name    string `json:"name"` // the command line, the files, or the cluster
	Version string `json:"version"`
	// Programs are the programs that jobs can run; none if the page is read-only.
	Programs []string `json:"programs,omitempty"`
}

// Graph is a graph in memory.
type Graph struct {
	Name       string  `json:"name"`
	State      string  `json:"state"`
	Reason     string  `json:"reason,omitempty"`
	Vertices   uint64  `json:"vertices"`
	Arcs       uint64  `json:"arcs"`
	Directed   bool    `json:"directed"`
	Bytes      int64   `json:"bytes"`
	Partitions int     `json:"partitions"`
	Grid       string  `json:"grid,omitempty"`
	Seconds    float64 `json:"load_seconds"`
	Origin     string  `json:"source,omitempty"` // its file or generator
	// Stage is the current stage of loading, if any. Done of Total is its progress. Total is 0 if
	// unknown.
	Stage string `json:"stage,omitempty"`
	Done  int64  `json:"done,omitempty"`
	Total int64  `json:"total,omitempty"`
}

// Worker is a process that holds partitions.
type Worker struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Site    string `json:"site,omitempty"`
	Address string `json:"address,omitempty"`
	Threads int    `json:"threads"`
	Memory  int64  `json:"memory"` // limit, in bytes
	Used    int64  `json:"memory_used"`
	// Heard is the time since the worker's last message, in seconds.
	Heard  float64 `json:"heard_seconds"`
	Recent Recent  `json:"recent,omitempty"`
}

// Options configure a Site.
type Options struct {
	// Gate authorizes callers of the API.
	Gate *control.Gate
	// Metrics, if not nil, is served at /metrics to callers that may read.
	Metrics http.Handler
	// Control, if not nil, submits and cancels jobs, and loads and drops graphs.
	Control *Cluster
	// Closing is closed to end the streams of events.
	Closing <-chan struct{}
}

// Site is the page and the API.
type Site struct {
	source  Source
	store   *history.Store // the source's
	options Options
	gate    *control.Gate
	mux     *http.ServeMux // files and metrics
	api     *http.ServeMux
	streams streams
	surveys *surveys
}

// Limits of concurrent streams of events: in all, and per caller and host.
const (
	maxStreams    = 128
	maxOwnStreams = 32
)

// writeTimeout limits the time to send an answer, or a part of a result.
const writeTimeout = 30 * time.Second

// New makes a Site.
func New(source Source, o Options) *Site {
	s := &Site{source: source, store: source.recorded(), options: o, gate: o.Gate, mux: http.NewServeMux(), api: http.NewServeMux(), streams: streams{of: map[string]int{}}, surveys: newSurveys(o.Closing)}
	s.routes()
	return s
}

func (s *Site) routes() {
	s.mux.Handle("GET /{file...}", compress(http.HandlerFunc(file)))
	if s.options.Metrics != nil {
		s.mux.Handle("GET "+metricsPath, s.options.Metrics)
	}
	packed := func(path string, answer http.HandlerFunc) {
		s.api.Handle("GET /api/v1/"+path, compress(answer))
	}
	packed("openapi.json", s.schema)
	s.api.HandleFunc("POST /api/v1/session", s.enter)
	s.api.HandleFunc("DELETE /api/v1/session", s.leave)
	s.api.HandleFunc("GET /api/v1/events", s.events)
	get := func(path string, answer func(r *http.Request) (any, error)) {
		packed(path, func(w http.ResponseWriter, r *http.Request) {
			body, err := answer(r)
			if failed(w, err) {
				return
			}
			reply(w, http.StatusOK, body)
		})
	}
	if s.options.Control != nil {
		s.api.HandleFunc("POST /api/v1/graphs", s.loadGraph)
		s.api.HandleFunc("POST /api/v1/graphs/{graph}/drop", s.dropGraph)
		s.api.HandleFunc("POST /api/v1/jobs", s.submit)
		s.api.HandleFunc("POST /api/v1/jobs/{job}/cancel", s.cancel)
		get("forms", func(*http.Request) (any, error) { return s.options.Control.Forms(), nil })
		get("workers/{worker}", s.worker)
	}
	s.api.HandleFunc("GET /api/v1/jobs/{job}/result", s.result)
	packed("jobs/{job}/values", s.values)
	get("jobs/{job}/value", s.value)
	get("about", func(*http.Request) (any, error) { return s.source.About(), nil })
	get("graphs", func(*http.Request) (any, error) { return list(s.source.Graphs()), nil })
	get("workers", s.workers)
	get("stages", func(*http.Request) (any, error) { return list(s.store.Stages()), nil })
	get("log", func(*http.Request) (any, error) { return list(s.store.Lines()), nil })
	get("jobs", s.jobs)
	get("jobs/{job}", func(r *http.Request) (any, error) { return s.store.Job(r.PathValue("job")) })
	get("jobs/{job}/steps", s.steps)
	get("jobs/{job}/steps/{superstep}", s.detail)
	get("jobs/{job}/partitions",
		func(r *http.Request) (any, error) { return s.store.Whole(r.PathValue("job")) })
	get("jobs/{job}/lanes", s.lanes)
	get("jobs/{job}/report", func(r *http.Request) (any, error) {
		text, err := s.store.Report(r.PathValue("job"))
		return struct {
			Text string `json:"text"`
		}{text}, err
	})
	s.api.HandleFunc(apiPrefix, s.elsewhere)
}

// elsewhere answers requests that no route matches. The status is 405 if the path has other
// methods, else 404.
func (s *Site) elsewhere(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodPost} {
		if _, pattern := s.api.Handler(&http.Request{Method: method, Host: r.Host, URL: r.URL}); pattern != apiPrefix {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		fail(w, errNoPath)
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	fail(w, refuse(http.StatusMethodNotAllowed, "found method %.20s, expected %s", r.Method,
		strings.Join(allowed, " or ")))
}

// ServeHTTP answers a request, if check permits it.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harden(w.Header())
	r, err := s.check(r)
	if failed(w, err) {
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	switch {
	case strings.HasPrefix(r.URL.Path, apiPrefix):
		s.api.ServeHTTP(w, r)
		return
	case r.URL.Path == "/" && r.URL.Query().Has(tokenKey):
		// The session is for the token in the printed link. The browser's history has no token.
		w.Header().Set("Cache-Control", "no-store")
		if s.begin(w, r, r.URL.Query().Get(tokenKey)) {
			http.Redirect(w, r, "/", http.StatusSeeOther)
		}
		return
	}
	s.mux.ServeHTTP(w, r)
}

// refusal is an error with its HTTP status.
type refusal struct {
	status int
	text   string
}

func (e *refusal) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

var errNoPath = &refusal{http.StatusNotFound, "the API has no such path: see /api/v1/openapi.json"}

func statusOf(err error) int {
	var r *refusal
	var call *connect.Error
	switch {
	case errors.As(err, &r):
		return r.status
	case errors.As(err, new(*history.NoJob)):
		return http.StatusNotFound
	case errors.As(err, &call) && statuses[call.Code()] != 0:
		return statuses[call.Code()]
	default:
		return http.StatusInternalServerError
	}
}
