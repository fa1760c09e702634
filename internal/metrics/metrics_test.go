package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// scrape returns the samples of a set, by name and labels.
func scrape(t testing.TB, s *Set) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	all := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if ok {
			name += "}"
		} else {
			name, value, _ = strings.Cut(strings.TrimSpace(line), " ")
		}
		all[name] = value
	}
	return all
}

func expect(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: found %q, expected %q", name, got[name], value)
		}
	}
}

// tell records a run of three supersteps on two partitions in a journal.
func tell(j trace.Journal, name, program, state string) {
	end := &trace.End{Job: name, State: state, Supersteps: 3, Seconds: 12}
	if state == trace.Done {
		end.Ended = trace.Converged
	}
	_ = j.Record(&trace.Job{Job: name, Program: program, Partitions: 2})
	for step := range 3 {
		s := &record.Superstep{
			Job: name, Superstep: step, Scheme: "pull", Delivery: "pull",
			Predicted: map[string]float64{"pull": 1}, Actual: 1.2,
		}
		for p := range 2 {
			s.Partitions = append(s.Partitions, record.Partition{
				Partition: p, Computed: 5, Delivered: 4, Walked: 3, Messages: 2, Sent: 1, Bytes: 10,
				Times: record.Seconds{Traverse: float64(1 + p), Compute: 1, Wait: .5, Total: 4},
			})
		}
		_ = j.Record(s)
	}
	_ = j.Record(end)
}

// TestWordsOfRecordsAreBounded: the number of series is limited, whatever names of schemes,
// deliveries and ends the records have.
func TestWordsOfRecordsAreBounded(t *testing.T) {
	s := New("v1.2.3")
	runs := s.NewRuns()
	j := runs.Journal(nil)
	for i := range 200 {
		word := fmt.Sprint("\xff", i)
		_ = j.Record(&trace.Job{Job: "j", Program: "bfs"})
		_ = j.Record(&record.Superstep{Scheme: word, Delivery: word, Partitions: []record.Partition{{Computed: 1}}})
		_ = j.Record(&trace.End{Job: "j", State: trace.Done, Ended: trace.Ended(word)})
	}
	got := scrape(t, s)
	if n := len(got); n > 1500 {
		t.Errorf("found %d series", n)
	}
	expect(t, got, map[string]string{
		`superstep_supersteps_total{scheme="none"}`: "0",
	})
	if got[`superstep_supersteps_total{scheme="other"}`] == "" {
		t.Error("the rest is not counted")
	}
}

