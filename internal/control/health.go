package control

import (
	"io"
	"net/http"
	"sync/atomic"
)

// Health serves /healthz, which tells whether the process is alive and not stuck, and /readyz,
// which tells whether it can accept work. They need no token and reveal nothing else. The zero
// value is not ready.
type Health struct {
	reason atomic.Pointer[string]
	stuck  atomic.Pointer[string]
}

// Ready notes that the process can accept work.
func (h *Health) Ready() { h.reason.Store(new(string)) }

// NotReady notes why it cannot, in a few words.
func (h *Health) NotReady(why string) { h.reason.Store(&why) }

// Stuck notes why the process is stuck; an empty text means that it is not.
func (h *Health) Stuck(why string) { h.stuck.Store(&why) }

// Handle adds both pages to mux.
func (h *Health) Handle(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if why := h.stuck.Load(); why != nil && *why != "" {
			answer(w, http.StatusServiceUnavailable, *why)
			return
		}
		answer(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch why := h.reason.Load(); {
		case why == nil:
			answer(w, http.StatusServiceUnavailable, "starting")
		case *why != "":
			answer(w, http.StatusServiceUnavailable, *why)
		default:
			answer(w, http.StatusOK, "ok")
		}
	})
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
