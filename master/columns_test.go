package master

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/internal/store/storetest"
)

// send sends a piece of a column.
func (c *sentColumns) send(id string, offset int, data string, last bool) error {
	return c.take(context.Background(),
		&control.SendColumnRequest{Id: id, Offset: uint64(offset), Data: []byte(data), Last: last})
}

// sentAs returns the description of a sent column.
func sentAs(id, text string) *jobspec.ColumnData {
	var sum store.Sum
	_, _ = io.WriteString(&sum, text)
	return &jobspec.ColumnData{ID: id, Sum: &sum}
}

// into returns a function that appends to a buffer.
func into(b *bytes.Buffer) func(data []byte) error {
	return func(data []byte) error {
		_, err := b.Write(data)
		return err
	}
}

// sentNow returns the content of a column's file if it has the checksum of text.
func (c *sentColumns) sentNow(id, text string) string {
	var b bytes.Buffer
	if err := c.copy(context.Background(), sentAs(id, text), into(&b)); err != nil {
		return err.Error()
	}
	return b.String()
}

// TestSentColumns: pieces are accepted in order and repeatedly, but not with a gap. A column is
// kept as long as jobs need it, and ten minutes if no job names it.
func TestSentColumns(t *testing.T) {
	data, later := t.TempDir(), time.Duration(0)
	s, _ := retaining(t, data, noon, time.Hour, 1000)
	defer s.gone()
	c := s.columns
	c.now = func() time.Time { return time.Now().Add(later) }
	files := func() int {
		entries, _ := os.ReadDir(filepath.Join(data, "results", columnsName))
		return len(entries)
	}
	want := func(err error, text string) {
		t.Helper()
		if err == nil && text != "" || err != nil &&
			(text == "" || !strings.Contains(err.Error(), text)) {
			t.Errorf("found %v, expected %q", err, text)
		}
	}
	a, b, none := rand.Text(), rand.Text(), rand.Text()
	spec := &jobspec.Spec{ColumnData: map[string]*jobspec.ColumnData{"a": sentAs(a,
		"abcdef"), "b": sentAs(b, "")}}
	complete := func() error { return c.complete(t.Context(), spec) }
	want(complete(), "the master does not have what was sent of it")
	want(c.send(a, 3, "def", false), "no longer has column data")
	want(c.send(a, 0, "abc", false), "")
	want(c.send(a, 0, "abc", false), "") // the answer was lost
	want(c.send(a, 4, "ef", false), "found bytes from 4 on, and it has 3")
	want(c.send(b, 0, "", true), "")
	want(complete(), "column a: not all of it was sent")
	want(c.send(a, 3, "def", true), "")
	want(c.send(a, 3, "def", true), "")
	want(c.send("../x", 0, "", false), "expected 26 letters and digits")
	if found := c.sentNow(a, "abcdef") + "," + c.sentNow(b, ""); found != "abcdef," ||
		c.bytes != 6 {
		t.Errorf("the files have %q, %d bytes counted", found, c.bytes)
	}
	want(complete(), "")
	jobs := []*job{s.done("aaaa-1", noon), s.done("aaaa-2", noon)} // of the same columns
	jobs[0].spec, jobs[1].spec, jobs[1].state = spec, spec, control.JobState_JOB_STATE_QUEUED
	later = time.Hour
	want(c.send(none, 0, "z", false), "")
	if n := files(); n != 3 || c.bytes != 7 {
		t.Errorf("%d files and %d bytes while a job needs two", n, c.bytes)
	}
	jobs[1].state, s.commits.failed = control.JobState_JOB_STATE_FAILED, errors.New("disk full")
	later = 0
	if s.sweepColumns(); files() != 3 {
		t.Errorf("%d files while the end of a job is not on disk", files())
	}
	s.commits.failed, s.backingUp = nil, true
	c.bytes, c.number = 0, 0
	if s.sweepColumns(); files() != 3 || c.bytes != 7 || c.number != 3 {
		t.Errorf("%d files during a backup, of which %d of %d bytes count", files(), c.number, c.bytes)
	}
	s.backingUp, s.commits.last = false, &batch{} // of another job
	jobs[0].over, jobs[1].over = true, true       // their ends are on disk
	if s.sweepColumns(); files() != 1 || c.bytes != 1 {
		t.Errorf("%d files and %d bytes when the jobs have ended", files(), c.bytes)
	}
	s.commits.last = nil
	later = time.Hour
	want(c.send(a, 0, "new", false), "")
	want(c.send(none, 1, "z", false), "no longer has column data")
	if n := files(); n != 1 || c.bytes != 3 {
		t.Errorf("%d files and %d bytes after the expiry of unused data", n, c.bytes)
	}
	c.bytes = maxColumnBytes - 2
	want(c.send(a, 3, "abc", false), "the master keeps at most 10000000000 bytes of columns")
}

// TestPartialColumns: what was sent of a column before a restart is removed: it may have gaps.
func TestPartialColumns(t *testing.T) {
	data, whole, part := t.TempDir(), rand.Text(), rand.Text()
	s, _ := retaining(t, data, noon, time.Hour, 1000)
	if err := errors.Join(s.columns.send(whole, 0, "1", true),
		s.columns.send(part, 0, "1", false)); err != nil {
		t.Fatal(err)
	}
	s.gone()
	s, _ = retaining(t, data, noon, time.Hour, 1000)
	defer s.gone()
	all, err := store.SizesOf(t.Context(), s.results.files, columnsPrefix)
	if err != nil || len(all) != 1 || all[columnsPrefix+whole] != 1 {
		t.Errorf("found %v, %v", all, err)
	}
	if err := s.columns.send(part, 1, "2", true); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("the next piece: %v", err)
	}
}

