package resolve

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/pregel"

	"github.com/superstep-go/superstep/internal/checkpoint"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
)

// TestWhen: the job determines when checkpoints are taken. The master's settings apply where the
// job has none.
func TestWhen(t *testing.T) {
	master := checkpoint.Policy{Every: 50, MTBF: time.Hour}
	for name, c := range map[string]struct {
		job    *checkpoint.Policy
		master checkpoint.Policy
		want   checkpoint.Policy
	}{
		"nothing":            {nil, master, master},
		"supersteps":         {&checkpoint.Policy{Every: 7}, master, checkpoint.Policy{Every: 7}},
		"a time":             {&checkpoint.Policy{Interval: time.Second}, master, checkpoint.Policy{Interval: time.Second}},
		"by failures":        {&checkpoint.Policy{MTBF: time.Minute}, master, checkpoint.Policy{MTBF: time.Minute}},
		"strict":             {&checkpoint.Policy{Strict: true}, master, checkpoint.Policy{Every: 50, MTBF: time.Hour, Strict: true}},
		"a master is strict": {&checkpoint.Policy{Every: 7}, checkpoint.Policy{Strict: true}, checkpoint.Policy{Every: 7, Strict: true}},
	} {
		if found := When(c.job, c.master); found != c.want {
			t.Errorf("%s: found %+v, expected %+v", name, found, c.want)
		}
	}
}

// TestWhenIsChecked: invalid settings are refused when a job is submitted.
func TestWhenIsChecked(t *testing.T) {
	programs := engine.Registry{engine.Register("inputs", pregel.Erase(inputs{}))}
	for want, k := range map[string]*checkpoint.Policy{
		"":                                  {Every: 7, MTBF: time.Hour},
		"checkpoints every -1s":             {Interval: -time.Second},
		"mean time between failures of -1s": {MTBF: -time.Second},
		"a checkpoint every 4294967295 supersteps": {Every: 1<<32 - 1},
		"one of the two": {Every: 7, Interval: 1},
	} {
		err := CheckProgram(programs, &job.Spec{Program: "inputs", Graph: "g", KeepWhen: k},
			graph.Of(2))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %q", err, want)
		}
	}
}

// TestFilesOfLater: a checkpoint has full names of files of this process. It has the job's names of
// files of workers, which are relative to the workers' data roots.
func TestFilesOfLater(t *testing.T) {
	spec := &job.Spec{Program: "p", Source: &job.Source{Input: "graphs/g.el,more.el", Vertices: "v.csv"}}
	dir := t.TempDir()
	t.Chdir(dir)
	for here, want := range map[bool][2]string{
		false: {"graphs/g.el,more.el", "v.csv"},
		true: {filepath.Join(dir, "graphs/g.el") + "," + filepath.Join(dir,
			"more.el"), filepath.Join(dir, "v.csv")},
	} {
		data, err := Later(spec, here, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Earlier(data)
		if err != nil || got.Source.Input != want[0] || got.Source.Vertices != want[1] {
			t.Errorf("here %v: found %v, %v, expected %q", here, got, err, want)
		}
	}
}

// TestLaterRefusesWhatCannotBeReadAgain: if resume would refuse a run's description, the run does
// not start.
func TestLaterRefusesWhatCannotBeReadAgain(t *testing.T) {
	for input, want := range map[string]string{
		strings.Repeat("parts/", 1000): "expected at most 4096",
		"caf\xe9.csv":                  "cannot be stored in a checkpoint",
	} {
		spec := &job.Spec{Program: "wcc", Source: &job.Source{Input: input}}
		if _, err := Later(spec, true, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: error %v, expected %s", input, err, want)
		}
	}
	text, err := Later(&job.Spec{Program: "wcc", Source: &job.Source{Input: "a.csv"}}, true, nil)
	if _, again := Earlier(text); err != nil || again != nil {
		t.Errorf("a usual run: %v, %v", err, again)
	}
}