func TestRuns(t *testing.T) {
	s := New("v1.2.3")
	runs := s.NewRuns("wcc")
	runs.now = func() time.Time { return time.Unix(1000, 5e8) }
	j := runs.Journal(s.NewWork())
	tell(j, "one", "bfs", trace.Done)
	tell(j, "one"+trace.WarmUp, "bfs", trace.Done) // a warm-up does not count
	tell(j, "two", "bfs", trace.Failed)
	_ = j.Record(&trace.Job{Job: "two", Program: "bfs", Partitions: 1})
	_ = j.Record(&trace.End{Job: "two", State: trace.Failed, Again: true})
	_ = j.Record(&trace.Job{Job: "broken", Program: "bfs", Partitions: 1})
	_ = j.Record(&trace.End{
		Job: "broken", State: trace.Failed,
		Error: `/g.el:7:3: found "SECRET, expected nothing", expected an id; ` + strings.Repeat("é", 200),
	})
	_ = j.Record(&trace.Job{Job: "three", Program: "wcc", Partitions: 1})
	_ = j.Record(&record.Superstep{
		Job: "three", Superstep: 7, Scheme: "naive", Delivery: "push", Actual: .9e-3,
		Predicted:  map[string]float64{"naive": 1}, // not judged: it took less than a millisecond
		Partitions: []record.Partition{{Computed: 9, Delivered: 8, Times: record.Seconds{Total: .25}}},
	})
	expect(t, scrape(t, s), map[string]string{
		`superstep_jobs_total{ended="converged",program="bfs",state="done"}`: "1",
		`superstep_jobs_total{ended="",program="bfs",state="failed"}`:        "2",
		`superstep_jobs_total{ended="",program="bfs",state="again"}`:         "1",
		`superstep_job_failed_timestamp_seconds{error="/g.el:7:3: found something that its owner is told, expected an id; ` + strings.Repeat("é", 200-67) + `",job_id="broken",program="bfs"}`: "1000.5",
		`superstep_job_failed_timestamp_seconds{error="",job_id="two",program="bfs"}`:                                                                                                          "",
		`superstep_jobs_total{ended="converged",program="wcc",state="done"}`:                                                                                                                   "0",
		`superstep_job_duration_seconds_sum`:                          "24",
		`superstep_supersteps_total{scheme="pull"}`:                   "6",
		`superstep_supersteps_total{scheme="naive"}`:                  "1",
		`superstep_supersteps_total{scheme="mirrored"}`:               "0",
		`superstep_supersteps_total{scheme="lalp"}`:                   "0",
		`superstep_superstep_duration_seconds_sum{delivery="pull"}`:   "24",
		`superstep_superstep_duration_seconds_count{delivery="push"}`: "1",
		`superstep_superstep_skew_ratio_bucket{le="1.1"}`:             "0",
		// 3 s, with a mean of 2.5
		`superstep_superstep_skew_ratio_bucket{le="1.25"}`:                      "6",
		`superstep_delivery_prediction_ratio_bucket{le="0.1"}`:                  "0",
		`superstep_delivery_prediction_ratio_bucket{le="1.1"}`:                  "0",
		`superstep_delivery_prediction_ratio_bucket{le="1.33"}`:                 "6",
		`superstep_messages_total`:                                              "24",
		`superstep_vertices_computed_total`:                                     "69",
		`superstep_edges_walked_total`:                                          "36",
		`superstep_sent_values_total`:                                           "12",
		`superstep_sent_bytes_total`:                                            "120",
		`superstep_partition_supersteps_total`:                                  "13",
		`superstep_phase_seconds_total{phase="traverse"}`:                       "18",
		`superstep_phase_seconds_total{phase="expand"}`:                         "0",
		`superstep_job_running{job_id="one",program="bfs"}`:                     "0",
		`superstep_job_running{job_id="three",program="wcc"}`:                   "1",
		`superstep_job_superstep{job_id="three",program="wcc"}`:                 "8",
		`superstep_job_active_vertices{job_id="three",program="wcc"}`:           "9",
		`superstep_job_senders{job_id="three",program="wcc"}`:                   "8",
		`superstep_job_last_superstep_seconds{job_id="three",program="wcc"}`:    "0.25",
		`superstep_job_start_timestamp_seconds{job_id="one",program="bfs"}`:     "1000.5",
		`superstep_job_running{job_id="one` + trace.WarmUp + `",program="bfs"}`: "",
	})
}

