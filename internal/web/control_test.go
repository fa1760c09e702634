package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/trace"
)

// fakeMaster accepts jobs into a Store.
type fakeMaster struct {
	control.UnimplementedClusterHandler
	store     *history.Store
	specs     []*job.Spec
	cancelled []string
	loads     []*control.LoadGraphRequest
	dropped   []string
	endless   bool // loads do not end
	lines     []string
	err       error
}

// Usage has five minutes of worker w0, which uses one processor, and waits half of the time.
func (m *fakeMaster) Usage() map[string][]*control.Usage {
	var all []*control.Usage
	for i := range 150 {
		at := 100 + 2*float64(i)
		all = append(all, &control.Usage{
			AtSeconds: at, ProcessorSeconds: at, CollectionSeconds: at / 30, WaitSeconds: at / 2,
			SentBytes: uint64(7 * at), ReceivedBytes: uint64(8 * at), MemoryUsed: 9000 + 100*uint64(i), Spilled: 3,
		})
	}
	return map[string][]*control.Usage{"w0": all}
}

func (m *fakeMaster) Status(
	context.Context, *control.StatusRequest,
) (*control.StatusResponse, error) {
	return &control.StatusResponse{
		Jobs: []*control.Job{{Id: "m-7", Workers: []string{"w0", "w1"}}, {Id: "m-8", Workers: []string{"w1"}}},
		Graphs: []*control.Graph{
			{
				Placements: []*control.Placement{{Partition: 0, Worker: "w1"}, {Partition: 1, Worker: "w0"}},
				Name:       "web", State: control.GraphState_GRAPH_STATE_LOADING, Rows: 2, Columns: 1,
				Edges: 3, Arcs: 6, SourceJson: job.Text(&job.Source{Input: "/web.el"}),
				Progress: &control.Progress{Stage: "sorting", Done: 1, Total: 2},
			},
		},
		Workers: []*control.Worker{{Name: "w0", State: control.WorkerState_WORKER_STATE_REGISTERED, Cores: 3, Memory: 5, MemoryUsed: 4}},
	}, nil
}

func (m *fakeMaster) Submit(
	_ context.Context, r *control.SubmitJobRequest,
) (*control.Job, bool, error) {
	if m.err != nil {
		return nil, false, m.err
	}
	m.specs = append(m.specs, r.Spec())
	m.store.Queue(&trace.Job{Job: "m-1", Program: r.Spec().Program}, "waits for a worker")
	return &control.Job{Id: "m-1"}, false, nil
}

func (m *fakeMaster) GetJob(_ context.Context, r *control.GetJobRequest) (*control.Job, error) {
	j, err := m.store.Job(r.Id)
	return &control.Job{SpecJson: job.Text(&job.Spec{Program: j.Program, Parameters: j.Parameters})}, err
}

func (m *fakeMaster) CancelJob(
	_ context.Context, r *control.CancelJobRequest,
) (*control.Job, error) {
	m.cancelled = append(m.cancelled, r.Id+" "+r.Reason)
	return &control.Job{}, m.err
}

func (m *fakeMaster) LoadGraph(
	ctx context.Context, r *control.LoadGraphRequest,
) (*control.Graph, error) {
	if m.err != nil {
		return nil, m.err
	}
	m.loads = append(m.loads, r)
	if m.endless {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &control.Graph{}, nil
}

func (m *fakeMaster) DropGraph(
	_ context.Context, r *control.DropGraphRequest,
) (*control.Graph, error) {
	if m.err != nil {
		return nil, m.err
	}
	m.dropped = append(m.dropped, r.Name)
	return &control.Graph{}, nil
}

func (m *fakeMaster) Result(_ context.Context, _ string, _ uint64, each func([]byte) error) error {
	for _, l := range m.lines {
		if err := each([]byte(l)); err != nil {
			return err
		}
	}
	return m.err
}

// led returns a Site of a fakeMaster, with a token.
func led(t *testing.T) (*fakeMaster, *Site) {
	m := &fakeMaster{store: history.NewNamedStore()}
	c := NewCluster(m.store, m, builtin.Programs(), About{Kind: "master", Name: "test"})
	return m, New(c, Options{Gate: gate(t), Control: c})
}

func post(body string, edit func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		r.Body = io.NopCloser(strings.NewReader(body))
		if edit != nil {
			edit(r)
		}
	}
}