// TestSentLines reads lines in batches, with and without a final newline, and refuses malformed
// lines.
func TestSentLines(t *testing.T) {
	s, _ := retaining(t, t.TempDir(), noon, time.Hour, 1000)
	defer s.gone()
	id, text := rand.Text(), strings.Repeat("12345 x\n", 100_000)
	for at := 0; at < len(text); at += 300_000 {
		end := min(at+300_000, len(text))
		if err := s.columns.send(id, at, text[at:end], end == len(text)); err != nil {
			t.Fatal(err)
		}
	}
	var found bytes.Buffer
	batches := 0
	err := s.columns.lines(t.Context(), sentAs(id, text), func(lines []byte) error {
		batches++
		if n := len(lines); n > control.ChunkSize+100 || lines[n-1] != '\n' {
			t.Errorf("a batch of %d bytes", n)
		}
		return into(&found)(lines)
	})
	if err != nil || found.String() != text || batches < 2 {
		t.Errorf("%d bytes in %d batches, %v", found.Len(), batches, err)
	}
}

// TestDamagedColumn: a column that is damaged after it was sent is not passed to a job. The error
// names the file.
func TestDamagedColumn(t *testing.T) {
	data := t.TempDir()
	s, _ := retaining(t, data, noon, time.Hour, 1000)
	defer s.gone()
	id, text := rand.Text(), "1 25\n2 31\n"
	if err := s.columns.send(id, 0, text, true); err != nil {
		t.Fatal(err)
	}
	about, name := sentAs(id, text), filepath.Join(columnsName, id)
	for what, damage := range map[string]func(string) error{
		"found CRC-32C ":  func(file string) error { return os.WriteFile(file, []byte("1 25\n2 32\n"), 0o600) },
		"found 5 bytes":   func(file string) error { return os.Truncate(file, 5) },
		"it is missing: ": os.Remove,
	} {
		if err := damage(filepath.Join(data, resultsName, name)); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		err := s.columns.copy(t.Context(), about, into(&got))
		if err == nil {
			err = s.columns.lines(t.Context(), about, func([]byte) error { return nil })
		}
		if !errors.Is(err, store.ErrDamaged) ||
			!strings.Contains(err.Error(), "results/columns/"+id+": "+what) {
			t.Errorf("found %v, expected %s", err, what)
		}
		if err := os.WriteFile(filepath.Join(data, resultsName, name), []byte(text),
			0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.columns.sentNow(id, text); got != text {
			t.Errorf("found %q", got)
		}
	}
}

// TestColumnInAPlaceThatIsDown: a column that cannot be read now is unavailable, so the job is
// tried again. A damaged column, or one without lines, is a final error.
func TestColumnInAPlaceThatIsDown(t *testing.T) {
	down := false
	view := &storetest.View{Memory: &storetest.Memory{}, Trouble: func(context.Context, string, string, bool) error {
		if down {
			return errors.New("the place is down")
		}
		return nil
	}}
	s := &sentColumns{results: sharing(t, view, 7)}
	id, text := rand.Text(), "1 25\n2 31\n"
	if err := view.PutIfAbsent(t.Context(), columnsPrefix+id, []byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		down bool
		data *jobspec.ColumnData
		want connect.Code // 0: none
	}{
		{false, sentAs(id, text), 0},
		{true, sentAs(id, text), connect.CodeUnavailable},
		{false, sentAs(id, "1 25\n2 32\n"), connect.CodeUnknown},
		{false, sentAs(rand.Text(), text), connect.CodeUnknown},
	} {
		down = c.down
		for _, read := range []func(context.Context, *jobspec.ColumnData, func([]byte) error) error{s.copy, s.lines} {
			err := sentError(read(t.Context(), c.data, func([]byte) error { return nil }))
			if (err == nil) != (c.want == 0) || err != nil && connect.CodeOf(err) != c.want {
				t.Errorf("down is %v: found %v, expected the code %v", c.down, err, c.want)
			}
		}
	}
}

// TestColumnsAreOfTheJobsWorkers: a worker whose certificate does not belong to the job's workers
// cannot read its columns.
func TestColumnsAreOfTheJobsWorkers(t *testing.T) {
	s, _ := retaining(t, t.TempDir(), noon, time.Hour, 1000)
	defer s.gone()
	j := &job{}
	for _, name := range []string{"a", "b"} {
		n, err := s.cluster.registerBy(s.now(), "cert-"+name,
			&control.RegisterRequest{Name: name, Instance: name, Protocol: control.Protocol})
		if err != nil {
			t.Fatal(err)
		}
		if name == "a" {
			j.placements = []*control.Placement{{Worker: name, Incarnation: n}}
		}
	}
	if !s.cluster.worksBy(j, "cert-a") || s.cluster.worksBy(j, "cert-b") {
		t.Error("the job is worked on by b, or not by a")
	}
	j.placements[0].Incarnation++
	if s.cluster.worksBy(j, "cert-a") {
		t.Error("a worker of before works on the job")
	}
}
