package web

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/history"
)

// openapi describes the API.
//
//go:embed openapi.json
var openapi []byte

func (s *Site) schema(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, openapi) }

// items is a list in the API. It is an object, so that keys can be added.
type items[T any] struct {
	Items []T `json:"items"`
}

func list[T any](all []T) items[T] {
	if all == nil {
		all = []T{}
	}
	return items[T]{all}
}

// jobs answers with the runs that the query selects.
func (s *Site) jobs(r *http.Request) (any, error) {
	q := query{r.URL.Query(), nil}
	want := history.Query{
		Program: q.Get("program"), Graph: q.Get("graph"), Text: q.Get("text"),
		Near: q.Get("near"), Sort: q.Get("sort"),
		Within: time.Duration(q.number("ended_within", 0, 0, 1<<32)) * time.Second,
		From:   q.number("from", 0, 0, 1<<53), Most: q.number("limit", 0, 1, 1<<53),
	}
	if states := q.Get("state"); states != "" {
		want.States = strings.Split(states, ",")
	}
	if of := q.Get("of"); q.Has("of") {
		want.Of = &of
	}
	if _, known := history.Orders[strings.TrimPrefix(want.Sort, "-")]; !known {
		q.err = cmp.Or(q.err, refuse(http.StatusBadRequest, "sort: found %.20q, expected one of %s",
			want.Sort, strings.Join(slices.Sorted(maps.Keys(history.Orders))[1:], ", ")))
	}
	page, total := s.store.List(&want)
	return struct {
		items[history.Job]
		Total int `json:"total"`
	}{list(page), total}, q.err
}

// maxSteps is the maximum number of supersteps in an answer.
const maxSteps = 10_000

func (s *Site) steps(r *http.Request) (any, error) {
	q := query{r.URL.Query(), nil}
	from, most := q.number("from", 0, 0, 1<<53), q.number("limit", maxSteps, 1, maxSteps)
	steps, err := s.store.Steps(r.PathValue("job"), from, most)
	return list(steps), cmp.Or(q.err, err)
}

func (s *Site) detail(r *http.Request) (any, error) {
	superstep, err := strconv.Atoi(r.PathValue("superstep"))
	if err != nil || superstep < 0 {
		return nil, refuse(http.StatusBadRequest, "found superstep %.20q, expected a whole number",
			r.PathValue("superstep"))
	}
	d, err := s.store.Detail(r.PathValue("job"), superstep)
	if err == nil && d == nil {
		err = refuse(http.StatusNotFound,
			"the details of superstep %d are not kept: a trace (--trace FILE) has all", superstep)
	}
	return d, err
}

func (s *Site) lanes(r *http.Request) (any, error) {
	q := query{r.URL.Query(), nil}
	lanes, err := s.store.Lanes(r.PathValue("job"), q.number("columns", 500, 1, 2000))
	return lanes, cmp.Or(q.err, err)
}

// query has the parameters of a URL, and the first error in them.
type query struct {
	url.Values
	err error
}

// number parses an integer parameter. For a wrong one it returns 0 and sets err.
func (q *query) number(name string, usual, least, most int) int {
	text := q.Get(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		q.err = cmp.Or(q.err, refuse(http.StatusBadRequest,
			"%s: found %.20q, expected a number from %d to %d", name, text, least, most))
		return 0
	}
	return n
}

// reply sends JSON.
func reply(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if failed(w, err) {
		return
	}
	send(w, status, data)
}

func send(w http.ResponseWriter, status int, data []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// problem is the JSON of an error, with the key of the request that it is about, if any.
type problem struct {
	Error string `json:"error"`
	Field string `json:"field,omitempty"`
}

// failed answers with err and returns true, or returns false if err is nil.
func failed(w http.ResponseWriter, err error) bool {
	if err != nil {
		fail(w, err)
	}
	return err != nil
}

func fail(w http.ResponseWriter, err error) {
	h, status := w.Header(), statusOf(err)
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	text := err.Error()
	if call := new(connect.Error); errors.As(err, &call) {
		text = call.Message() // without the code: the status has it
	}
	_ = json.NewEncoder(w).Encode(problem{text, fieldOf(err)})
}