// TestSearchesAreOfTheirJob: the searches of a benchmark have their own names, but count for their
// job. Rates of 100 and 300 have the harmonic mean 150.
func TestSearchesAreOfTheirJob(t *testing.T) {
	s := New("")
	runs := s.NewRuns("graph500")
	search := func(name string) *record.Superstep {
		return &record.Superstep{Job: name, Scheme: "pull", Delivery: "pull", Partitions: []record.Partition{{Computed: 9, Delivered: 4}}}
	}
	found := scrape(t, s)
	for _, end := range []string{`ended="",program="graph500",state="again"`, `ended="",program="graph500",state="done"`} {
		if found[`superstep_jobs_total{`+end+`}`] != "0" {
			t.Errorf("%s is not there before it counts", end)
		}
	}
	j := runs.Journal(nil)
	_ = j.Record(&trace.Job{Job: "j1", Program: "graph500"})
	for _, name := range []string{"bfs root 7" + trace.WarmUp, "bfs root 7", "bfs root 8"} {
		_ = j.Record(search(name))
	}
	of := `{job_id="j1",program="graph500"}`
	expect(t, scrape(t, s), map[string]string{
		"superstep_job_superstep" + of: "3", "superstep_job_active_vertices" + of: "9",
		"superstep_job_senders" + of: "4", "superstep_job_running" + of: "1",
		`superstep_supersteps_total{scheme="pull"}`: "3",
	})
	yes, no := true, false
	_ = j.Record(&trace.Stage{Job: "j1", Stage: "generating", Seconds: 3})
	_ = j.Record(
		&trace.Search{Job: "bfs root 7", Kernel: "bfs", Seconds: 1, Edges: 100, Valid: &yes})
	_ = j.Record(&trace.End{Job: "j1", State: trace.Failed, Again: true})
	_ = j.Record(&trace.Job{Job: "j1", Program: "graph500"}) // the values of the searches stay
	_ = j.Record(&trace.Stage{Job: "j1", Stage: "generating", Done: 1, Total: 2})
	_ = j.Record(&trace.Stage{Job: "j1", Stage: "generating", Seconds: 2})
	_ = j.Record(&trace.Job{More: true, Job: "j1", Program: "graph500", Began: time.Unix(5, 0), Generation: 1.5, Construction: 3.5})
	_ = j.Record(&trace.Stage{Job: "j1", Stage: "constructing", Seconds: 4}) // not the official time
	_ = j.Record(&trace.Search{
		Job: "bfs root 8", Kernel: "bfs", Seconds: .5, Translate: .25, Validate: 8, Edges: 150,
		Valid: &no,
	})
	_ = j.Record(&trace.End{Job: "j1", State: trace.Done})
	expect(t, scrape(t, s), map[string]string{
		"superstep_job_running" + of: "0",
		`superstep_graph500_teps{job_id="j1",kernel="bfs",program="graph500"}`:                "150",
		`superstep_graph500_search_teps{job_id="j1",kernel="bfs",program="graph500"}`:         "300",
		`superstep_graph500_part_seconds{job_id="j1",part="generation",program="graph500"}`:   "1.5",
		`superstep_graph500_part_seconds{job_id="j1",part="construction",program="graph500"}`: "3.5",
		`superstep_graph500_part_seconds{job_id="j1",part="search",program="graph500"}`:       "1.25",
		`superstep_graph500_part_seconds{job_id="j1",part="translation",program="graph500"}`:  "0.25",
		`superstep_graph500_part_seconds{job_id="j1",part="validation",program="graph500"}`:   "8",
		`superstep_graph500_searches_total{kernel="bfs",valid="true"}`:                        "1",
		`superstep_graph500_searches_total{kernel="bfs",valid="false"}`:                       "1",
		`superstep_graph500_searches_total{kernel="sssp",valid="unchecked"}`:                  "0",
		`superstep_job_superstep{job_id="bfs root 7",program="bfs"}`:                          "",
		`superstep_jobs_total{ended="",program="graph500",state="done"}`:                      "1",
	})
}

// TestSeriesAreBounded: a process has at most 2,000 series, however many jobs, programs and workers
// there are.
func TestSeriesAreBounded(t *testing.T) {
	const most = 2000
	s := New("v1")
	runs := s.NewRuns()
	s.NewMaster(func() *control.StatusResponse {
		r := &control.StatusResponse{}
		for i := range 1000 {
			r.Workers = append(r.Workers, &control.Worker{Name: fmt.Sprint("worker",
				i), State: control.WorkerState_WORKER_STATE_REGISTERED})
		}
		return r
	})
	j := runs.Journal(s.NewWork())
	for i := range 10000 {
		tell(j, fmt.Sprint("job", i), fmt.Sprint("program", i),
			[]string{trace.Done, trace.Failed, trace.Cancelled}[i%3])
	}
	for i := range 200 { // some that do not end
		_ = runs.Journal(nil).Record(&trace.Job{Job: fmt.Sprint("running", i), Program: "bfs"})
	}
	all := scrape(t, s)
	if len(all) > most {
		t.Errorf("%d series, expected at most %d", len(all), most)
	}
	expect(t, all, map[string]string{
		`superstep_job_running{job_id="job9999",program="other"}`:  "0",
		`superstep_job_running{job_id="job0",program="program0"}`:  "",
		`superstep_job_running{job_id="running199",program="bfs"}`: "",
		`superstep_workers{state="registered"}`:                    "1000",
	})
	if all[`superstep_job_running{job_id="running199",program="other"}`] != "1" {
		t.Error("the newest job that runs has no series")
	}
	t.Logf("master with run: %d series", len(all))
	s = New("v1")
	w := s.NewWorker()
	for _, c := range commands {
		for _, err := range []error{nil, errors.New("no"), context.Canceled} {
			w.Command(c, time.Second, nil, err)
		}
	}
	if n := len(scrape(t, s)); n > most {
		t.Errorf("a worker has %d series", n)
	}
}