func TestSubmission(t *testing.T) {
	m, s := led(t)
	yes := true
	for _, c := range []struct {
		body string
		want *job.Spec
	}{
		{`{"program": "bfs", "graph": "catalog:web", "parameters": {"source": "1"}, "delivery": "pull", "keep_result": true, "priority": "low"}`, &job.Spec{
			Queueing: job.Queueing{Priority: "low"},
			Program:  "bfs", Graph: "web", Parameters: map[string]string{"source": "1"},
			KeepResult: true, Options: job.Options{Delivery: "pull", Trace: true},
		}},
		{`{"program": "bfs", "graph": "/data/a.el", "directed": true, "self_loops": "drop", "duplicates": "min", "grid": "2x3", "max_supersteps": 7, "seed": 9, "superstep_timeout": "1m30s"}`, &job.Spec{
			Program: "bfs", Rows: 2, Columns: 3,
			Options: job.Options{MaxSupersteps: 7, Seed: 9, SuperstepTimeout: 90e9, Trace: true},
			Source:  &job.Source{Input: "/data/a.el", Directed: &yes, SelfLoops: "drop", Duplicates: "min"},
		}},
		{`{"graph500": {"scale": 12, "sssp": true}, "grid": "2x2"}`, &job.Spec{
			Program: trace.Graph500, Rows: 2, Columns: 2,
			Options:  job.Options{Trace: true},
			Graph500: &job.Graph500{Scale: 12, EdgeFactor: 16, Roots: 64, Seed1: 2, Seed2: 3, SSSP: true},
		}},
		{`{"graph500": {"scale": 12}, "program": "", "graph": "", "format": "", "parameters": {}}`, &job.Spec{
			Program: trace.Graph500, Options: job.Options{Trace: true},
			Graph500: &job.Graph500{Scale: 12, EdgeFactor: 16, Roots: 64, Seed1: 2, Seed2: 3},
		}},
		{`{"graph500": {"scale": 12, "edge_factor": 8, "roots": 3, "seed1": 5, "seed2": 6, "no_validate": true}}`, &job.Spec{
			Program: trace.Graph500, Options: job.Options{Trace: true},
			Graph500: &job.Graph500{Scale: 12, EdgeFactor: 8, Roots: 3, Seed1: 5, Seed2: 6, NoValidate: true},
		}},
	} {
		m.specs = nil
		w := ask(s, "POST", "/api/v1/jobs", post(c.body, nil))
		if w.Code != http.StatusCreated || w.Header().Get("Location") != "/api/v1/jobs/m-1" ||
			len(m.specs) != 1 || !reflect.DeepEqual(m.specs[0], c.want) {
			t.Errorf("%s: status %d %s, %v, expected %v", c.body, w.Code, w.Body, m.specs, c.want)
		}
		var j history.Job
		check(t, json.Unmarshal(w.Body.Bytes(), &j))
		if j.ID != "m-1" || j.State != trace.Queued || j.Error != "waits for a worker" {
			t.Errorf("found %+v", j)
		}
	}
}

