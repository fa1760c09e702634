package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"go.uber.org/goleak"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is the tests' token. No answer may contain it.
const secret = "canary-canary-canary-canary"

// gate returns a gate that requires the token.
func gate(t *testing.T) *control.Gate {
	return &control.Gate{Credentials: control.Credentials{Token: token(t)}}
}

func token(t *testing.T) control.Token {
	t.Helper()
	tok, err := control.NewToken(secret, "test")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// source returns a Local with a running run, which has done three supersteps in two partitions.
func source(t *testing.T) *Local {
	t.Helper()
	l := NewLocal(About{Kind: "run", Name: "superstep run bfs", Version: "test"}, 2)
	l.AddGraph(Graph{Name: "g", State: "loaded", Vertices: 4, Grid: "2x1", Reason: "none"})
	begin(t, l, "bfs")
	for i := range 3 {
		step(t, l, "bfs", i)
	}
	check(t, l.Record(&trace.Stage{Stage: "reading", Done: 1, Total: 2}))
	check(t, l.Record(&trace.Log{Level: "info", Text: "a line"}))
	return l
}

func begin(t *testing.T, l *Local, name string) {
	t.Helper()
	check(t, l.Record(&trace.Job{
		Job: name, Program: "bfs", Parameters: map[string]string{"source": "1"}, Graph: "g",
		Vertices: 4, Arcs: 8, Partitions: 2, Threads: 2,
		Grid: "2x1", Delivery: "auto", MaxSupersteps: 20, Began: time.Now(),
	}))
}

func step(t *testing.T, l *Local, name string, superstep int) {
	t.Helper()
	s := &record.Superstep{
		Job: name, Superstep: superstep, Scheme: "pull", Delivery: "pull", Reason: "why",
		Predicted: map[string]float64{"pull": 1, "naive": 2}, Actual: 1.5,
		Aggregators: []record.Aggregator{{Name: "change", Value: .5}},
	}
	if superstep > 0 {
		s.Graph = &record.GraphSize{Vertices: 3, Arcs: 6}
	}
	for p := range 2 {
		s.Partitions = append(s.Partitions, record.Partition{
			Partition: p, Worker: "w", Computed: 1, Memory: 1, Bytes: 8, Requests: p,
			Times: record.Seconds{Expand: 1, Total: 2},
			Peers: []record.Peer{{Partition: 1 - p, Exchange: "expand", Encoding: "all", Messages: 1, Bytes: 8}},
		})
	}
	check(t, l.Record(s))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bearer adds the token to a request.
func bearer(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }

// asked is ask with the token.
func asked(s *Site, method, path string, edit func(*http.Request)) *httptest.ResponseRecorder {
	return ask(s, method, path, func(r *http.Request) {
		bearer(r)
		if edit != nil {
			edit(r)
		}
	})
}

// ask sends a request to a site from this machine. edit, if not nil, changes it before.
func ask(s *Site, method, path string, edit func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, nil)
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// paths are the paths of the API that answer with JSON: in the document, and with values.
var paths = map[string]string{
	"/about": "/about", "/graphs": "/graphs", "/workers": "/workers", "/stages": "/stages",
	"/log": "/log", "/jobs": "/jobs",
	"/jobs/{job}": "/jobs/1", "/jobs/{job}/steps": "/jobs/1/steps",
	"/jobs/{job}/steps/{superstep}": "/jobs/1/steps/2",
	"/jobs/{job}/partitions":        "/jobs/1/partitions", "/jobs/{job}/lanes": "/jobs/1/lanes",
	"/jobs/{job}/report": "/jobs/1/report",
}

// TestAnswersAreAsTheDocumentSays checks every key of every answer against the schemas in
// openapi.json.
func TestAnswersAreAsTheDocumentSays(t *testing.T) {
	var doc map[string]any
	check(t, json.Unmarshal(openapi, &doc))
	l := source(t)
	begin(t, l, "prune")
	check(t,
		l.Record(&trace.End{Job: "prune", State: trace.Done, Ended: trace.Converged, GraphLeft: &record.GraphSize{Vertices: 3}}))
	l.SetResult("prune", true)
	for _, name := range []string{"prune", "prune bfs root 7"} {
		check(t, l.Record(&trace.Search{Job: name, Kernel: "bfs", Seconds: 1, Edges: 9}))
	}
	s := New(l, Options{Gate: gate(t)})
	for path := range doc["paths"].(map[string]any) {
		elsewhere := []string{"/events", "/session", "/openapi.json", "/jobs/{job}/cancel", "/jobs/{job}/result", "/jobs/{job}/values", "/jobs/{job}/value", "/graphs/{graph}/drop", "/forms", "/workers/{worker}"}
		if _, ok := paths[path]; !ok && !slices.Contains(elsewhere, path) {
			t.Errorf("%s is documented, and not tested", path)
		}
	}
	for path, url := range paths {
		operation, ok := at(doc, "paths", path, "get").(map[string]any)
		if !ok {
			t.Errorf("%s is not documented", path)
			continue
		}
		schema := deref(doc, at(deref(doc, at(operation, "responses", "200")), "content",
			"application/json", "schema"))
		w := asked(s, "GET", "/api/v1"+url, nil)
		var body any
		check(t, json.Unmarshal(w.Body.Bytes(), &body))
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d: %s", url, w.Code, w.Body)
		}
		for _, fault := range conform(doc, schema, body, url) {
			t.Error(fault)
		}
	}
	if w := asked(s, "GET", "/api/v1/openapi.json", nil); !bytes.Equal(w.Body.Bytes(), openapi) {
		t.Error("another document is served")
	}
}

func at(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

func deref(doc, v any) any {
	if ref, ok := at(v, "$ref").(string); ok {
		return at(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return v
}

// conform checks a value against a schema: its type, that all required keys exist, and that there
// are no others.
func conform(doc, schema, v any, where string) (faults []string) {
	schema = deref(doc, schema)
	kinds := map[string]bool{}
	switch k := at(schema, "type").(type) {
	case string:
		kinds[k] = true
	case []any:
		for _, x := range k {
			kinds[x.(string)] = true
		}
	}
	kind := map[bool]string{true: "number"}[false]
	switch x := v.(type) {
	case nil:
		kind = "null"
	case bool:
		kind = "boolean"
	case string:
		kind = "string"
		if words, ok := at(schema, "enum").([]any); ok {
			kinds["string"] = false
			for _, w := range words {
				kinds["string"] = kinds["string"] || w == x
			}
		}
	case float64:
		if kind = "number"; !kinds["number"] && x == float64(int(x)) {
			kind = "integer"
		}
	case []any:
		kind = "array"
		for i, e := range x {
			faults = append(faults,
				conform(doc, at(schema, "items"), e, fmt.Sprintf("%s[%d]", where, i))...)
		}
	case map[string]any:
		kind = "object"
		required, _ := at(schema, "required").([]any)
		for _, k := range required {
			if _, ok := x[k.(string)]; !ok {
				faults = append(faults, fmt.Sprintf("%s lacks %s", where, k))
			}
		}
		for k, e := range x {
			property := at(schema, "properties", k)
			if property == nil {
				property = at(schema, "additionalProperties")
			}
			if property == nil {
				faults = append(faults, fmt.Sprintf("%s has %s, which is not documented", where, k))
				continue
			}
			faults = append(faults, conform(doc, property, e, where+"."+k)...)
		}
	}
	if !kinds[kind] {
		faults = append(faults, fmt.Sprintf("%s is %s %.50v, the document says %v", where, kind, v,
			at(schema, "type")))
	}
	return faults
}

func TestErrorsAreJSON(t *testing.T) {
	s := New(source(t), Options{Gate: gate(t)})
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/api/v1/jobs/7", 404, `there is no job "7"`},
		{"GET", "/api/v1/jobs/%3Cb%3E", 404, "there is no job"},
		{"GET", "/api/v1/jobs/1/steps?from=x", 400, `from: found "x", expected a number from 0`},
		{"GET", "/api/v1/jobs/1/steps?limit=0", 400, "limit: found"},
		{"GET", "/api/v1/jobs/1/steps?limit=10001", 400, "expected a number from 1 to 10000"},
		{"GET", "/api/v1/jobs/1/steps/9", 404, "the details of superstep 9 are not kept"},
		{"GET", "/api/v1/jobs/1/steps/-1", 400, `found superstep "-1"`},
		{"GET", "/api/v1/jobs/1/lanes?columns=1e9", 400, "columns: found"},
		{"GET", "/api/v1/nothing", 404, "the API has no such path"},
		{"GET", "/api/v1/jobs/1/cancel", 404, "the API has no such path"}, // only a master has it
		{"POST", "/api/v1/jobs", 405, "found method POST, expected GET"},
		{"PUT", "/api/v1/jobs/1/steps", 405, "found method PUT, expected GET"},
		{"GET", "/api/v1/session", 405, "found method GET, expected DELETE or POST"},
		{"DELETE", "/api/v2", 404, "the API has no such path"},
		{"GET", "/nothing.js", 404, "there is no such file"},
		{"GET", "/../../etc/passwd", 404, "there is no such file"},
		{"GET", "/dist/app.js", 404, "there is no such file"},
	} {
		w := asked(s, c.method, c.path,
			func(r *http.Request) { r.URL.Path = strings.ReplaceAll(r.URL.Path, "//", "/") })
		var p problem
		err := json.Unmarshal(w.Body.Bytes(), &p)
		// the mux redirects paths with ..
		if w.Code == http.StatusTemporaryRedirect || w.Code == http.StatusMovedPermanently {
			continue
		}
		if w.Code != c.status || err != nil || !strings.Contains(p.Error, c.want) {
			t.Errorf("%s: status %d, %s, expected %d %s", c.path, w.Code, w.Body, c.status, c.want)
		}
	}
	if w := asked(s, "DELETE", "/api/v1/session/", nil); w.Code != http.StatusNotFound ||
		w.Header().Get("Allow") != "" {
		t.Errorf("status %d, allowed %s", w.Code, w.Header().Get("Allow"))
	}
	_, led := led(t)
	w := ask(led, "GET", "/api/v1/jobs/1/cancel", func(r *http.Request) { post("", nil)(r) })
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" ||
		!strings.Contains(w.Body.String(), "found method GET, expected POST") {
		t.Errorf("status %d %s, allowed %s", w.Code, w.Body, w.Header().Get("Allow"))
	}
}

func TestThePageIsSmallAndWhole(t *testing.T) {
	total := 0
	names, err := dist.ReadDir("dist")
	check(t, err)
	for _, entry := range names {
		name := "/" + entry.Name()
		w := ask(New(source(t), Options{Gate: gate(t)}), "GET", name,
			func(r *http.Request) { r.Header.Set("Accept-Encoding", "br, gzip;q=1") })
		total += w.Body.Len()
		plain := w.Body.Bytes()
		if len(embedded(name)) >= 1<<10 {
			z, err := gzip.NewReader(w.Body)
			check(t, err)
			plain, err = io.ReadAll(z)
			check(t, err)
		}
		kind := kinds[path.Ext(name)]
		if !bytes.Equal(plain, embedded(name)) || kind == "" ||
			w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %d bytes of type %q", name, len(plain), kind)
		}
		tagged := ask(New(source(t), Options{Gate: gate(t)}), "GET", name,
			func(r *http.Request) { r.Header.Set("If-None-Match", w.Header().Get("ETag")) })
		if tagged.Code != http.StatusNotModified || tagged.Body.Len() != 0 {
			t.Errorf("%s again: status %d", name, tagged.Code)
		}
	}
	if total > 300<<10 || total < 10<<10 {
		t.Errorf("the page takes %d bytes compressed", total)
	}
	t.Logf("the page takes %d bytes compressed", total)
	index := string(embedded("/index.html"))
	for _, needed := range []string{`src="app.js"`, `href="app.css"`, `href="icon.svg"`} {
		if !strings.Contains(index, needed) {
			t.Errorf("index.html lacks %s", needed)
		}
	}
	if strings.Contains(index, "<style") || strings.Contains(index, "style=") ||
		strings.Contains(index, "http://") || strings.Contains(index, "https://") {
		t.Error("index.html violates the content security policy")
	}
}

func TestAnswersAreCompressedIfWanted(t *testing.T) {
	s := New(source(t), Options{Gate: gate(t)})
	plain := asked(s, "GET", "/api/v1/openapi.json", nil)
	packed := asked(s, "GET", "/api/v1/openapi.json",
		func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
	refused := asked(s, "GET", "/api/v1/openapi.json",
		func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip; q=0") })
	z, err := gzip.NewReader(packed.Body)
	check(t, err)
	data, err := io.ReadAll(z)
	check(t, err)
	if !bytes.Equal(data, plain.Body.Bytes()) || refused.Header().Get("Content-Encoding") != "" {
		t.Error("compressed and plain answers differ")
	}
}

// event is an event of a stream.
type event struct{ id, kind, data string }

// reader reads events from a server. It is closed at the end of the test.
type reader struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

func read(t *testing.T, url, last string) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, "GET", url+"api/v1/events", nil)
	check(t, err)
	bearer(r)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(r)
	check(t, err)
	t.Cleanup(func() {
		cancel()
		answer.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("type %q, status %d", kind, answer.StatusCode)
	}
	return &reader{t, bufio.NewScanner(answer.Body), cancel}
}

func (r *reader) next() (e event) {
	r.t.Helper()
	for r.lines.Scan() {
		key, value, _ := strings.Cut(r.lines.Text(), ": ")
		switch key {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				return e
			}
		}
	}
	r.t.Fatalf("the stream ended: %v", r.lines.Err())
	return e
}

func TestEventsComeLiveAndResume(t *testing.T) {
	l := source(t)
	s, err := Start("127.0.0.1:0", token(t), l, nil)
	check(t, err)
	defer s.Close()
	first := read(t, s.URL, "")
	if e := first.next(); e.kind != "hello" || e.id == "" {
		t.Fatalf("first %+v", e)
	}
	step(t, l, "bfs", 3)
	e := first.next()
	if e.kind != "step" || !strings.Contains(e.data, `"superstep":3`) ||
		!strings.Contains(e.data, `"job":"1"`) {
		t.Fatalf("then %+v", e)
	}
	first.cancel()
	step(t, l, "bfs", 4)
	check(t, l.Record(&trace.Log{Level: "warn", Text: "one\ntwo"}))
	again := read(t, s.URL, e.id)
	if e := again.next(); e.kind != "step" || !strings.Contains(e.data, `"superstep":4`) {
		t.Fatalf("after coming back %+v", e)
	}
	if e := again.next(); e.kind != "log" || !strings.Contains(e.data, `one\ntwo`) {
		t.Fatalf("then %+v", e)
	}
	if e := read(t, s.URL, "other-5").next(); e.kind != "reset" {
		t.Errorf("of another process: %+v", e)
	}
	check(t, l.Record(&trace.End{Job: "bfs", State: trace.Done, Ended: trace.Converged}))
	s.Close()
	kinds := ""
	for e := again.next(); ; e = again.next() {
		kinds += e.kind + " "
		if e.kind == "bye" {
			break
		}
	}
	if kinds != "job bye " {
		t.Errorf("at the end: %s", kinds)
	}
}

// TestTooManyReadersAreTurnedAway: at most 128 event streams may be open, and at most 32 of one
// caller on one host.
func TestTooManyReadersAreTurnedAway(t *testing.T) {
	var s streams
	s.of = map[string]int{}
	from := func(host string) *http.Request {
		r := httptest.NewRequest("GET", "/api/v1/events", nil)
		r.RemoteAddr = host + ":1"
		return r
	}
	var last func()
	for i := range 40 {
		done, err := s.begin(from("10.0.0.1"))
		if (err != nil) != (i >= 32) {
			t.Fatalf("stream %d of one: %v", i, err)
		}
		if err == nil {
			last = done
		}
	}
	last()
	if _, err := s.begin(from("10.0.0.1")); err != nil {
		t.Error(err)
	}
	for i := 32; i < 140; i++ {
		if _, err := s.begin(from(fmt.Sprint("10.0.1.", i))); (err != nil) != (i >= 128) {
			t.Fatalf("stream %d: %v", i, err)
		}
	}
	site := New(source(t), Options{Gate: gate(t)})
	site.streams.all = maxStreams
	if w := asked(site, "GET", "/api/v1/events", nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", w.Code)
	}
}
