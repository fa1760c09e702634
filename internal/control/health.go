package control

import (
	"cmp"
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
	page := func(path string, why *atomic.Pointer[string], unset string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			status, text := http.StatusServiceUnavailable, *cmp.Or(why.Load(), &unset)
			if text == "" {
				status, text = http.StatusOK, "ok"
			}
			w.Header().Set("Cache-Control", "no-store")
			http.Error(w, text, status) // a line of plain text, of any status
		})
	}
	page("/healthz", &h.stuck, "")
	page("/readyz", &h.reason, "starting")
}