// TestRequestsThatChangeSomething: requests are refused if they come from another site, are too
// large, or are invalid.
func TestRequestsThatChangeSomething(t *testing.T) {
	m, s := led(t)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	good := `{"program": "bfs", "graph": "star:vertices=3"}`
	for name, c := range map[string]struct {
		body string
		edit func(*http.Request)
		want int
		text string
	}{
		"no token": {good, func(r *http.Request) { r.Header.Del("Authorization") }, 401, "token"},
		"another site's": {good, header("Origin",
			"http://evil.example"), 403, "another site's"},
		"by a browser's word": {good, header("Sec-Fetch-Site",
			"cross-site"), 403, "another site's"},
		"origin null": {good, header("Origin", "null"), 403, "another site's"},
		"a form": {good, header("Content-Type",
			"application/x-www-form-urlencoded"), 415, "application/json"},
		"text": {good, header("Content-Type",
			"text/plain"), 415, "application/json"},
		"no type": {good, func(r *http.Request) { r.Header.Del("Content-Type") }, 415, "application/json"},
		"too large": {`{"program": "` + strings.Repeat("x",
			control.MaxSpec) + `"}`, nil, 413, "at most 131072 bytes"},
		"no JSON":             {`program=bfs`, nil, 400, "expected a job, such as"},
		"a word unknown":      {`{"program": "bfs", "grpah": "x"}`, nil, 400, "unknown field"},
		"another kind":        {`{"graph500": {"scale": -4}}`, nil, 400, "graph500.scale: found number -4, expected a whole number from 0 to 4294967295"},
		"a number for a word": {`{"program": 7}`, nil, 400, "program: found number, expected a string"},
		"a word for a switch": {`{"directed": "yes"}`, nil, 400, "directed: found string, expected true or false"},
		"a list":              {`[1]`, nil, 400, "found JSON's array, expected a job"},
		"no object":           {`{"parameters": 3}`, nil, 400, "parameters: found number, expected an object"},
		"two":                 {good + good, nil, 400, "found more text after the object"},
		"a path from where":   {`{"program": "bfs", "graph": "web.el"}`, nil, 400, "the whole path of a file"},
		"loops":               {`{"program": "bfs", "graph": "/a", "self_loops": "eat"}`, nil, 400, "expected one of keep, drop"},
		"a grid":              {`{"program": "bfs", "graph": "/a", "grid": "2y2"}`, nil, 400, "grid: "},
		"a priority":          {`{"program": "bfs", "graph": "/a", "priority": "urgent"}`, nil, 400, "priority: found "},
		"a time":              {`{"program": "bfs", "graph": "/a", "superstep_timeout": "-1s"}`, nil, 400, "superstep_timeout: "},
		"a graph of Graph500": {`{"graph500": {"scale": 9}, "graph": "/a"}`, nil, 400, "its own graph"},
		"a grid of Graph500":  {`{"graph500": {"scale": 9}, "grid": "2y2"}`, nil, 400, "grid: "},
		"a grid of a catalog": {`{"program": "bfs", "graph": "catalog:a", "grid": "2x2"}`, nil, 400, "leave out"},
	} {
		w := ask(s, "POST", "/api/v1/jobs", post(c.body, c.edit))
		if w.Code != c.want || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: status %d %s, expected %d %s", name, w.Code, w.Body, c.want, c.text)
		}
		if w := ask(s, "POST", "/api/v1/jobs/m-1/cancel", post(c.body, c.edit)); w.Code < 400 {
			t.Errorf("%s: cancel has status %d", name, w.Code)
		}
		load := strings.Replace(c.body, `"program": "bfs"`, `"name": "web"`, 1)
		if w := ask(s, "POST", "/api/v1/graphs", post(load, c.edit)); w.Code < 400 {
			t.Errorf("%s: a load has status %d", name, w.Code)
		}
		if w := ask(s, "POST", "/api/v1/graphs/web/drop", post(c.body, c.edit)); w.Code < 400 {
			t.Errorf("%s: dropping has status %d", name, w.Code)
		}
	}
	if len(m.specs)+len(m.cancelled)+len(m.loads)+len(m.dropped) != 0 {
		t.Errorf("submitted %v, cancelled %v, loaded %v, dropped %v", m.specs, m.cancelled, m.loads,
			m.dropped)
	}
	// Requests of the same origin, in a session without the token itself.
	w := ask(s, "POST", "/api/v1/session",
		post(`{"token": "`+secret+`"}`, func(r *http.Request) { r.Header.Del("Authorization") }))
	own := func(r *http.Request) {
		r.Header.Del("Authorization")
		r.AddCookie(w.Result().Cookies()[0])
		r.Header.Set("Origin", "http://"+r.Host)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if w := ask(s, "POST", "/api/v1/jobs", post(good, own)); w.Code != 201 {
		t.Errorf("the page's own: status %d %s", w.Code, w.Body)
	}
}

func TestErrorsOfTheMaster(t *testing.T) {
	m, s := led(t)
	good := `{"program": "bfs", "graph": "star:vertices=3"}`
	for code, want := range map[connect.Code]int{
		connect.CodeInvalidArgument: 400, connect.CodeNotFound: 404,
		connect.CodeResourceExhausted: 429, connect.CodeFailedPrecondition: 409,
		connect.CodeUnimplemented: 501, connect.CodeInternal: 500,
	} {
		m.err = connect.NewError(code, errors.New("why not"))
		w := ask(s, "POST", "/api/v1/jobs", post(good, nil))
		if w.Code != want || w.Body.String() != `{"error":"why not"}`+"\n" {
			t.Errorf("%v: status %d %s, expected %d", code, w.Code, w.Body, want)
		}
		if w := ask(s, "GET", "/api/v1/jobs/x/result", post("", nil)); w.Code != want {
			t.Errorf("%v: the result has status %d", code, w.Code)
		}
	}
}

func TestCancelAndResult(t *testing.T) {
	m, s := led(t)
	ask(s, "POST", "/api/v1/jobs", post(`{"program": "bfs", "graph": "star:vertices=3"}`, nil))
	for body, want := range map[string]string{`{}`: "m-1 cancelled on the page", `{"reason": "why"}`: "m-1 why"} {
		w := ask(s, "POST", "/api/v1/jobs/m-1/cancel", post(body, nil))
		if w.Code != 200 || m.cancelled[len(m.cancelled)-1] != want {
			t.Errorf("status %d %s, found %s", w.Code, w.Body, m.cancelled)
		}
	}
	m.lines = []string{"0 1\n", "1 0\n"}
	w := ask(s, "GET", "/api/v1/jobs/m-1/result", post("", nil))
	if w.Code != 200 || w.Body.String() != "0 1\n1 0\n" ||
		!strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	m.err = errors.New("the disk is gone")
	defer func() {
		if v := recover(); v != http.ErrAbortHandler {
			t.Errorf("half of a result ends with %v", v)
		}
	}()
	ask(s, "GET", "/api/v1/jobs/m-1/result", post("", nil))
	t.Error("half of a result ends as a whole one does")
}

