package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// recordedRun returns a Local with a run of this name and number of supersteps in two partitions.
func recordedRun(t *testing.T, name string, supersteps int) *Local {
	t.Helper()
	l := NewLocal(About{Kind: KindReport, Name: name, Version: "test"}, 0)
	check(t, l.Record(&trace.Job{Job: name, Program: name, Graph: name, Partitions: 2}))
	for i := range supersteps {
		s := &record.Superstep{Job: name, Superstep: i, Scheme: "naive", Delivery: "push", Reason: name, Partitions: make([]record.Partition, 2)}
		for p := range s.Partitions {
			s.Partitions[p] = record.Partition{Partition: p, Computed: 1, Times: record.Seconds{Compute: 1, Total: 1}}
		}
		check(t, l.Record(s))
	}
	check(t,
		l.Record(&trace.End{Job: name, State: trace.Done, Ended: trace.Converged, Error: name}))
	return l
}

// TestReportHasTheAnswersOfTheAPI: the file contains the API's answers, in an element that no name
// can close.
func TestReportHasTheAnswersOfTheAPI(t *testing.T) {
	const evil = "</script><script>alert(1)</script><!--<script>&\u2028\x00" + `"'`
	l := recordedRun(t, evil, 3)
	var out bytes.Buffer
	check(t, WriteReport(&out, l))
	text := out.String()
	if n := strings.Count(text, "<script"); n != 2 {
		t.Errorf("found %d elements of scripts, expected 2", n)
	}
	if n := strings.Count(strings.ToLower(text), "</script"); n != 2 {
		t.Errorf("found %d ends of scripts, expected 2", n)
	}
	if strings.Contains(text, "<!--") || strings.Contains(text, `src="`) ||
		strings.Contains(text, "http-equiv=\"refresh") {
		t.Error("found a comment, a source or a redirection")
	}
	block := regexp.MustCompile(
		`(?s)<script id="saved" type="application/json">(.*?)</script>`).FindStringSubmatch(text)
	if block == nil {
		t.Fatal("there is no data")
	}
	var answers map[string]json.RawMessage
	check(t, json.Unmarshal([]byte(block[1]), &answers))
	s := New(l, Options{Gate: gate(t)})
	for _, path := range []string{
		"about", "jobs", "stages", "log", "graphs", "workers", "jobs/1", "jobs/1/partitions",
		"jobs/1/lanes", "jobs/1/steps?from=0",
		"jobs/1/steps/0", "jobs/1/steps/1", "jobs/1/steps/2",
	} {
		var want, found any
		check(t, json.Unmarshal(asked(s, "GET", "/api/v1/"+path, nil).Body.Bytes(), &want))
		if answers[path] == nil {
			t.Errorf("%s is not in the report", path)
			continue
		}
		check(t, json.Unmarshal(answers[path], &found))
		if a, b := encoded(t, want), encoded(t, found); a != b {
			t.Errorf("%s: found %s, expected %s", path, b, a)
		}
	}
	var licences string
	check(t, json.Unmarshal(answers["licences"], &licences))
	if !strings.Contains(licences, "preact") {
		t.Errorf("the licences read %q", licences)
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	check(t, err)
	return string(b)
}

// TestReportIsBounded: the report of a long run has all supersteps, and details of the last ones.
func TestReportIsBounded(t *testing.T) {
	l := recordedRun(t, "long", maxSteps+50)
	var out bytes.Buffer
	check(t, save(&out, l, 100_000))
	var answers map[string]json.RawMessage
	check(t, json.Unmarshal(out.Bytes(), &answers))
	if answers["jobs/1/steps?from=10000"] == nil || answers["jobs/1/steps?from=0"] == nil {
		t.Error("supersteps are missing")
	}
	details := 0
	for path, body := range answers {
		if strings.HasPrefix(path, "jobs/1/steps/") {
			details += len(body)
		}
	}
	if answers["jobs/1/steps/10049"] == nil || answers["jobs/1/steps/0"] != nil ||
		details > 100_000 || details < 50_000 {
		t.Errorf("there are %d bytes of details, expected at most 100000, of the last supersteps",
			details)
	}
}

// TestReportTellsWhatItCannotWrite: an error of the writer is returned.
func TestReportTellsWhatItCannotWrite(t *testing.T) {
	full := errors.New("the disk is full")
	if err := WriteReport(refusing{full}, recordedRun(t, "a", 1)); !errors.Is(err, full) {
		t.Errorf("found %v", err)
	}
}

type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }
