package history

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

// kept returns the number of rows of details.
func (s *Store) kept() (rows int) {
	for _, j := range s.jobs {
		for _, d := range j.details {
			rows += d.rows()
		}
	}
	return rows
}

func TestBounds(t *testing.T) {
	s := NewStore()
	for i := range maxJobs + 10 {
		must(t, s.Record(&trace.Job{Job: fmt.Sprint(i)}))
		must(t, s.Record(active(fmt.Sprint(i), 0, 1)))
		must(t, s.Record(&trace.End{Job: fmt.Sprint(i), State: trace.Done, Ended: trace.Converged}))
	}
	if jobs := s.Jobs(); len(jobs) != maxJobs || jobs[0].ID != "11" || s.kept() != maxJobs ||
		len(s.last) != maxJobs {
		t.Errorf("%d jobs from %s, %d rows, %d names", len(jobs), jobs[0].ID, s.kept(), len(s.last))
	}
	for range maxLog + 1 {
		must(t, s.Record(&trace.Log{Text: strings.Repeat("x", maxText+1)}))
	}
	if lines := s.Lines(); len(lines) > maxLog || len(lines[0].Text) > maxText+3 {
		t.Errorf("%d lines of %d bytes", len(lines), len(lines[0].Text))
	}
	long := NewStore()
	must(t, long.Record(&trace.Job{Job: "j", Partitions: 1}))
	for i := range MaxSteps + 1 {
		must(t, long.Record(active("j", i, 1)))
	}
	steps, err := long.Steps("1", 0, MaxSteps)
	must(t, err)
	if len(steps) > MaxSteps || steps[0].Superstep != MaxSteps/10 {
		t.Errorf("%d steps from %d", len(steps), steps[0].Superstep)
	}
	if j, _ := long.Job("1"); j.Supersteps != MaxSteps+1 || j.Summary.Supersteps != MaxSteps+1 {
		t.Errorf("the summary has %d supersteps", j.Summary.Supersteps)
	}
}

// TestOldRunsAreLetGo: runs with many partitions or supersteps do not exceed the memory limit.
func TestOldRunsAreLetGo(t *testing.T) {
	s := NewStore()
	s.most = 1 << 20
	for i := range 60 {
		name := strconv.Itoa(i)
		must(t, s.Record(&trace.Job{Job: name, Partitions: 500}))
		must(t, s.Record(active(name, 0, 500)))
		must(t, s.Record(&trace.End{Job: name, State: trace.Done, Ended: trace.Converged}))
	}
	bytes := 0
	for _, j := range s.jobs {
		bytes += j.bytes()
	}
	if n := len(s.jobs); bytes > s.most || n < 3 || s.jobs[n-1].Job.Job.Job != "59" ||
		s.kept() != 500*n {
		t.Errorf("%d runs of %d bytes with %d rows are kept", n, bytes, s.kept())
	}
	if _, ok := s.last["0"]; ok || s.last["59"] == nil {
		t.Error("names are kept of runs that are not, or the other way round")
	}
}

func TestDetailsAreLetGo(t *testing.T) {
	s := NewStore()
	s.mostRows = 1000
	must(t, s.Record(&trace.Job{Job: "j", Partitions: 30}))
	for superstep := range 50 {
		must(t, s.Record(active("j", superstep, 30)))
	}
	if n := s.kept(); n != s.rows || n > s.mostRows || n < s.mostRows-30 {
		t.Errorf("%d rows, counted %d, of at most %d", n, s.rows, s.mostRows)
	}
	if old, _ := s.Detail("1", 0); old != nil {
		t.Error("superstep 0 is still kept")
	}
	if newest, _ := s.Detail("1", 49); newest == nil || len(newest.Partitions) != 30 {
		t.Error("superstep 49 is not kept")
	}
}

// TestPairsCount: messages between pairs of partitions count as details do.
func TestPairsCount(t *testing.T) {
	s := NewStore()
	s.mostRows = 100
	must(t, s.Record(&trace.Job{Job: "j", Partitions: 8}))
	for superstep := range 50 {
		step := active("j", superstep, 8)
		for p := range 8 {
			step.Partitions[p].Times = record.Seconds{Compute: 1, Total: 1}
			for q := range 8 {
				step.Partitions[p].Peers = append(step.Partitions[p].Peers,
					record.Peer{Partition: q, Bytes: 7})
			}
		}
		must(t, s.Record(step))
	}
	// 8 rows, and 64/4 for the pairs
	for superstep, kept := range map[int]bool{0: false, 45: false, 46: true, 49: true} {
		if d, err := s.Detail("1", superstep); err != nil || (d != nil) != kept {
			t.Errorf("superstep %d: found %v, %v", superstep, d, err)
		}
	}
	l, err := s.Lanes("1", 50)
	must(t, err)
	if l.Busy[45] != -1 || l.Busy[46] != 100 {
		t.Errorf("the lanes end with %v", l.Busy[40:50])
	}
	whole, err := s.Whole("1")
	must(t, err)
	if sum := whole.Matrix.Bytes[1] + whole.Matrix.Bytes[8]; sum != 2*50*7 || s.kept() != 4*24 {
		t.Errorf("%d bytes in all, %d rows", sum, s.kept())
	}
}

// TestDetailsOfASecondRun: a superstep ran twice. When the details of its first run are removed,
// those of the second stay.
func TestDetailsOfASecondRun(t *testing.T) {
	s := NewStore()
	s.mostRows = 100
	must(t, s.Record(&trace.Job{Job: "j", Partitions: 30}))
	for _, superstep := range []int{0, 0, 1, 2} {
		must(t, s.Record(active("j", superstep, 30)))
	}
	for superstep := range 3 {
		if d, err := s.Detail("1", superstep); d == nil || err != nil {
			t.Errorf("the details of superstep %d are not kept: %v", superstep, err)
		}
	}
}

// TestCheckpointsAreThinned: the checkpoints of a job push out neither the stages of other jobs nor
// its own other stages.
func TestCheckpointsAreThinned(t *testing.T) {
	s := NewStore()
	record := func(job, stage string, part int) {
		t.Helper()
		if err := s.Record(
			&trace.Stage{Job: job, Stage: stage, Part: strconv.Itoa(part), Seconds: 1}); err != nil {
			t.Fatal(err)
		}
	}
	record("a", "loading", 0)
	record("b", trace.Checkpoint, 0)
	for i := range 2 * maxLog {
		record("a", trace.Checkpoint, i)
	}
	all := s.Stages()
	if len(all) != 2+maxCheckpoints || all[0].Stage != "loading" || all[1].Job != "b" ||
		all[2].Part != strconv.Itoa(2*maxLog-maxCheckpoints) {
		t.Errorf("found %d stages, the first are %v", len(all), all[:3])
	}
}
