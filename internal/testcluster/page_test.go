package testcluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve/benchmark"
	"github.com/superstep-go/superstep/internal/jobtrace"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
	"github.com/superstep-go/superstep/master"
)

// withPage returns the options of a master with a page.
func withPage(token control.Token) master.Config {
	store := history.NewNamedStore()
	teller := &jobtrace.Observer{Report: benchmark.Text, Queued: store.Queue, New: func() trace.Journal { return trace.Tee{&history.Searches{To: store}} }}
	return master.Config{Options: master.Options{Log: slog.New(history.NewLogHandler(store))}, Master: daemon.Master{
		Process: daemon.Process{Token: token},
		Watch:   teller.Event,
		History: store,
	}}
}

// site is the API of a cluster's page.
type site struct {
	t     *testing.T
	base  string
	token string
}

func siteOf(t *testing.T, c *Cluster) *site {
	return &site{t: t, base: "http://" + c.Address, token: c.Master.Token.Secret()}
}

// call calls the API and decodes the answer.
func (s *site) call(
	method, path, body string, want int, to any, edit ...func(*http.Request),
) string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+"/api/v1/"+path,
		strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, e := range edit {
		e(r)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != want {
		s.t.Fatalf("%s %s: status %d %s, %v, expected %d", method, path, answer.StatusCode, text,
			err, want)
	}
	if to != nil {
		if err := json.Unmarshal(text, to); err != nil {
			s.t.Fatalf("%s: %v", path, err)
		}
	}
	return string(text)
}

func (s *site) job(id string) (j history.Job) {
	s.t.Helper()
	s.call("GET", "jobs/"+id, "", 200, &j)
	return j
}

func (s *site) submit(body string) (j history.Job) {
	s.t.Helper()
	s.call("POST", "jobs", body, 201, &j)
	return j
}

// TestPageOfAMaster submits and inspects jobs through the API, on a cluster of two workers.
func TestPageOfAMaster(t *testing.T) {
	c := Start(t, 2, withPage(control.Token{}), programs()...)
	s := siteOf(t, c)
	if status, page := ask(t, s.base+"/", ""); status != 200 ||
		!strings.Contains(page, `src="app.js"`) {
		t.Errorf("the page: status %d %s", status, page)
	}
	if _, err := c.Client.LoadGraph(t.Context(), &control.LoadGraphRequest{
		Name: "web", SourceJson: job.Text(&job.Source{Input: "grid:rows=30,columns=30"}),
	}); err != nil {
		t.Fatal(err)
	}
	var graphs struct{ Items []web.Graph }
	s.call("GET", "graphs", "", 200, &graphs)
	if len(graphs.Items) != 1 || graphs.Items[0].Vertices != 900 ||
		graphs.Items[0].State != "ready" || graphs.Items[0].Bytes == 0 {
		t.Errorf("graphs %+v", graphs)
	}
	var workers struct{ Items []web.Worker }
	s.call("GET", "workers", "", 200, &workers)
	if len(workers.Items) != 2 || workers.Items[1].Name != "w1" ||
		workers.Items[1].State != "registered" {
		t.Errorf("workers %+v", workers)
	}

	// A job from its submission to its result.
	j := s.submit(`{"program": "bfs", "graph": "catalog:web", "parameters": {"source": "0"}, "keep_result": true, "key": "once"}`)
	var again history.Job
	s.call("POST", "jobs",
		`{"key": "once", "program": "bfs", "graph": "catalog:web", "parameters": {"source": "0"}, "keep_result": true}`, 200, &again)
	if again.ID != j.ID {
		t.Errorf("the same call made jobs %s and %s", j.ID, again.ID)
	}
	for _, other := range []string{
		`{"program": "bfs", "graph": "catalog:web", "parameters": {"source": "1"}, "keep_result": true, "key": "once"}`,
		`{"program": "wcc", "graph": "catalog:web", "key": "once"}`,
	} {
		var said struct{ Error string }
		if s.call("POST", "jobs", other, 409, &said); said.Error != `key "once" is that of job `+
			j.ID+", which is another: a new job needs a new key" {
			t.Errorf("another job with the key: %s", said.Error)
		}
	}
	if _, err := c.Client.SubmitJob(t.Context(), &control.SubmitJobRequest{
		SpecJson: job.Text(&job.Spec{Program: "wcc", Graph: "web"}), Key: "once",
	}); connect.CodeOf(err) != connect.CodeAlreadyExists {
		t.Errorf("by a call: %v", err)
	}
	c.Until("the job's end", func() bool { return s.job(j.ID).State == trace.Done })
	if j = s.job(j.ID); j.Program != "bfs" || j.Graph != "web" || j.Partitions != 2 ||
		j.Supersteps < 50 || j.Vertices != 900 || j.Arcs != 3480 || len(j.Said) != 3 {
		t.Errorf("found %+v", j)
	}
	var steps struct{ Items []trace.Step }
	s.call("GET", "jobs/"+j.ID+"/steps", "", 200, &steps)
	var whole history.Whole
	s.call("GET", "jobs/"+j.ID+"/partitions", "", 200, &whole)
	if len(steps.Items) < j.Supersteps || len(whole.Totals) != 2 ||
		whole.Totals[1].Worker != "w1" || whole.Matrix.Bytes[1] == 0 || len(whole.Encoded) == 0 {
		t.Errorf("%d steps, %+v", len(steps.Items), whole)
	}
	if lines := strings.Split(s.call("GET", "jobs/"+j.ID+"/result", "", 200, nil),
		"\n"); len(lines) != 901 || lines[1] != "1 0" {
		t.Errorf("%d lines: %.100q", len(lines), lines)
	}

	// A program that declares a lower maximum of supersteps than the user allows.
	bounded := s.submit(`{"program": "pagerank", "graph": "catalog:web", "parameters": {"iterations": "3"}, "max_supersteps": 50}`)
	c.Until("its end", func() bool { return s.job(bounded.ID).State == trace.Done })
	if j := s.job(bounded.ID); j.MaxSupersteps != 4 || j.Supersteps != 4 || j.Left != 0 {
		t.Errorf("found %+v", j)
	}

	// Two nearly endless jobs: one runs and shows its remaining time, the other waits.
	runs := s.submit(
		`{"program": "forever", "graph": "star:vertices=9", "max_supersteps": 4000000000}`)
	c.Until("it says how long it takes", func() bool {
		j := s.job(runs.ID)
		return j.State == trace.Running && j.MaxSupersteps == 4000000000 && j.Left > 0
	})
	waits := s.submit(`{"program": "forever", "graph": "star:vertices=9"}`)
	if waits.State != trace.Queued {
		t.Errorf("found %+v", waits)
	}
	for _, id := range []string{waits.ID, runs.ID} {
		s.call("POST", "jobs/"+id+"/cancel", `{"reason": "enough"}`, 200, nil)
		c.Until("it is cancelled", func() bool { j := s.job(id); return j.State == trace.Cancelled && j.Error == "enough" })
	}
	for body, want := range map[string]int{
		`{"program": "bfs", "graph": "catalog:none", "parameters": {"source": "0"}}`:                     404,
		`{"program": "nothing", "graph": "catalog:web"}`:                                                 400,
		`{"program": "bfs", "graph": "catalog:web", "parameters": {"sauce": "0"}}`:                       400,
		`{"program": "bfs", "graph": "star:vertices=9", "parameters": {"source": "0"}, "delivery": "x"}`: 400,
		`{"program": "bfs"}`: 400,
	} {
		s.call("POST", "jobs", body, want, nil)
	}
	s.call("POST", "jobs/none/cancel", "{}", 404, nil)
	s.call("GET", "jobs/"+runs.ID+"/result", "", 409, nil)
	var jobs struct{ Items []history.Job }
	s.call("GET", "jobs", "", 200, &jobs)
	if len(jobs.Items) != 4 {
		t.Errorf("%d jobs", len(jobs.Items))
	}
	if log := s.call("GET", "log", "", 200, nil); !strings.Contains(log, `"job":"`+runs.ID+`"`) ||
		!strings.Contains(log, "worker is there") {
		t.Errorf("the log: %s", log)
	}
}

