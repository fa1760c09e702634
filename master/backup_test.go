package master

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/backup"
	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// served starts a master with data. It returns a function that stops the master.
func served(t *testing.T, dir string) (*server, func()) {
	t.Helper()
	return servedBy(t, Options{Data: dir})
}

func servedBy(t *testing.T, o Options) (*server, func()) {
	t.Helper()
	s, err := New(Config{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	return s, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// opening returns a function that opens an archive. It can be called several times.
func opening(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// TestBackupOfARunningMaster: a master restored from the backup has the job with its key, the
// column for which it waits, and a higher run number.
func TestBackupOfARunningMaster(t *testing.T) {
	s, end := served(t, t.TempDir())
	id, other, lost := rand.Text(), rand.Text(), rand.Text()
	for _, err := range []error{
		s.columns.send(id, 0, "1 2 3\n", true), s.columns.send(other, 0, "not all", false),
		s.columns.send(lost, 0, "5\n", true),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	submit := func(s *server, key string, column *jobspec.ColumnData) (*control.Job, error) {
		column.File = "b.txt"
		return s.SubmitJob(t.Context(),
			&control.SubmitJobRequest{Key: key, SpecJson: jobspec.Text(&jobspec.Spec{
				Program: "cg", Source: &jobspec.Source{Input: "path:vertices=3"},
				ColumnData: map[string]*jobspec.ColumnData{"b": column},
			})})
	}
	column := sentAs(id, "1 2 3\n")
	job, err := submit(s, "key", column)
	if err == nil {
		_, err = submit(s, "another", sentAs(lost, "5\n"))
	}
	if err = errors.Join(err, s.columns.root.Remove(columnsPrefix+lost)); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := s.backup(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.options.Data, "*.copy")); len(left) > 0 {
		t.Errorf("found %q left", left)
	}
	end()
	dir := filepath.Join(t.TempDir(), "restored")
	h, err := Config{Options: Options{Data: dir}}.Restore(opening(archive.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if h.Jobs != 2 || h.Columns != 1 || h.Run != 1 || len(h.Damaged) != 1 ||
		!strings.Contains(h.Damaged[0], lost+": it is missing") {
		t.Errorf("found %+v, expected two jobs, one column, one damaged file and run 1", *h)
	}
	next, end := served(t, dir)
	defer end()
	again, err := submit(next, "key", column)
	if err != nil || again.Id != job.Id {
		t.Errorf("submitted again: found %v (%v), expected job %s", again, err, job.Id)
	}
	if got := next.columns.sentNow(id, "1 2 3\n"); got != "1 2 3\n" {
		t.Errorf("found the column %q", got)
	}
	if next.run < 2 {
		t.Errorf("found run %d, expected one after the first", next.run)
	}
}

// TestRestoreLeavesNothing: a failed restore leaves no files, and no master starts on an
// interrupted restore.
func TestRestoreLeavesNothing(t *testing.T) {
	s, end := served(t, t.TempDir())
	defer end()
	var archive bytes.Buffer
	if err := s.backup(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	passes := 0
	_, err := Config{Options: Options{Data: dir}}.Restore(func() (io.ReadCloser, error) {
		if passes++; passes == 1 {
			return opening(archive.Bytes())()
		}
		return io.NopCloser(io.MultiReader(bytes.NewReader(archive.Bytes()[:4000]), broken{})), nil
	})
	if entries, _ := os.ReadDir(dir); err == nil || len(entries) > 0 {
		t.Errorf("found %v and %v", err, entries)
	}
	var foreign bytes.Buffer
	w, err := backup.NewWriter(&foreign, backup.Header{})
	if err == nil {
		err = errors.Join(w.Add("results/../up", 1, strings.NewReader("x")), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{foreign.Bytes(), []byte("nothing")} {
		if _, err := (Config{Options: Options{Data: dir}}).Restore(opening(data)); err == nil {
			t.Error("a foreign archive was restored")
		}
	}
	if err := os.WriteFile(filepath.Join(dir, restoringFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Options: Options{Data: dir}}); err == nil ||
		!strings.Contains(err.Error(), "was not restored to the end") {
		t.Errorf("found %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the disk is broken") }
