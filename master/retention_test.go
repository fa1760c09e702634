package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

var noon = time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)

// retaining returns a master at a given time. It keeps results of the given age and size in a
// directory.
func retaining(
	t *testing.T, data string, at time.Time, age time.Duration, size int64,
) (*server, *bytes.Buffer) {
	t.Helper()
	said := &bytes.Buffer{}
	s, err := New(Config{Options: Options{Data: data, KeepResults: age, KeepResultBytes: size, Log: slog.New(slog.NewTextHandler(said, nil))}, Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}, Now: func() time.Time { return at }}}})
	if err != nil {
		t.Fatal(err)
	}
	return s, said
}

// made stores parts as the result of a job's first attempt. It returns their directory and Sums.
func (r *results) made(
	t *testing.T, job string, texts ...string,
) (dir string, sums []*control.Sum) {
	t.Helper()
	dir = r.attempt(job, 1)
	for i, text := range texts {
		sum, err := r.put(t.Context(), dir, i, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
	}
	return dir, sums
}

// result stores a result of this size, as runs do. The job ended at the given time.
func (s *server) result(t *testing.T, id string, ended time.Time, size int) {
	t.Helper()
	_, sums := s.results.made(t, id, strings.Repeat("0 1\n", size/4))
	s.mu.Lock()
	s.done(id, ended, sums...)
	s.expireResults()
	changed := s.recordsOf(s.cluster.takeChanged())
	s.mu.Unlock()
	if err := s.writeRecords(changed); err != nil {
		t.Fatal(err)
	}
	s.results.atDisk.Wait()
}

// done adds a finished job with a result of these parts. The caller holds the lock.
func (s *server) done(id string, ended time.Time, parts ...*control.Sum) *job {
	s.cluster.numbers++
	j := &job{
		id: id, number: s.cluster.numbers, state: control.JobState_JOB_STATE_DONE, stored: parts,
		ended: ended.Sub(s.start),
		spec:  &jobspec.Spec{Program: "bfs", Graph: "g", KeepResult: true},
	}
	s.cluster.jobs[id] = j
	s.cluster.order = append(s.cluster.order, j)
	s.cluster.changed = append(s.cluster.changed, change{job: id})
	return j
}

// ids returns the ids of all jobs, oldest first.
func (c *cluster) ids() (all []string) {
	for _, j := range c.order {
		all = append(all, j.id)
	}
	return all
}

// gone stops a master, so that another one can use its directory.
func (s *server) gone() {
	s.results.close()
	s.unlock()
}

// on returns the result directories on disk.
func on(t *testing.T, data string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(data, "results"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func (s *server) fetched(id string) (string, error) {
	var text strings.Builder
	err := s.Result(context.Background(), id, 0,
		func(data []byte) error { text.Write(data); return nil })
	return text.String(), err
}

// TestResultsByAge: results of earlier masters are removed when they are too old, and results of
// unknown jobs at once. Other files stay.
func TestResultsByAge(t *testing.T) {
	data := t.TempDir()
	for _, name := range []string{"mine", "aaaa-1x"} {
		if err := os.MkdirAll(filepath.Join(data, "results", name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(data, "results", name), noon.AddDate(-1, 0, 0),
			noon.AddDate(-1, 0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := retaining(t, data, noon, time.Hour, 1000)
	s.result(t, "aaaa-1", noon.Add(-50*time.Minute), 40)
	s.result(t, "aaaa-2", noon, 8)
	s.gone()

	if err := os.MkdirAll(filepath.Join(data, "results", "aaaa-9"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, said := retaining(t, data, noon.Add(30*time.Minute), time.Hour, 1000)
	s.results.atDisk.Wait()
	if got := on(t, data); got != "aaaa-1x aaaa-2 mine" {
		t.Errorf("found %s", got)
	}
	if !strings.Contains(said.String(), `msg="result removed" job=aaaa-1 bytes=40`) ||
		!strings.Contains(said.String(), "kept for 1h0m0s") {
		t.Errorf("the log says: %s", said)
	}
	if got, err := s.fetched("aaaa-2"); got != "0 1\n0 1\n" || err != nil {
		t.Errorf("found %q, %v", got, err)
	}
	if _, err := s.fetched("aaaa-1"); err == nil ||
		!strings.Contains(err.Error(), "the result of job aaaa-1 is gone") {
		t.Errorf("found %v", err)
	}
	s.gone()
}

// TestJobsWithResultsAreRemembered: a job with a stored result is remembered until the result is
// removed, however many jobs have ended since.
func TestJobsWithResultsAreRemembered(t *testing.T) {
	s, _ := retaining(t, t.TempDir(), noon, time.Hour, 1000)
	defer s.gone()
	s.cluster.ended = 2
	s.done("aaaa-1", noon, &control.Sum{Bytes: 1})
	end := func(id string) {
		j := s.done(id, noon)
		s.cluster.end(s.now(), j, control.JobState_JOB_STATE_DONE, "")
	}
	for _, id := range []string{"aaaa-2", "aaaa-3", "aaaa-4"} {
		end(id)
	}
	if got := strings.Join(s.cluster.ids(), " "); got != "aaaa-1 aaaa-3 aaaa-4" {
		t.Errorf("found %s", got)
	}
	s.cluster.jobs["aaaa-1"].stored = nil
	end("aaaa-5")
	if got := strings.Join(s.cluster.ids(), " "); got != "aaaa-4 aaaa-5" {
		t.Errorf("when the result is removed: found %s", got)
	}
	old := s.cluster.jobs["aaaa-4"] // it ends once more, as the oldest, with a result
	old.stored = []*control.Sum{{Bytes: 1}}
	s.cluster.end(s.now(), old, control.JobState_JOB_STATE_DONE, "")
	end("aaaa-6")
	end("aaaa-7")
	if got := strings.Join(s.cluster.ids(), " "); got != "aaaa-4 aaaa-6 aaaa-7" {
		t.Errorf("the oldest ended last: found %s", got)
	}
}

// TestAJobIsNotForgottenAtItsOwnEnd: a job whose run ends with a result is remembered for it, even if
// the master remembers no other job. A run that fails leaves no result.
func TestAJobIsNotForgottenAtItsOwnEnd(t *testing.T) {
	s, _ := retaining(t, t.TempDir(), noon, time.Hour, 1000)
	defer s.gone()
	s.cluster.ended = 0
	for id, err := range map[string]error{"aaaa-1": nil, "aaaa-2": errors.New("it failed")} {
		j := s.done(id, noon)
		j.state, j.epoch = control.JobState_JOB_STATE_WRITING, 1
		j.figures.ResultParts = []*control.Sum{{Bytes: 1}}
		s.cluster.runEnded(s.now(), id, 1, err)
		if (j.stored != nil) != (err == nil) {
			t.Errorf("%s: found the result %v after %v", id, j.stored, err)
		}
	}
	if got := strings.Join(s.cluster.ids(), " "); got != "aaaa-1" {
		t.Errorf("found %s", got)
	}
}

// TestResultsBySize removes the oldest results when a job has ended, except results being read and
// the newest one.
func TestResultsBySize(t *testing.T) {
	data := t.TempDir()
	s, _ := retaining(t, data, noon, time.Hour, 100)
	for i := range 3 {
		s.result(t, fmt.Sprint("aaaa-", i), noon.Add(time.Duration(i)*time.Second), 40)
	}
	if got := on(t, data); got != "aaaa-1 aaaa-2" {
		t.Errorf("found %s", got)
	}
	read := s.read("aaaa-1")
	s.result(t, "aaaa-3", noon.Add(3*time.Second), 200)
	if got := on(t, data); got != "aaaa-1 aaaa-3" {
		t.Errorf("found %s", got)
	}
	read()
	s.result(t, "aaaa-4", noon.Add(4*time.Second), 4)
	if got := on(t, data); got != "aaaa-4" {
		t.Errorf("found %s", got)
	}
	s.gone()
}

// TestResultsByNumber limits the number of results.
func TestResultsByNumber(t *testing.T) {
	s, _ := retaining(t, t.TempDir(), noon, time.Hour, 1<<40)
	defer s.gone()
	for i := range maxResults + 3 {
		s.done(fmt.Sprint("aaaa-", i), noon.Add(time.Duration(i)), &control.Sum{Bytes: 1})
	}
	s.expireResults()
	var gone []string
	for _, j := range s.cluster.order {
		if j.stored == nil {
			gone = append(gone, j.id)
		}
	}
	if !slices.Equal(gone, []string{"aaaa-0", "aaaa-1", "aaaa-2"}) {
		t.Errorf("found %v", gone)
	}
}
