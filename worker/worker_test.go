package worker

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
)

// holder is a master that holds a name for a while, and then refuses it for good.
type holder struct {
	control.UnimplementedWorkersHandler
	mu    sync.Mutex
	calls []time.Time
}

const heldFor = 400 * time.Millisecond

func (h *holder) Register(context.Context, *connect.Request[control.RegisterRequest]) (*connect.Response[control.RegisterResponse], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, time.Now())
	if len(h.calls) > 1 {
		return nil, control.Wire(control.Refuse(control.Refusal_KIND_INVALID, "enough"))
	}
	r := control.Refuse(control.Refusal_KIND_HELD, "the name is held")
	r.Wait = heldFor
	return nil, control.Wire(r)
}

// TestHeldName: a worker whose name is held waits for as long as it is told, and says so once.
func TestHeldName(t *testing.T) {
	h := &holder{}
	mux := http.NewServeMux()
	mux.Handle(control.NewWorkersHandler(h))
	server := httptest.NewUnstartedServer(nil)
	server.Config = control.NewHTTPServer(mux, t.Context())
	server.Start()
	defer server.Close()
	var log bytes.Buffer
	err := Run(t.Context(), Options{
		Master: server.Listener.Addr().String(), About: &control.RegisterRequest{Name: "w", Protocol: control.Protocol},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err == nil || !strings.HasSuffix(err.Error(), "refuses this worker: enough") {
		t.Errorf("found %v", err)
	}
	if len(h.calls) != 2 || h.calls[1].Sub(h.calls[0]) < heldFor {
		t.Errorf("it asked at %v, expected twice, %v apart at least", h.calls, heldFor)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `level=INFO msg="waiting for the name"`) {
		t.Errorf("it said %q", text)
	}
}
