package testcluster

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/jobtrace"
	"github.com/superstep-go/superstep/internal/metrics"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/master"
)

// ask requests a page of the master, with a token if there is one.
func ask(t testing.TB, url, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// watching returns a master's options for metrics.
func watching(set *metrics.Set) master.Config {
	runs := set.NewRuns()
	teller := &jobtrace.Observer{New: func() trace.Journal { return runs.Journal(nil) }}
	return master.Config{Master: daemon.Master{Metrics: set.Handler(), Watch: teller.Event}}
}

func holds(t testing.TB, page string, lines ...string) {
	t.Helper()
	all := strings.Split(page, "\n")
	for _, line := range lines {
		if !slices.Contains(all, line) {
			t.Errorf("there is no %s", line)
			t.Logf("%s", page)
			return
		}
	}
}

// TestMetricsOfACluster runs jobs and checks the metrics of the master and the workers.
func TestMetricsOfACluster(t *testing.T) {
	leading, working := metrics.New("test"), metrics.New("test")
	c := Start(t, 0, watching(leading), programs()...)
	w := working.NewWorker()
	c.Worker.Observe = w
	c.StartWorker("w0")
	c.StartWorker("w1")
	c.Await(2)
	leading.NewMaster(func() *control.StatusResponse {
		r, err := c.Client.Status(t.Context(), &control.StatusRequest{})
		if err != nil {
			return &control.StatusResponse{}
		}
		return r
	})
	run := func(program string, state control.JobState, values map[string]string) *control.Job {
		r, err := c.Client.SubmitJob(t.Context(),
			&control.SubmitJobRequest{SpecJson: job.Text(&job.Spec{
				Program: program, Parameters: values,
				Source: &job.Source{Input: "kronecker:scale=10"},
			})})
		if err != nil {
			t.Fatal(err)
		}
		j, _ := c.watch(t, r.Id, nil)
		if j.State != state {
			t.Fatalf("found %v", j)
		}
		return j
	}
	wcc := run("wcc", control.JobState_JOB_STATE_DONE, nil)
	run("broken", control.JobState_JOB_STATE_FAILED, map[string]string{"at": "7"})
	status, page := ask(t, "http://"+c.Address+"/metrics", c.Master.Token.Secret())
	if status != 200 {
		t.Fatal(status, page)
	}
	holds(t, page,
		`superstep_jobs_total{ended="converged",program="wcc",state="done"} 1`,
		`superstep_jobs_total{ended="",program="broken",state="failed"} 1`,
		`superstep_job_running{job_id="`+wcc.Id+`",program="wcc"} 0`,
		`superstep_workers{state="registered"} 2`, `superstep_workers_attached 2`,
		`superstep_worker_losses_total 0`,
		`superstep_jobs{state="running"} 0`,
	)
	for _, some := range []string{`superstep_supersteps_total{scheme="pull"}`, "superstep_messages_total", "superstep_superstep_skew_ratio_count"} {
		if strings.Contains(page, some+" 0\n") || !strings.Contains(page, some+" ") {
			t.Errorf("%s is 0, or is not there", some)
		}
	}
	server := http.NewServeMux()
	server.Handle("GET /metrics", working.Handler())
	_, page = serve(t, server)
	holds(t, page, `superstep_worker_attached 1`, `superstep_worker_sessions_total 2`,
		`superstep_worker_commands_total{command="meet",result="done"} 4`,
		`superstep_worker_commands_total{command="values",result="failed"} 0`)
	if strings.Contains(page, "superstep_edges_walked_total 0\n") || strings.Contains(page,
		`superstep_worker_commands_total{command="run",result="failed"} 0`) {
		t.Error("workers have not counted their work")
	}
}

func serve(t testing.TB, h http.Handler) (int, string) {
	t.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	return ask(t, s.URL+"/metrics", "")
}

// TestWhoMayAskForMetrics: metrics need the cluster's token, or a token for metrics. Health needs
// none.
func TestWhoMayAskForMetrics(t *testing.T) {
	token := func(s string) control.Token {
		k, err := control.NewToken(s, "test")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	const all, some = "the-clusters-own-token", "one-for-prometheus-only"
	o := watching(metrics.New("test"))
	o.Token, o.MetricsToken = token(all), token(some)
	c := Start(t, 0, o)
	c.Worker.HTTPAddress, c.Worker.Site = "127.0.0.1:7710", "rack1"
	c.StartWorker("w0")
	c.Worker.HTTPAddress = ""
	c.StartWorker("w1") // has no HTTP port
	c.Worker.HTTPAddress = "10.1.2.3:7710"
	c.StartWorker("w2") // claims to be at another host, which would get Prometheus' token
	c.Await(3)
	at := "http://" + c.Address
	for _, k := range []struct {
		path, token string
		want        int
	}{
		{"/metrics", "", 401},
		{"/metrics", "something-else-entirely", 401},
		{"/metrics", all, 200},
		{"/metrics", some, 200},
		{"/metrics/targets", "", 401},
		{"/metrics/targets", some, 200},
		{"/debug/status", some, 401},
		{"/debug/status", all, 200},
		{"/healthz", "", 200},
		{"/readyz", "", 200},
	} {
		if status, text := ask(t, at+k.path, k.token); status != k.want {
			t.Errorf("%s with token %q: found %d %s, expected %d", k.path, k.token, status, text,
				k.want)
		}
	}
	wrong, err := control.Connect(c.Address, control.Credentials{Token: token(some)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer wrong.Close()
	if _, err := wrong.Cluster.Status(t.Context(),
		&control.StatusRequest{}); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("the token for metrics asks for more: %v", err)
	}
	_, text := ask(t, at+"/metrics/targets", some)
	var targets []struct {
		Targets []string
		Labels  map[string]string
	}
	if err := json.Unmarshal([]byte(text), &targets); err != nil || len(targets) != 1 ||
		targets[0].Targets[0] != "127.0.0.1:7710" ||
		targets[0].Labels["worker"] != "w0" || targets[0].Labels["site"] != "rack1" {
		t.Errorf("found %s, %v", text, err)
	}
}

// observer records what a worker reports.
type observer struct {
	mu    sync.Mutex
	words []string
}

func (o *observer) add(word string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.words = append(o.words, word)
}

func (o *observer) Session(attached bool) {
	if attached {
		o.add("attached")
	} else {
		o.add("over")
	}
}
func (o *observer) Leaving()                { o.add("leaving") }
func (*observer) Stuck(string)              {}
func (*observer) Registered(string, uint64) {}
func (o *observer) Superstep(_ float64, reports []*bsp.Report) {
	if len(reports) > 0 {
		o.add("superstep")
	}
}

func (o *observer) Command(name string, _ time.Duration, r *control.Report, err error) {
	if err != nil {
		name += ": " + err.Error()
	} else if name == "run" && r.GetDrive().GetEnd() == nil {
		name += " without a report"
	}
	o.add(name)
}

func TestWorkerIsObserved(t *testing.T) {
	c := Start(t, 0, master.Config{}, programs()...)
	o := &observer{}
	c.Worker.Observe = o
	p := c.StartWorker("w0")
	c.Await(1)
	j, _ := c.watch(t, c.submitSpec(t, short()).Id, nil)
	if j.State != control.JobState_JOB_STATE_DONE {
		t.Fatal(j)
	}
	j, _ = c.watch(t, c.submitSpec(t,
		&job.Spec{Program: "idle", Source: &job.Source{Input: "/no/such/file"}}).Id, nil)
	if j.State != control.JobState_JOB_STATE_FAILED {
		t.Fatal(j)
	}
	p.Stop()
	if err := p.Wait(t); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(o.words, ", ")
	want := "attached, meet, superstep, superstep, superstep, run, values, drop, meet, run: open /no/such/file: no such file or directory, drop, leaving, over"
	if got != want {
		t.Errorf("found    %s\nexpected %s", got, want)
	}
}