func TestMaster(t *testing.T) {
	s := New("v1")
	s.NewMaster(func() *control.StatusResponse {
		return &control.StatusResponse{
			UptimeSeconds: 5, Refused: 7, RefusedTokens: 3, WorkersLost: 2, Stale: 1, Stragglers: 3,
			Workers: []*control.Worker{
				{Name: "a", State: control.WorkerState_WORKER_STATE_REGISTERED, Attached: true, Cores: 2, Memory: 100, MemoryUsed: 40, HeardSeconds: .25, Budget: &control.Budget{Limit: 90, Arrays: 20, Heap: 10, Spilled: 7}},
				{Name: "b", State: control.WorkerState_WORKER_STATE_REGISTERED, Suspected: true, Cores: 4},
				{Name: "c", State: control.WorkerState_WORKER_STATE_LOST, Cores: 8},
			},
			Jobs:   []*control.Job{{State: control.JobState_JOB_STATE_QUEUED}, {State: control.JobState_JOB_STATE_QUEUED}, {State: control.JobState_JOB_STATE_RUNNING}},
			Graphs: []*control.Graph{{State: control.GraphState_GRAPH_STATE_READY, Bytes: 10}, {State: control.GraphState_GRAPH_STATE_LOADING, Bytes: 1}},
		}
	})
	expect(t, scrape(t, s), map[string]string{
		`superstep_workers{state="registered"}`:             "2",
		`superstep_workers{state="leaving"}`:                "0",
		`superstep_workers{state="lost"}`:                   "1",
		`superstep_workers{state="left"}`:                   "0",
		`superstep_workers_attached`:                        "1",
		`superstep_workers_suspected`:                       "1",
		`superstep_workers_cores`:                           "6",
		`superstep_worker_losses_total`:                     "2",
		`superstep_straggler_moves_total`:                   "3",
		`superstep_refusals_total{what="worker"}`:           "4",
		`superstep_refusals_total{what="token"}`:            "3",
		`superstep_stale_messages_total`:                    "1",
		`superstep_jobs{state="queued"}`:                    "2",
		`superstep_jobs{state="running"}`:                   "1",
		`superstep_graphs{state="ready"}`:                   "1",
		`superstep_graphs_memory_bytes`:                     "11",
		`superstep_worker_memory_bytes{worker="a"}`:         "100",
		`superstep_worker_memory_used_bytes{worker="a"}`:    "40",
		`superstep_worker_memory_limit_bytes{worker="a"}`:   "90",
		`superstep_worker_memory_held_bytes{worker="a"}`:    "30",
		`superstep_worker_memory_spilled_bytes{worker="a"}`: "7",
		`superstep_worker_silence_seconds{worker="a"}`:      "0.25",
		`superstep_worker_memory_bytes{worker="c"}`:         "",
		`superstep_uptime_seconds`:                          "5",
	})
}

func TestWorker(t *testing.T) {
	s := New("v1")
	w := s.NewWorker()
	w.Session(true)
	w.Session(false)
	w.Session(true)
	w.Leaving()
	w.Superstep(1, []*bsp.Report{
		{Partition: record.Partition{Computed: 3, Walked: 4, Sent: 5, Bytes: 6, Times: record.Seconds{Expand: .5, Compute: .25, Total: .75}}},
		{Partition: record.Partition{Computed: 1, Times: record.Seconds{Fold: 1, Total: 1}}},
	})
	w.Command("run", time.Second, &control.Report{}, nil)
	w.Command("run", time.Second, nil, errors.New("no"))
	w.Command("load", time.Second, &control.Report{}, context.Canceled)
	expect(t, scrape(t, s), map[string]string{
		`superstep_worker_attached`:                                          "1",
		`superstep_worker_leaving`:                                           "1",
		`superstep_worker_sessions_total`:                                    "2",
		`superstep_worker_commands_total{command="run",result="done"}`:       "1",
		`superstep_worker_commands_total{command="run",result="failed"}`:     "1",
		`superstep_worker_commands_total{command="load",result="cancelled"}`: "1",
		`superstep_worker_commands_total{command="values",result="done"}`:    "0",
		`superstep_worker_command_duration_seconds_count{command="run"}`:     "2",
		`superstep_vertices_computed_total`:                                  "4",
		`superstep_phase_seconds_total{phase="expand"}`:                      "0.5",
		`superstep_phase_seconds_total{phase="fold"}`:                        "1",
		`superstep_phase_seconds_total{phase="wait"}`:                        "0.25",
		`superstep_partition_supersteps_total`:                               "2",
	})
}

