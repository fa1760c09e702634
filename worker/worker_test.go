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

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/membership"
	"github.com/superstep-go/superstep/internal/testcluster/memgroup"
)

// holder is a master that holds a name for a while, and then refuses it permanently.
type holder struct {
	control.UnimplementedWorkersHandler
	mu    sync.Mutex
	calls []time.Time
}

const heldFor = 400 * time.Millisecond

func (h *holder) Register(
	context.Context, *control.RegisterRequest,
) (*control.RegisterResponse, error) {
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

// TestHeldName: a worker whose name is held waits as long as the master asks, and logs this once.
func TestHeldName(t *testing.T) {
	h := &holder{}
	mux := http.NewServeMux()
	gate := &control.Gate{Credentials: control.Credentials{Token: clusterToken}}
	mux.Handle(control.ChallengePath, control.Challenge(gate))
	path, service := control.NewWorkersHandler(h)
	mux.Handle(path, gate.Service(service))
	server := httptest.NewUnstartedServer(nil)
	server.Config = control.NewHTTPServer(mux, t.Context())
	server.Start()
	defer server.Close()
	var log bytes.Buffer
	err := runWorker(t,
		Config{Options: Options{Name: "w", Master: server.Listener.Addr().String(), Log: slog.New(slog.NewTextHandler(&log, nil))}, Worker: daemon.Worker{Process: daemon.Process{Token: clusterToken}, Listener: listen(t)}})
	if err == nil || !strings.HasSuffix(err.Error(), "refuses this worker: enough") {
		t.Errorf("found %v", err)
	}
	if len(h.calls) != 2 || h.calls[1].Sub(h.calls[0]) < heldFor {
		t.Errorf("it asked at %v, expected twice, %v apart at least", h.calls, heldFor)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 ||
		!strings.Contains(text, `level=INFO msg="waiting for the name"`) {
		t.Errorf("its output is %q", text)
	}
}

// runWorker runs a worker until it ends by itself.
func runWorker(t *testing.T, o Config) error {
	t.Helper()
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return w.Run(t.Context())
}

// TestNoTokenForWhatGossipFinds: a process poses as the master by gossip. It gets no token from a
// worker, and cannot stop the worker.
func TestNoTokenForWhatGossipFinds(t *testing.T) {
	const secret = "the-token-of-a-cluster"
	token, err := control.NewToken(secret, "test")
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{http.StatusOK, http.StatusUnauthorized, http.StatusNotFound} {
		var mu sync.Mutex
		var seen strings.Builder
		calls := 0
		server := httptest.NewUnstartedServer(nil)
		server.Config = control.NewHTTPServer(http.HandlerFunc(func(w http.ResponseWriter,
			r *http.Request,
		) {
			mu.Lock()
			defer mu.Unlock()
			calls++
			_ = r.Write(&seen)
			w.WriteHeader(status)
			if r.Header.Get("Authorization") == "" {
				_, _ = w.Write(bytes.Repeat([]byte("0"), 144)) // a challenge
			} else {
				_, _ = w.Write(bytes.Repeat([]byte("0"), 64))
			}
		}), t.Context())
		server.Start()
		mesh := memgroup.New()
		group, err := mesh.Add(membership.Member{Name: "m", Role: membership.Master, Control: server.Listener.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		err = runWorker(t,
			Config{Options: Options{Name: "w", Hold: 200 * time.Millisecond}, Worker: daemon.Worker{Process: daemon.Process{Token: token}, Group: group, Listener: listen(t)}})
		if err == nil || !strings.Contains(err.Error(), "no master for 200ms") {
			t.Errorf("status %d: ended with %v", status, err)
		}
		if text := seen.String(); calls < 2 || strings.Contains(text, secret) ||
			strings.Contains(text, "Bearer") || strings.Contains(text, "Register") {
			t.Errorf("status %d: was sent in %d calls\n%s", status, calls, text)
		}
		_ = group.Close()
		server.Close()
	}
}
