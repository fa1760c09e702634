package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/certs"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/internal/trace"
)

// summed requests the values of a job until they are summed up.
func summed(t *testing.T, s *Site, job string) (v resultlines.Survey) {
	t.Helper()
	for {
		w := ask(s, "GET", "/api/v1/jobs/"+job+"/values", post("", nil))
		if w.Code == http.StatusAccepted {
			continue // the request itself waits for a moment
		}
		if w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		check(t, json.Unmarshal(w.Body.Bytes(), &v))
		return v
	}
}

// TestValuesOfAResult: a result is summed up once, and vertices can be found in it, with the
// program's fields.
func TestValuesOfAResult(t *testing.T) {
	m, s := led(t)
	m.store.Queue(&trace.Job{Job: "m-1", Program: "hits"}, "")
	m.lines = []string{"1 0.5 2\n2 0", ".25 infinity\n30 4 -1\n"}
	v := summed(t, s, "m-1")
	if v.Vertices != 3 || len(v.Fields) != 2 || v.Fields[0].Name != "hub" ||
		v.Fields[1].Infinite != 1 ||
		fmt.Sprint(v.Fields[0].Top) != "[{30 [4 -1]} {1 [0.5 2]} {2 [0.25 infinity]}]" {
		t.Errorf("found %+v", v)
	}
	for vertex, want := range map[string]string{"2": `{"fields":["hub","authority"],"vertex":"2","values":["0.25","infinity"]}`, "3": "the result has no vertex", "": "expected ?vertex=", strings.Repeat("x", 5000): "at most 4096 bytes"} {
		w := ask(s, "GET", "/api/v1/jobs/m-1/value?vertex="+url.QueryEscape(vertex), post("", nil))
		if !strings.Contains(w.Body.String(), want) ||
			(w.Code == http.StatusOK) != strings.HasPrefix(want, "{") {
			t.Errorf("%.20s: status %d %s, expected %s", vertex, w.Code, w.Body, want)
		}
	}
	// Kept values are shown only to callers who may read the result now.
	m.lines = []string{"1 0 0\n"}
	if again := summed(t, s, "m-1"); again.Vertices != 3 {
		t.Errorf("it was read again: %+v", again)
	}
	m.lines, m.err = nil, connect.NewError(connect.CodePermissionDenied,
		errors.New("job m-1 is of ada"))
	for _, path := range []string{"values", "value?vertex=1", "result"} {
		if w := ask(s, "GET", "/api/v1/jobs/m-1/"+path,
			post("", nil)); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(),
			"is of ada") {
			t.Errorf("%s: status %d %s", path, w.Code, w.Body)
		}
	}
	m.err = nil
	if w := ask(s, "GET", "/api/v1/jobs/none/values",
		post("", nil)); w.Code != http.StatusNotFound {
		t.Errorf("no job: status %d", w.Code)
	}
}

// TestResultsThatCannotBeSummedUp: a failed summary is tried again at the next request.
func TestResultsThatCannotBeSummedUp(t *testing.T) {
	m, s := led(t)
	m.store.Queue(&trace.Job{Job: "m-1", Program: "hits"}, "")
	m.lines = []string{"1 0.5\n"}
	for range 2 {
		w := ask(s, "GET", "/api/v1/jobs/m-1/values", post("", nil))
		for w.Code == http.StatusAccepted {
			w = ask(s, "GET", "/api/v1/jobs/m-1/values", post("", nil))
		}
		if w.Code != http.StatusInternalServerError ||
			!strings.Contains(w.Body.String(), "another number of fields") {
			t.Errorf("status %d %s", w.Code, w.Body)
		}
	}
	m.lines = []string{"1 0.5 1\n"}
	if v := summed(t, s, "m-1"); v.Vertices != 1 {
		t.Errorf("found %+v", v)
	}
	for i := range maxSurveys + 5 { // the oldest are removed
		job := fmt.Sprintf("j%d", i)
		m.store.Queue(&trace.Job{Job: job, Program: "hits"}, "")
		summed(t, s, job)
	}
	if n := len(s.surveys.kept); n != maxSurveys {
		t.Errorf("%d surveys are kept, expected %d", n, maxSurveys)
	}
}