// TestNamesAndHelp: metrics follow the conventions. They have our prefix, counters end with _total,
// and all have a help text.
func TestNamesAndHelp(t *testing.T) {
	s := New("v1")
	s.NewRuns()
	s.NewWorker()
	s.NewMaster(func() *control.StatusResponse { return &control.StatusResponse{} })
	families, err := s.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		name := f.GetName()
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		if !strings.HasPrefix(name, "superstep_") || f.GetHelp() == "" ||
			(f.GetType().String() == "COUNTER") != strings.HasSuffix(name, "_total") {
			t.Errorf("%s, a %v: %s", name, f.GetType(), f.GetHelp())
		}
	}
}

// TestBadText: a name that is not UTF-8 is shown with replacement characters.
func TestBadText(t *testing.T) {
	s := New("v1")
	tell(s.NewRuns().Journal(nil), "job\xff", "program\xff", trace.Done)
	all := scrape(t, s)
	if all["superstep_job_running{job_id=\"job\uFFFD\",program=\"program\uFFFD\"}"] != "0" {
		t.Error("no series of the job")
	}
}

// TestManyAtOnce runs jobs and scrapes concurrently, for the race detector.
func TestManyAtOnce(t *testing.T) {
	s := New("v1")
	runs, work := s.NewRuns(), s.NewWork()
	var done sync.WaitGroup
	for i := range 4 {
		done.Go(func() {
			j := runs.Journal(work)
			for k := range 50 {
				tell(j, fmt.Sprint(i, k), "bfs", trace.Done)
			}
		})
		done.Go(func() {
			for range 10 {
				scrape(t, s)
			}
		})
	}
	done.Wait()
	expect(t, scrape(t, s),
		map[string]string{`superstep_jobs_total{ended="converged",program="bfs",state="done"}`: "200"})
}

// TestJournalAllocatesNothing: counting a superstep does not allocate.
func TestJournalAllocatesNothing(t *testing.T) {
	s := New("v1")
	j := s.NewRuns().Journal(s.NewWork())
	_ = j.Record(&trace.Job{Job: "one", Partitions: 1})
	r := &record.Superstep{
		Job: "one", Scheme: "pull", Delivery: "pull", Predicted: map[string]float64{"pull": 1},
		Actual:     1,
		Partitions: []record.Partition{{Times: record.Seconds{Compute: 1}}},
	}
	if n := testing.AllocsPerRun(100, func() { r.Superstep++; _ = j.Record(r) }); n > 0 {
		t.Errorf("%g allocations a superstep", n)
	}
}

// TestARunThatGoesOnBeganBefore: the start time of a job is that of its first attempt, even if it
// is reported later.
func TestARunThatGoesOnBeganBefore(t *testing.T) {
	s := New("v1")
	j := s.NewRuns().Journal(nil)
	_ = j.Record(&trace.Job{Job: "one", Program: "bfs", Began: time.Unix(7, 0)})
	expect(t, scrape(t, s),
		map[string]string{`superstep_job_start_timestamp_seconds{job_id="one",program="bfs"}`: "7"})
	_ = j.Record(&trace.Job{More: true, Job: "one", Program: "bfs", Began: time.Unix(5, 0)})
	expect(t, scrape(t, s),
		map[string]string{`superstep_job_start_timestamp_seconds{job_id="one",program="bfs"}`: "5"})
}

// TestBucketsAreFine: the bounds reach from the first to the last value, by the factor.
func TestBucketsAreFine(t *testing.T) {
	for _, factor := range []float64{fine, coarse} {
		bounds := exponential(1e-3, 1e5, factor)
		if bounds[0] != 1e-3 || bounds[len(bounds)-1] < 0.999e5 {
			t.Errorf("from %g to %g", bounds[0], bounds[len(bounds)-1])
		}
		for i, b := range bounds[1:] {
			if r := b / bounds[i]; r > 1.03*factor {
				t.Errorf("bound %g is %g times the one before", b, r)
			}
		}
	}
}