// TestPageOfGraph500: each search of the benchmark is a run on the page.
func TestPageOfGraph500(t *testing.T) {
	c := Start(t, 2, withPage(control.Token{}), programs()...)
	s := siteOf(t, c)
	r, err := c.Client.SubmitJob(t.Context(),
		&control.SubmitJobRequest{SpecJson: job.Text(&job.Spec{
			Program:  trace.Graph500,
			Graph500: &job.Graph500{Scale: 8, EdgeFactor: 16, Seed1: 2, Seed2: 3, Roots: 3},
		})})
	if err != nil {
		t.Fatal(err)
	}
	id := r.Id
	c.Until("the job's end",
		func() bool { j := s.job(id); return j.State != trace.Running && j.State != trace.Queued })
	var jobs struct{ Items []history.Job }
	s.call("GET", "jobs", "", 200, &jobs)
	if len(jobs.Items) != 5 { // the job, a warm-up, three searches
		t.Fatalf("found %+v", jobs)
	}
	for _, j := range jobs.Items[1:] {
		if !strings.HasPrefix(j.ID, id+"-bfs-root-") || j.State != trace.Done ||
			j.Supersteps == 0 || j.Partitions != 2 || j.Vertices != 256 || j.Program != "bfs" {
			t.Errorf("found %+v", j)
		}
	}
	for _, j := range jobs.Items[2:] {
		if j.Search == nil || !*j.Search.Valid || j.Search.TEPS() <= 0 ||
			j.Search.Seconds < j.Search.Translate {
			t.Errorf("%s came to %+v", j.ID, j.Search)
		}
	}
	job := s.job(id)
	if k := job.Kernels; len(k) != 1 || k[0].Name != "bfs" || k[0].Searches != 3 ||
		k[0].Valid != 3 || k[0].TEPS <= 0 {
		t.Errorf("found the kernels %+v", k)
	}
	// The numbers in the text block are those of the page.
	var block struct{ Text string }
	s.call("GET", "jobs/"+id+"/report", "", 200, &block)
	want := fmt.Sprintf("!  %.6g\n", job.Kernels[0].TEPS)
	if !strings.Contains(block.Text, "NBFS:                           3\n") ||
		!strings.Contains(block.Text, want) {
		t.Errorf("found the report\n%s\nexpected in it %s", block.Text, want)
	}
	var stages struct{ Items []trace.Stage }
	s.call("GET", "stages", "", 200, &stages)
	names := ""
	for _, g := range stages.Items {
		names += g.Stage + " "
		if g.Seconds == 0 || g.Job != id {
			t.Errorf("stage %+v", g)
		}
	}
	if names != "generating constructing BFS " {
		t.Errorf("stages %s", names)
	}
}