// TestReadersGetNoValues: callers with role reader cannot see values.
func TestReadersGetNoValues(t *testing.T) {
	_, s := led(t)
	for path, want := range map[string]certs.Role{
		"jobs/m-1/values": control.Using, "jobs/m-1/value": control.Using,
		"jobs/m-1/result": control.Using, "jobs/m-1": control.Reading, "forms": control.Reading,
	} {
		r, err := http.NewRequest(http.MethodGet, "http://localhost/api/v1/"+path, nil)
		check(t, err)
		if found := s.rolesFor(r); found != want {
			t.Errorf("%s is for %v, expected %v", path, found, want)
		}
	}
}

// TestFieldsOfErrors: an error names the wrong key of the request.
func TestFieldsOfErrors(t *testing.T) {
	m, s := led(t)
	for body, want := range map[string]string{
		`{"program": "bfs", "graph": "/a", "grid": "2y2"}`:                        "grid",
		`{"program": "bfs", "graph": "/a", "grid": "2x2", "partitions": 4}`:       "partitions",
		`{"program": "bfs", "graph": "/a", "self_loops": "eat"}`:                  "self_loops",
		`{"program": "bfs", "graph": "/a", "delimiter": "ab"}`:                    "delimiter",
		`{"program": "bfs", "graph": "/a", "ids": "x"}`:                           "ids",
		`{"program": "bfs", "graph": "kronecker:scale=99"}`:                       "graph",
		`{"program": "bfs", "graph": "web.el"}`:                                   "graph",
		`{"program": "bfs", "graph": "/a", "priority": "now"}`:                    "priority",
		`{"graph500": {"scale": 4}, "graph": "/a"}`:                               "graph500",
		`{"program": "bfs", "graph": "catalog:a", "source_column": "x"}`:          "",
		`{"program": "bfs", "graph": "/a", "superstep_timeout": "soon"}`:          "superstep_timeout",
		`{"program": "bfs", "graph": "/a", "grid": "4x1", "self_loops": "x: y:"}`: "self_loops",
	} {
		w := ask(s, "POST", "/api/v1/jobs", post(body, nil))
		var p problem
		check(t, json.Unmarshal(w.Body.Bytes(), &p))
		if w.Code != http.StatusBadRequest || p.Field != want {
			t.Errorf("%s: status %d, field %q, expected %q: %s", body, w.Code, p.Field, want,
				p.Error)
		}
	}
	for text, want := range map[string]string{"scale: found 60": "graph500.scale", "delivery: found x": "delivery", "nothing: x": "", "constructor: x": ""} {
		m.err = connect.NewError(connect.CodeInvalidArgument, errors.New(text))
		w := ask(s, "POST", "/api/v1/jobs", post(`{"program": "bfs", "graph": "/a"}`, nil))
		var p problem
		check(t, json.Unmarshal(w.Body.Bytes(), &p))
		if p.Field != want {
			t.Errorf("%s: field %q, expected %q", text, p.Field, want)
		}
	}
}

// TestFormsAreThoseOfThePrograms: the form has a field for every parameter, with the words of the
// command line.
func TestFormsAreThoseOfThePrograms(t *testing.T) {
	_, s := led(t)
	var f Forms
	check(t, json.Unmarshal(ask(s, "GET", "/api/v1/forms", post("", nil)).Body.Bytes(), &f))
	kinds := map[string]string{}
	for _, p := range f.Programs {
		for _, x := range p.Parameters {
			kinds[p.Name+"."+x.Name] = fmt.Sprint(x.Kind, x.List, x.Required, x.Words, x.Default)
			if x.Help == "" || x.Value == "" {
				t.Errorf("%s.%s has no words", p.Name, x.Name)
			}
		}
	}
	for name, want := range map[string]string{
		"bfs.source": "vertexfalse true []", "bfs.output": "wordfalse false [parent level]parent",
		"pagerank.damping":    "numberfalse false []0.85",
		"pagerank.iterations": "integerfalse false []100",
		"pagerank.sources":    "vertextrue false []",
	} {
		if kinds[name] != want {
			t.Errorf("%s is %q, expected %q", name, kinds[name], want)
		}
	}
	if len(f.Generators) < 5 || len(f.Formats) < 5 || f.Graph500.EdgeFactor != 16 {
		t.Errorf("found %+v", f)
	}
}
