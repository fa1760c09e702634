package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/standby"
	"github.com/superstep-go/superstep/internal/statefile"
	"github.com/superstep-go/superstep/internal/store"
)

// readState returns the records of a state as lines.
func readState(dir string) (string, error) {
	l, err := openState(&Config{Options: Options{Data: dir}}, &saved{})
	if err != nil {
		return "", err
	}
	defer store.Close(l.Store)
	return fmt.Sprint(l.State()), nil
}

// writeState writes a state of eight records with a snapshot after every snapshots records. It
// returns its files.
func writeState(t *testing.T, dir string, snapshots uint64) []string {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { writeRecords(t, dir, snapshots) })
	files, err := filepath.Glob(filepath.Join(dir, stateName, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func writeRecords(t *testing.T, dir string, snapshots uint64) {
	at, err := store.OpenDir(filepath.Join(dir, stateName))
	if err != nil {
		t.Fatal(err)
	}
	l := standby.Open(standby.Options{
		Store: at, Alone: true, Lease: time.Minute, SnapshotEvery: snapshots,
		Now:    func() time.Time { return noon },
		Newest: filepath.Join(dir, stateName, newestFile),
	})
	if err := l.Lead(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s := &server{state: l, cluster: newCluster(rules{}), start: noon, options: &Config{Master: daemon.Master{Process: daemon.Process{Now: func() time.Time { return noon }}}}}
	for i := range 7 {
		j := &job{
			id: fmt.Sprint("00aa-",
				i), number: uint64(i), spec: &jobspec.Spec{Program: "wcc"},
			state: control.JobState_JOB_STATE_QUEUED,
		}
		s.cluster.jobs[j.id] = j
		if err := s.writeRecords(s.recordsOf([]change{{job: j.id}})); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until the snapshot is written, else the next one would be left out
	}
	delete(s.cluster.jobs, "00aa-3")
	if err := s.writeRecords(s.recordsOf([]change{{job: "00aa-3"}})); err != nil {
		t.Fatal(err)
	}
	l.Close()
	store.Close(at)
	if err := statefile.WriteNumber(filepath.Join(dir, runsFile), 1); err != nil {
		t.Fatal(err)
	}
}

// TestStateOnDisk: a written state is read back. A damaged state is an error, and its files stay
// unchanged. One intact snapshot of two is enough.
func TestStateOnDisk(t *testing.T) {
	if found := damageState(t, 100); found != damages {
		t.Errorf("%d of %d damages were found", found, damages)
	}
	if found := damageState(t, 4); found != 0 {
		t.Errorf("%d damages of a file that is there twice kept a state from being read", found)
	}
}

// damages is how many damages of a state are tested.
const damages = 60

// damageState damages files of a state repeatedly. It returns how often reading failed.
func damageState(t *testing.T, snapshots uint64) (found int) {
	good := t.TempDir()
	files := writeState(t, good, snapshots)
	want, err := readState(good)
	if err != nil || strings.Count(want, "jobs/") != 6 || strings.Contains(want, "00aa-3") {
		t.Fatalf("found %v and %s", err, want)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range damages {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(good, files[rng.IntN(len(files))])
		name := filepath.Join(dir, rel)
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		damaged := bytes.Clone(whole)
		switch {
		case i%10 == 0:
			damaged = damaged[:rng.IntN(len(damaged))]
		default:
			for range 1 + rng.IntN(8) {
				damaged[rng.IntN(len(damaged))] ^= byte(1 + rng.IntN(255))
			}
		}
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readState(dir)
		if err == nil {
			if got != want { // otherwise the damage must be in an unused part
				t.Errorf("damage %d of %s is not found", i, rel)
			}
			continue
		}
		found++
		if !strings.Contains(err.Error(), filepath.Join(dir, stateName)+
			" cannot be used, and stays as it is: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("found the error %q", err)
		}
		if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, damaged) {
			t.Errorf("damage %d: the file was changed (%v)", i, err)
		}
	}
	return found
}

// TestNewestRecordsThatAreGone: missing records at the end are detected, even if all records and a
// snapshot are missing. An unreadable note of the newest record is reported, but the master uses
// its state. Without a note, the existing records are complete.
func TestNewestRecordsThatAreGone(t *testing.T) {
	for _, snapshots := range []uint64{100, 4} {
		dir := t.TempDir()
		files := writeState(t, dir, snapshots)
		note := filepath.Join(dir, stateName, newestFile)
		slices.Reverse(files)
		slices.SortStableFunc(files,
			func(a, b string) int { return strings.Compare(filepath.Base(b), filepath.Base(a)) })
		for i, file := range files {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if i+1 < len(files) && filepath.Base(files[i+1]) == filepath.Base(files[0]) {
				continue // another copy has the same note
			}
			if _, err := readState(dir); err == nil ||
				!strings.Contains(err.Error(), "expected 8: remove the file "+note) &&
					!strings.Contains(err.Error(), "there is no record") {
				t.Errorf("without %s: found %v", file, err)
			}
		}
		if err := os.WriteFile(note, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		o := &Config{Options: Options{Data: dir, Log: slog.New(slog.NewTextHandler(&said, nil))}}
		l, err := openState(o, &saved{})
		if err != nil ||
			strings.Count(said.String(), "cannot check if the newest records of") != 1 {
			t.Fatalf("with an empty note: %v, said %q", err, said.String())
		}
		if err := l.Append(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if n, err := statefile.ReadNumber(note); n != 1 || err != nil {
			t.Errorf("noted %d, %v", n, err)
		}
		store.Close(l.Store)
	}
}

// TestRunsThatAreGone: a master whose state exists does not start if the file of its run number is
// missing or damaged. The error explains how to recover.
func TestRunsThatAreGone(t *testing.T) {
	dir := t.TempDir()
	begins := func() (uint64, error) {
		s, err := New(Config{Options: Options{Data: dir}})
		if err != nil {
			return 0, err
		}
		s.results.close()
		s.unlock()
		return s.run, nil
	}
	for want := range uint64(2) {
		if run, err := begins(); run != want+1 || err != nil {
			t.Fatalf("found run %d, %v", run, err)
		}
	}
	runs := filepath.Join(dir, runsFile)
	good, err := os.ReadFile(runs)
	if err != nil {
		t.Fatal(err)
	}
	for what, data := range map[string][]byte{"missing": nil, "damaged": bytes.Replace(good,
		[]byte("2"), []byte("1"), 1)} {
		if err := os.Remove(runs); err != nil {
			t.Fatal(err)
		}
		if data != nil {
			if err := os.WriteFile(runs, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := begins()
		if err == nil || !strings.Contains(err.Error(), runs) || !strings.Contains(err.Error(),
			what) || !strings.HasSuffix(err.Error(), statefile.Renew) {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.WriteFile(runs, []byte("1000000\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if run, err := begins(); run != 1000001 || err != nil {
			t.Errorf("%s, then mended: run %d, %v", what, run, err)
		}
	}
}

// TestStateThatIsNone: empty or foreign files are not taken for a new state. The error names them
// and explains how to recover. The state of an earlier version is refused.
func TestStateThatIsNone(t *testing.T) {
	dir := t.TempDir()
	newest := writeState(t, dir, 100)[0]
	whole, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	begins := func() error {
		s, err := New(Config{Options: Options{Data: dir}})
		if err == nil {
			s.results.close()
			s.unlock()
		}
		return err
	}
	for other, want := range map[string]string{
		"superstep-log\x02":                        "an earlier version of superstep wrote it",
		string(store.Seal([]byte(`{"format":4}`))): "found format 4, expected 3: another version of superstep",
	} {
		if err := os.WriteFile(newest, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := begins(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("another format: %v", err)
		}
	}
	for name, data := range map[string][]byte{
		"empty": nil, "a byte": whole[:1], "the half": whole[:len(whole)/2],
		"random bytes": bytes.Repeat([]byte{0x5a, 0x17, 3}, 9999),
		"zeros":        make([]byte, len(whole)),
	} {
		if err := os.WriteFile(newest, data, 0o600); err != nil {
			t.Fatal(err)
		}
		err := begins()
		if err == nil {
			t.Fatalf("%s: it was taken", name)
		}
		for _, want := range []string{filepath.Join(dir,
			stateName), "it is damaged", "superstep restore", "moved away"} {
			if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, "\n") {
				t.Errorf("%s: found %q, expected %q", name, text, want)
			}
		}
	}
	if err := os.Rename(filepath.Join(dir, stateName), filepath.Join(dir, "old")); err != nil {
		t.Fatal(err)
	}
	if err := begins(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := begins(); err == nil || !strings.Contains(err.Error(), "of an earlier version") {
		t.Errorf("the state of an earlier version: %v", err)
	}
}

// fullStore is a store that fails every write while full is true.
type fullStore struct {
	store.Store
	full *atomic.Bool
}

func (f fullStore) Put(ctx context.Context, name string, data io.ReaderAt, size int64) error {
	if f.full.Load() {
		return errors.New("no space left on device")
	}
	return f.Store.Put(ctx, name, data, size)
}

// TestStateCannotBeWritten: a submission is refused with the reason and leaves nothing behind. The
// master continues, and writes again when it can.
func TestStateCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	s, err := New(Config{Options: Options{Data: dir}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	submit := func(key string) (*control.Job, error) {
		r, err := s.SubmitJob(t.Context(),
			&control.SubmitJobRequest{Key: key, SpecJson: jobspec.Text(&jobspec.Spec{Program: "wcc", Source: &jobspec.Source{Input: "path:vertices=3"}})})
		if err != nil {
			return nil, err
		}
		return r, nil
	}
	first, err := submit("a")
	if err != nil {
		t.Fatal(err)
	}
	full := fullStore{Store: s.state.Store, full: new(atomic.Bool)}
	full.full.Store(true)
	s.mu.Lock()
	s.state.Store = full
	s.mu.Unlock()
	if _, err := submit("b"); connect.CodeOf(err) != connect.CodeInternal ||
		!strings.Contains(err.Error(),
			"the job is not accepted: the master's state cannot be written: no space left on device") {
		t.Errorf("found %v", err)
	}
	if again, err := submit("a"); err != nil || again.Id != first.Id {
		t.Errorf("the job of before: found %v, %v", again, err)
	}
	if _, err := s.CancelJob(t.Context(),
		&control.CancelJobRequest{Id: first.Id}); connect.CodeOf(err) !=
		connect.CodeInternal {
		t.Errorf("to cancel: found %v", err)
	}
	s.mu.Lock()
	if n := len(s.cluster.jobs); n != 1 {
		t.Errorf("found %d jobs, expected 1", n)
	}
	s.mu.Unlock()
	full.full.Store(false)
	if _, err := submit("c"); err != nil {
		t.Error(err)
	}
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
	next, err := New(Config{Options: Options{Data: dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer next.unlock()
	defer next.results.close()
	if n := len(next.cluster.jobs); n != 2 || len(next.cluster.waiting()) != 1 {
		t.Errorf("found %d jobs, %d of which wait; expected 2, and 1", n,
			len(next.cluster.waiting()))
	}
}

// TestChangesThatCannotBeWritten: while the state cannot be written, cancelling a job or dropping a
// graph returns an error: the change is done but not durable. This is repeated until the state is
// written. If the problem is already known, no graph is loaded. A graph dropped during its load
// does not exist for the next master.
func TestChangesThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	s, err := New(Config{Options: Options{Data: dir}})
	if err != nil {
		t.Fatal(err)
	}
	s.data = nil // so that nothing checks the directory
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	var ids []string
	for range 2 {
		j, err := s.SubmitJob(t.Context(), &control.SubmitJobRequest{
			ConfirmMilliseconds: 1e6, SpecJson: jobspec.Text(&jobspec.Spec{
				Program: "wcc", Source: &jobspec.Source{Input: "path:vertices=3"},
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, j.Id)
	}
	_ = s.commit(func() error {
		for _, name := range []string{"ready", "loading"} {
			g := graphOf(&control.Load{Graph: name, SourceJson: jobspec.Text(&jobspec.Source{Input: "path:vertices=3"})})
			g.report, g.state = &control.LoadReport{}, control.GraphState_GRAPH_STATE_READY
			if name == "loading" {
				g.state = control.GraphState_GRAPH_STATE_LOADING
			}
			s.cluster.graphs[name] = g
			s.cluster.changed = append(s.cluster.changed, change{graph: name})
		}
		return nil
	})
	changes := map[string]func() error{
		"the job is being cancelled": func() error {
			_, err := s.CancelJob(t.Context(), &control.CancelJobRequest{Id: ids[0]})
			return err
		},
		"the job may begin": func() error {
			_, err := s.ConfirmJob(t.Context(), &control.ConfirmJobRequest{Id: ids[1]})
			return err
		},
		"the graph is dropped": func() error {
			_, err := s.DropGraph(t.Context(), &control.DropGraphRequest{Name: "ready"})
			return err
		},
	}
	full := fullStore{Store: s.state.Store, full: new(atomic.Bool)}
	full.full.Store(true)
	s.mu.Lock()
	s.state.Store = full
	s.refusing = "data: no space left on device"
	s.mu.Unlock()
	_, err = s.LoadGraph(t.Context(), &control.LoadGraphRequest{
		Name: "g", SourceJson: jobspec.Text(&jobspec.Source{Input: "path:vertices=3"}),
	})
	if connect.CodeOf(err) != connect.CodeFailedPrecondition ||
		!strings.HasSuffix(err.Error(),
			"the master loads no graph: data: no space left on device") {
		t.Errorf("found %v", err)
	}
	s.mu.Lock()
	s.refusing = ""
	s.mu.Unlock()
	for done, do := range changes {
		want := done + ", but a restart of the master undoes that: the master's state cannot be written: no space left on device"
		for range 2 {
			err := do()
			if connect.CodeOf(err) == connect.CodeNotFound && done == "the graph is dropped" {
				continue
			}
			if connect.CodeOf(err) != connect.CodeInternal ||
				!strings.HasSuffix(err.Error(), want) {
				t.Errorf("found %v, expected %s", err, want)
			}
		}
	}
	full.full.Store(false)
	if _, err := s.DropGraph(t.Context(), &control.DropGraphRequest{Name: "loading"}); err != nil {
		t.Error(err)
	}
	if err := changes["the job is being cancelled"](); err != nil {
		t.Errorf("when it is written: %v", err)
	}
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
	next, err := New(Config{Options: Options{Data: dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer next.unlock()
	defer next.results.close()
	if len(next.cluster.graphs) != 0 ||
		next.cluster.jobs[ids[0]].state != control.JobState_JOB_STATE_CANCELLED {
		t.Errorf("the next master has graphs %v, and the job is %v", next.cluster.graphs,
			next.cluster.jobs[ids[0]].state)
	}
}
