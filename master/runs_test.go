package master

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/standby"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/record"
)

func jsonOf(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// TestManyJobsOutliveTheirMaster: the next master shows the same 300 jobs. Only the supersteps of a
// job with a damaged record are missing, which is logged once. If records cannot be written, each
// job costs a log line and nothing else.
func TestManyJobsOutliveTheirMaster(t *testing.T) {
	const jobs, supersteps = 300, 20
	dir := t.TempDir()
	at, err := store.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(at)
	var said strings.Builder
	opened := func(h *history.Store) *server {
		r, err := newResults("", 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.close)
		return &server{
			state:   standby.Open(standby.Options{Store: at, Alone: true, Now: time.Now}),
			cluster: &cluster{jobs: map[string]*job{}},
			results: r, log: slog.New(slog.NewTextHandler(&said, nil)), ctx: t.Context(),
			options: &Config{Master: daemon.Master{History: h}},
		}
	}
	first, second := history.NewNamedStore(), history.NewNamedStore()
	s, next := opened(first), opened(second)
	for i := range jobs {
		j := &job{id: fmt.Sprint("abcd-", i+1), number: uint64(i + 1)}
		b, e := &trace.Job{Job: j.id, Program: "bfs"},
			&trace.End{Job: j.id, State: trace.Done, Finished: time.Unix(1e9, 0)}
		_, _ = first.Record(b), second.Record(b)
		for k := range supersteps {
			_ = first.Record(
				&record.Superstep{Job: j.id, Superstep: k, Partitions: []record.Partition{
					{Computed: 1, Messages: k, Times: record.Seconds{Compute: 1, Total: 1}},
				}})
		}
		_, _ = first.Record(e), second.Record(e)
		next.past = append(next.past, j)
		s.keepRun(j) // a forgotten job is not written
		s.cluster.jobs[j.id] = j
		s.keepRun(j)
	}
	s.results.settle()
	damaged := filepath.Join(dir, runName(7))
	text, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(damaged, text, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	next.restoreRuns()
	t.Logf("%d jobs in %v", jobs, time.Since(began))
	if n := strings.Count(said.String(), "\n"); n != 1 ||
		!strings.Contains(said.String(), "job=abcd-7 ") {
		t.Errorf("%d lines: %s", n, said.String())
	}
	want, found := first.Jobs(), second.Jobs()
	for i := range want {
		steps, err := second.Steps(want[i].ID, 0, supersteps)
		if i+1 == 7 {
			if err != nil || len(steps) > 0 || found[i].ID != want[i].ID ||
				found[i].State != trace.Done {
				t.Errorf("of the damaged one: %d supersteps, %+v, %v", len(steps), found[i], err)
			}
		} else if err != nil || len(steps) != supersteps || jsonOf(found[i]) != jsonOf(want[i]) {
			t.Fatalf("found %d supersteps, %+v, %v, expected %+v", len(steps),
				found[i], err, want[i])
		}
	}
	said.Reset()
	if err := os.RemoveAll(filepath.Join(dir, "runs")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "runs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.keepRun(next.past[0])
	s.results.settle()
	if n := strings.Count(said.String(), "job=abcd-1 "); n != 1 {
		t.Errorf("%d lines: %s", n, said.String())
	}
}

// hanging is a store that does not answer.
type hanging struct {
	store.Store
	reads int
}

func (h *hanging) String() string { return "hanging" }

func (h *hanging) List(context.Context, string) iter.Seq2[store.Object, error] {
	h.reads++
	return func(yield func(store.Object, error) bool) { yield(store.Object{}, errors.New("it hangs")) }
}

// TestRestoreFromAStoreThatHangs: if a store does not answer, the master stops after three records
// instead of reading those of all jobs.
func TestRestoreFromAStoreThatHangs(t *testing.T) {
	at := &hanging{}
	s := &server{
		state: standby.Open(standby.Options{Store: at, Alone: true, Now: time.Now}),
		log:   slog.New(slog.DiscardHandler), ctx: t.Context(),
		options: &Config{Master: daemon.Master{History: history.NewNamedStore()}},
	}
	for i := range 9 {
		s.past = append(s.past, &job{id: fmt.Sprint("abcd-", i+1), number: uint64(i + 1)})
	}
	s.restoreRuns()
	if at.reads != 3 {
		t.Errorf("found %d reads, expected 3", at.reads)
	}
}
