package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/job"
)

// body decodes the JSON of a request. Like the check of a request's origin, the required
// Content-Type rejects HTML forms of other sites.
func body(w http.ResponseWriter, r *http.Request, most int64, to any, like string) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/json" {
		return &refusal{http.StatusUnsupportedMediaType, "expected Content-Type: application/json"}
	}
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	in.DisallowUnknownFields()
	err := in.Decode(to)
	if err == nil {
		if _, more := in.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("found more text after the object, expected its end")
		}
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return refuse(http.StatusRequestEntityTooLarge, "expected at most %d bytes", most)
	case err != nil:
		return unlike(err, like)
	}
	return nil
}

// unlike returns the error for a request with invalid JSON. For a value of the wrong type it names
// the key, the found type and the expected type.
func unlike(err error, like string) error {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return invalid("expected %s: %.200s", like, err)
	}
	names := strings.Split(kind.Field, ".")
	// of embedded structs
	names = slices.DeleteFunc(names, func(n string) bool { return n != strings.ToLower(n) })
	if key := strings.Join(names, "."); key != "" {
		return invalid("%.100s: found %.50s, expected %s", key, kind.Value, job.Expected(kind.Type))
	}
	return invalid("found JSON's %s, expected %s", kind.Value, like)
}

func (s *Site) submit(w http.ResponseWriter, r *http.Request) {
	var asked Submission
	if err := body(w, r, control.MaxSpec, &asked, `a job, such as {"program": "bfs", "graph": "kronecker:scale=14", "parameters": {"source": "1"}}`); failed(w, err) {
		return
	}
	id, found, err := s.options.Control.Submit(r.Context(), &asked)
	if failed(w, err) {
		return
	}
	w.Header().Set("Location", "/api/v1/jobs/"+url.PathEscape(id))
	status := http.StatusCreated
	if found {
		status = http.StatusOK
	}
	s.tell(w, status, id)
}

func (s *Site) cancel(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Reason string `json:"reason"`
	}
	id := r.PathValue("job")
	err := body(w, r, maxBody, &asked, `{"reason": "..."} or {}`)
	if err == nil {
		_, err = s.options.Control.master.CancelJob(r.Context(), &control.CancelJobRequest{
			Id: id, Reason: cmp.Or(asked.Reason, "cancelled on the page"),
		})
	}
	if failed(w, err) {
		return
	}
	s.tell(w, http.StatusOK, id)
}

// tell answers with the description of a job.
func (s *Site) tell(w http.ResponseWriter, status int, id string) {
	j, err := s.store.Job(id)
	if failed(w, err) {
		return
	}
	reply(w, status, j)
}

// result streams the result of a job. If it fails after the first part, it cuts the connection, so
// that no client takes the part for the whole.
func (s *Site) result(w http.ResponseWriter, r *http.Request) {
	control, begun := http.NewResponseController(w), false
	err := s.source.Result(r.Context(), r.PathValue("job"), func(data []byte) error {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Cache-Control", "no-store")
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		_, err := w.Write(data)
		return err
	})
	switch {
	case err == nil:
	case begun:
		panic(http.ErrAbortHandler)
	default:
		fail(w, err)
	}
}

// statuses maps codes of calls to HTTP statuses.
var statuses = map[connect.Code]int{
	connect.CodeInvalidArgument: http.StatusBadRequest, connect.CodeNotFound: http.StatusNotFound,
	connect.CodeAlreadyExists: http.StatusConflict, connect.CodeFailedPrecondition: http.StatusConflict, connect.CodeAborted: http.StatusConflict,
	connect.CodeResourceExhausted: http.StatusTooManyRequests,
	connect.CodeUnimplemented:     http.StatusNotImplemented,
	connect.CodeUnavailable:       http.StatusServiceUnavailable,
	connect.CodePermissionDenied:  http.StatusForbidden,
}
