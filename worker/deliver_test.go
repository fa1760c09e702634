package worker

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
)

// taker is a master that takes values up to a number of chunks, and then answers.
type taker struct {
	control.UnimplementedWorkersHandler
	chunks int
	answer error
}

func (m *taker) DeliverValues(
	_ context.Context, stream *connect.ClientStream[control.ValuesChunk],
) (*control.DeliverValuesResponse, error) {
	for m.chunks != 0 && stream.Receive() {
		m.chunks--
	}
	return &control.DeliverValuesResponse{}, errors.Join(m.answer, stream.Err())
}

// TestDeliveredOnlyIfTheMasterConfirms: values count as delivered only if the master confirms all
// of them. If it refuses them, at the end or before, its reason is the error.
func TestDeliveredOnlyIfTheMasterConfirms(t *testing.T) {
	full := errors.New("the disk is full")
	for name, c := range map[string]struct {
		chunks int // that the master takes; all if negative
		answer error
		want   string
	}{
		"all taken":       {-1, nil, ""},
		"refused at last": {-1, connect.NewError(connect.CodeUnknown, full), full.Error()},
		"refused at once": {1, connect.NewError(connect.CodeUnknown, full), full.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			gate := &control.Gate{Credentials: control.Credentials{Token: clusterToken}}
			mux.Handle(control.ChallengePath, control.Challenge(gate))
			path, service := control.NewWorkersHandler(&taker{chunks: c.chunks, answer: c.answer})
			mux.Handle(path, gate.Service(service))
			server := httptest.NewUnstartedServer(nil)
			server.Config = control.NewHTTPServer(mux, t.Context())
			server.Start()
			defer server.Close()
			w, err := New(Config{Worker: daemon.Worker{Process: daemon.Process{Token: clusterToken}}})
			if err != nil {
				t.Fatal(err)
			}
			q := &queue{session: &session{worker: w, address: server.Listener.Addr().String()}}
			data := make([]byte, 64*control.ChunkSize)
			err = q.deliver(t.Context(), &control.Command{Job: "j"},
				func(emit func([]byte) error) error { return emit(data) })
			if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("error %v, expected %q", err, c.want)
			}
		})
	}
}