// TestWhoMayUseThePage: the page needs the cluster's token, and refuses requests from pages of
// other sites.
func TestWhoMayUseThePage(t *testing.T) {
	const text = "the-clusters-own-token"
	token, err := control.NewToken(text, "test")
	if err != nil {
		t.Fatal(err)
	}
	good := `{"program": "bfs", "graph": "star:vertices=9", "parameters": {"source": "0"}}`
	origin := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Origin", value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	s := siteOf(t, Start(t, 0, withPage(token)))
	s.token = ""
	for _, path := range []string{"jobs", "about", "graphs", "workers", "log", "events"} {
		s.call("GET", path, "", 401, nil)
	}
	s.call("POST", "jobs", good, 401, nil)
	s.call("POST", "jobs/x/cancel", "{}", 401, nil)
	s.token = text
	s.call("GET", "jobs", "", 200, nil)
	s.call("POST", "jobs", good, 403, nil, origin("http://evil.example"))
	s.call("GET", "jobs", "", 200, nil, host("cluster.example"))

	s = siteOf(t, Start(t, 0, withPage(control.Token{})))
	s.call("GET", "jobs", "", 403, nil, host("evil.example"))
	s.call("POST", "jobs", good, 403, nil, host("evil.example"))
	s.call("POST", "jobs", good, 403, nil, origin("http://evil.example"))
	s.call("GET", "jobs", "", 200, nil, host("localhost:7700"))

	// DNS rebinding does not reach the control plane either.
	for _, k := range []struct {
		method, path, host, origin string
		want                       int
	}{
		{"POST", "superstep.control.v1.Cluster/ListJobs", "evil.example", "http://evil.example", 403},
		{"POST", "superstep.control.v1.Cluster/ListJobs", "evil.example", "", 200},
		{"POST", "superstep.control.v1.Cluster/ListJobs", "", "http://evil.example", 403},
		{"GET", "debug/status", "evil.example", "", 403},
		{"GET", "debug/status", "", "", 200},
		{"GET", "healthz", "evil.example", "", 200},
	} {
		r, err := http.NewRequestWithContext(t.Context(), k.method, s.base+"/"+k.path,
			strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+s.token)
		if k.host != "" {
			r.Host = k.host
		}
		if k.origin != "" {
			r.Header.Set("Origin", k.origin)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != k.want {
			t.Errorf("%+v: status %d", k, answer.StatusCode)
		}
	}
}

// TestEventsOfAMaster: events arrive when jobs change their state, and end with the master.
func TestEventsOfAMaster(t *testing.T) {
	c := Start(t, 1, withPage(control.Token{}), programs()...)
	s := siteOf(t, c)
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.base+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	until := func(kind string, texts ...string) {
		t.Helper()
		is := ""
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			if key == "event" {
				is = value
			}
			all := is == kind && key == "data"
			for _, text := range texts {
				all = all && strings.Contains(value, text)
			}
			if all {
				return
			}
		}
		t.Fatalf("no %s with %q came: %v", kind, texts, lines.Err())
	}
	until("hello")
	j := s.submit(`{"program": "wcc", "graph": "grid:rows=20,columns=20"}`)
	job := fmt.Sprintf(`"job":%q`, j.ID)
	until("job", job, `"state":"running"`)
	until("step", job, `"superstep":0`)
	until("job", job, `"state":"done"`)
	c.StopMaster()
	until("bye")
}

// TestRefusalsOfAMasterAreJSON: requests refused before they reach the API get errors in the API's
// form.
func TestRefusalsOfAMasterAreJSON(t *testing.T) {
	c := Start(t, 1, withPage(control.Token{}), programs()...)
	for header, value := range map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Host": "evil.example"} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+c.Address+
			"/api/v1/jobs", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+c.Master.Token.Secret())
		if r.Header.Set(header, value); header == "Host" {
			r.Host = value
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Error string }
		err = json.NewDecoder(answer.Body).Decode(&said)
		_ = answer.Body.Close()
		if answer.StatusCode != 403 || err != nil || said.Error == "" ||
			answer.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: status %d, %+v, %v", header, answer.StatusCode, said, err)
		}
	}
}