// TestAnswersOfAMaster checks answers that differ from those of a run against openapi.json.
func TestAnswersOfAMaster(t *testing.T) {
	m, s := led(t)
	m.store.Queue(&trace.Job{Job: "m-1"}, "waits")
	check(t,
		m.store.Record(
			&trace.Stage{Job: "m-1", Stage: "loading", Part: "reading", Done: 1, Total: 2}))
	check(t, m.store.Record(&trace.Log{Level: "info", Text: "x", Job: "m-1", Worker: "w0"}))
	var doc map[string]any
	check(t, json.Unmarshal(openapi, &doc))
	for _, path := range []string{"/about", "/forms", "/graphs", "/workers", "/workers/{worker}", "/jobs", "/stages", "/log"} {
		w := ask(s, "GET", "/api/v1"+strings.Replace(path, "{worker}", "w0", 1), post("", nil))
		schema := deref(doc, at(deref(doc, at(doc, "paths", path, "get", "responses", "200")),
			"content", "application/json", "schema"))
		var body any
		check(t, json.Unmarshal(w.Body.Bytes(), &body))
		for _, fault := range conform(doc, schema, body, path) {
			t.Error(fault)
		}
		if w.Code != 200 || len(w.Body.Bytes()) < 20 {
			t.Errorf("%s: status %d %s", path, w.Code, w.Body)
		}
	}
}

// TestWorkerOfTheCluster: the answer has the worker's usage and its own partitions and jobs.
func TestWorkerOfTheCluster(t *testing.T) {
	_, s := led(t)
	var d WorkerDetail
	w := ask(s, "GET", "/api/v1/workers/w0", post("", nil))
	check(t, json.Unmarshal(w.Body.Bytes(), &d))
	if d.Worker.Name != "w0" || len(d.Worker.Recent["seconds"]) != 149 {
		t.Errorf("found %s", w.Body)
	}
	if len(d.Graphs) != 1 || d.Graphs[0].Graph != "web" ||
		!slices.Equal(d.Graphs[0].Partitions, []uint32{1}) || !slices.Equal(d.Jobs, []string{"m-7"}) {
		t.Errorf("partitions %v and jobs %v", d.Graphs, d.Jobs)
	}
	if w := ask(s, "GET", "/api/v1/workers/w9", post("", nil)); w.Code != 404 {
		t.Errorf("an unknown worker: status %d %s", w.Code, w.Body)
	}
}

// TestWorkersHaveCurves: the list has the usage of each worker in the last minutes if it is asked
// for, every ten seconds and to the newest report.
func TestWorkersHaveCurves(t *testing.T) {
	_, s := led(t)
	listed := func(query string) Worker {
		t.Helper()
		var all struct{ Items []Worker }
		w := ask(s, "GET", "/api/v1/workers"+query, post("", nil))
		check(t, json.Unmarshal(w.Body.Bytes(), &all))
		if len(all.Items) != 1 || w.Body.Len() > 2000 {
			t.Fatalf("found %s", w.Body)
		}
		return all.Items[0]
	}
	if w := listed(""); w.Recent != nil {
		t.Errorf("found %+v, which was not asked for", w.Recent)
	}
	r := listed("?recent=true").Recent
	if at := r["seconds"]; len(at) != 30 || at[0] != 10 || at[29] != 298 {
		t.Fatalf("found times %v", at)
	}
	for name, want := range map[string]figure{
		"processors": 1, "collection": .0333, "waiting": .5, "sent": 7, "received": 8, "spilled": 3,
	} {
		if all := r[name]; len(all) != 30 || slices.Min(all) != want || slices.Max(all) != want {
			t.Errorf("%s: found %v, expected %v", name, all, want)
		}
	}
	if m := r["memory"]; m[0] != 9500 || m[29] != 23900 {
		t.Errorf("memory %v", m)
	}
	again := []*control.Usage{{AtSeconds: 1, SentBytes: 50}, {AtSeconds: 3, SentBytes: 2}}
	if sent := recent(again)["sent"]; len(sent) != 1 || sent[0] != 0 {
		t.Errorf("a worker that began again sent %v", sent)
	}
}
