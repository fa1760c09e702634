package graph500

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files of testdata that the tests compare with")

func yes(valid bool) *bool { return &valid }

// sample is a report whose numbers use every form of %g.
func sample() Report {
	return Report{
		Scale: 20, EdgeFactor: 16, Seeds: [2]uint64{2, 3}, Processes: 1, Generation: 1.5,
		Construction: 0.123456789,
		Roots:        []uint64{5, 900001, 17, 3},
		BFS: Kernel{
			Time:     []float64{0.00001, 0.25, 0.125, 100000},
			Nedge:    []int64{16084741, 16084741, 3, 16084741},
			Validate: []float64{1, 2, 3, 1234567}, Translate: []float64{0.000005, 0.05, 0.025, 1},
		},
		SSSP: Kernel{
			Time:  []float64{1, 0.25, 0.125, 0.5},
			Nedge: []int64{123456789012, 16084741, 3, 16084741}, Validate: []float64{1, 2, 3, 4},
			Translate: []float64{0.5, 0.01, 0.025, 0.1},
		},
		Valid: yes(true), Threads: 8, Partitions: 4, Rows: 2, Columns: 2, PeakRSS: 1 << 30,
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s (run with -update to accept):\n%s", file, got)
	}
}

func TestReportText(t *testing.T) {
	for name, r := range map[string]Report{
		"both.txt":     sample(),
		"bfs-only.txt": func() Report { r := sample(); r.SSSP, r.Valid, r.BFS.Validate = Kernel{}, nil, nil; return r }(),
		"invalid.txt":  func() Report { r := sample(); r.Valid = yes(false); return r }(),
	} {
		var out bytes.Buffer
		if err := r.WriteText(&out); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.Bytes())
	}
}

// TestReportHasReferenceLines compares the labels and their order with the reference code. Only
// nedge is different: see WriteText.
func TestReportHasReferenceLines(t *testing.T) {
	want := []string{"SCALE", "edgefactor", "NBFS", "graph_generation", "num_mpi_processes", "construction_time"}
	places := []string{"min", "firstquartile", "median", "thirdquartile", "max"}
	for _, what := range []string{"time", "nedge", "TEPS", "validate"} {
		for _, kernel := range []string{"bfs  ", "sssp "} {
			for _, p := range append(places, "mean", "stddev") {
				if what == "TEPS" && (p == "mean" || p == "stddev") {
					p = "harmonic_" + p
				}
				want = append(want, kernel+p+"_"+what)
			}
		}
	}
	var out bytes.Buffer
	if err := sample().WriteText(&out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if len(got) == len(want) {
			break
		}
		label, value, _ := strings.Cut(line, ":")
		got = append(got, label)
		marked := strings.HasSuffix(label, "harmonic_mean_TEPS")
		if ok := regexp.MustCompile(`^ *(! {2})?[0-9][-+.0-9e]*\n$`).MatchString(value); !ok ||
			marked != strings.Contains(value, "!") {
			t.Errorf("odd line %q", line)
		}
		if at := len(line) - len(strings.TrimLeft(value, " !")); at != 32 {
			t.Errorf("the value of %q is in column %d", line, at)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("labels %q\nwant %q", got, want)
	}
}

func TestReportJSON(t *testing.T) {
	text, err := sample().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "both.json", text)

	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if marshalled, err := json.Marshal(sample()); err != nil || json.Compact(&again, text) != nil ||
		!bytes.Equal(marshalled, again.Bytes()) {
		t.Errorf("json.Marshal: %v, %s", err, marshalled)
	}
	if got := fmt.Sprintf("%v %v %v %v", keys["valid"], keys["grid"], keys["roots"],
		keys["bfs_nedge"].([]any)[2]); got != "true 2x2 [5 900001 17 3] 3" {
		t.Error(got)
	}
}

func TestReportJSONOfPartialRuns(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(r *Report)
		want   string
	}{
		{"not validated", func(r *Report) { r.Valid = nil }, `"valid": null`},
		{"invalid", func(r *Report) { r.Valid = yes(false) }, `"valid": false`},
		{"no SSSP", func(r *Report) { r.SSSP = Kernel{} }, `"bfs_harmonic_mean_TEPS"`},
		{"nothing at all", func(r *Report) { *r = Report{} }, `"roots": [],`},
		{"no time", func(r *Report) { r.BFS.Time[0] = 0 }, `"bfs_max_TEPS": null,`},
		{"no number", func(r *Report) { r.Construction = math.NaN() }, `"construction_time": null,`},
	} {
		r := sample()
		test.change(&r)
		text, err := r.MarshalJSON()
		if err != nil || !json.Valid(text) || !strings.Contains(string(text), test.want) {
			t.Errorf("%s: %v, %s", test.name, err, text)
		}
		if got, want := strings.Contains(string(text), "sssp"), len(r.SSSP.Time) > 0; got != want {
			t.Errorf("%s: want kernel 3 in the report: %v, found it: %v", test.name, want, got)
		}
	}
}

func TestSubmissionIssues(t *testing.T) {
	good := sample()
	good.Scale = 26
	good.Roots = make([]uint64, 64)
	for i := range good.Roots {
		good.Roots[i] = uint64(i * 3)
	}
	if issues := SubmissionIssues(good); issues != nil {
		t.Errorf("a good run: %q", issues)
	}
	for _, test := range []struct {
		want   string
		change func(r *Report)
	}{
		{"The edge factor is 8", func(r *Report) { r.EdgeFactor = 8 }},
		{"Search roots: 63; a submission needs 64", func(r *Report) { r.Roots = r.Roots[1:] }},
		{"Only 63 of the 64 search roots are distinct", func(r *Report) { r.Roots[9] = r.Roots[3] }},
		{"not validated", func(r *Report) { r.Valid = nil }},
		{"did not pass", func(r *Report) { r.Valid = yes(false) }},
		{"SCALE 25 is below 26", func(r *Report) { r.Scale = 25 }},
		{"seeds are 2 and 4", func(r *Report) { r.Seeds[1] = 4 }},
	} {
		r := good
		r.Roots = slices.Clone(good.Roots)
		test.change(&r)
		if issues := SubmissionIssues(r); len(issues) != 1 ||
			!strings.Contains(issues[0], test.want) {
			t.Errorf("got %q, want %q", issues, test.want)
		}
	}
}
