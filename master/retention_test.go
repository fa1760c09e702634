package master

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

var noon = time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)

// retaining returns a master at a given time. It keeps results of the given age and size in a
// directory.
func retaining(t *testing.T, data string, at time.Time, age time.Duration, size int64) (*server, *bytes.Buffer) {
	t.Helper()
	said := &bytes.Buffer{}
	s, err := New(Config{Options: Options{Data: data, KeepResults: age, KeepResultBytes: size, Log: slog.New(slog.NewTextHandler(said, nil))}, Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}, Now: func() time.Time { return at }}}})
	if err != nil {
		t.Fatal(err)
	}
	return s, said
}

// result stores a result of this size, as runs do. The job ended at the given time.
func (s *server) result(t *testing.T, id string, ended time.Time, size int) {
	t.Helper()
	p := s.results.create(id, 1)[0]
	if err := p.write(bytes.Repeat([]byte("0 1\n"), size/4), true); err != nil {
		t.Fatal(err)
	}
	if err := p.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.results.store(&control.Job{
		Id: id, State: control.JobState_JOB_STATE_DONE, ResultBytes: uint64(size),
		ResultParts: []*control.Sum{p.summed()}, Ended: timestamppb.New(ended),
		SpecJson: jobspec.Text(&jobspec.Spec{Program: "bfs", Graph: "g", KeepResult: true}),
	}, s.options.Now())
	s.results.atDisk.Wait()
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
	err := s.Result(context.Background(), id, 0, func(data []byte) error { text.Write(data); return nil })
	return text.String(), err
}

// TestResultsByAge keeps results of earlier masters until they are too old. Other files stay
// unchanged.
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

	s, said := retaining(t, data, noon.Add(30*time.Minute), time.Hour, 1000)
	s.results.atDisk.Wait()
	if got := on(t, data); got != "aaaa-1x aaaa-2 mine" {
		t.Errorf("found %s", got)
	}
	if !strings.Contains(said.String(), `msg="result removed" job=aaaa-1 bytes=`) ||
		!strings.Contains(said.String(), "kept for 1h0m0s") {
		t.Errorf("the log says: %s", said)
	}
	if got, err := s.fetched("aaaa-2"); got != "0 1\n0 1\n" || err != nil {
		t.Errorf("found %q, %v", got, err)
	}
	if j := s.earlier("aaaa-2"); j.Spec().Program != "bfs" || j.Spec().Graph != "g" ||
		j.GetResultBytes() != 8 {
		t.Errorf("found %v", j)
	}
	if _, err := s.fetched("aaaa-1"); err == nil ||
		!strings.Contains(err.Error(), "there is no job") {
		t.Errorf("found %v", err)
	}
	s.gone()
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
	read := s.results.retention.read("aaaa-1")
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
	r := &s.results.retention
	for i := range maxResults + 3 {
		id := fmt.Sprint("aaaa-", i)
		r.all[id] = &stored{id: id, at: noon.Add(time.Duration(i))}
	}
	var gone []string
	for _, k := range r.expire(noon) {
		gone = append(gone, k.id)
	}
	if !slices.Equal(gone, []string{"aaaa-0", "aaaa-1", "aaaa-2"}) {
		t.Errorf("found %v", gone)
	}
}

// TestBrokenManifests: a result with an invalid manifest belongs to no job, and is removed like
// others.
func TestBrokenManifests(t *testing.T) {
	for what, text := range map[string]string{
		"none": "", "no JSON": "{",
		"another job's":  `{"id":"bbbb-2","spec":{},"state":"JOB_STATE_DONE","ended":"2020-01-01T12:00:00Z"}`,
		"not of the end": `{"id":"bbbb-1","spec":{},"state":"JOB_STATE_DONE"}`,
		"failed":         `{"id":"bbbb-1","spec":{},"state":"JOB_STATE_FAILED","ended":"2020-01-01T12:00:00Z"}`,
		"without a spec": `{"id":"bbbb-1","state":"JOB_STATE_DONE","ended":"2020-01-01T12:00:00Z"}`,
		"large": strings.Repeat(" ", maxManifest) +
			`{"id":"bbbb-1","spec":{},"state":"JOB_STATE_DONE","ended":"2020-01-01T12:00:00Z"}`,
	} {
		data := t.TempDir()
		dir := filepath.Join(data, "results", "bbbb-1")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, manifestName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, _ := retaining(t, data, time.Now(), time.Hour, 1<<30)
		if j := s.earlier("bbbb-1"); j != nil || len(s.results.retention.all) != 1 {
			t.Errorf("%s: found %v, %d kept", what, j, len(s.results.retention.all))
		}
		if _, err := s.fetched("bbbb-1"); err == nil {
			t.Errorf("%s: the result can be fetched", what)
		}
		s.gone()
		s, _ = retaining(t, data, time.Now().Add(2*time.Hour), time.Hour, 1<<30)
		s.gone()
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: it stays: %v", what, err)
		}
	}
}
