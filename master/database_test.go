package master

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"go.etcd.io/bbolt"

	"github.com/superstep-go/superstep/internal/control"
	jobspec "github.com/superstep-go/superstep/internal/job"
)

// readDatabase returns the records of a database, as lines.
func readDatabase(dir string) (string, error) {
	var lines []string
	d, err := openDatabase(dir, func(bucket []byte, key string, data []byte) error {
		lines = append(lines, fmt.Sprintf("%s %s %s", bucket, key, data))
		return nil
	})
	d.close()
	return strings.Join(lines, "\n"), err
}

// TestDatabase: what was written is read, and what is damaged is an error, after which the file is what it was.
func TestDatabase(t *testing.T) {
	dir := t.TempDir()
	d, err := openDatabase(dir, func([]byte, string, []byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	var all []record
	for i := range 200 {
		all = append(all, record{jobBucket, fmt.Sprint("j", i), bytes.Repeat([]byte{byte('a' + i%26)}, 100)})
	}
	for _, records := range [][]record{all, {{graphBucket, "web", []byte("here")}, {jobBucket, "j7", nil}}, {{jobBucket, "j8", []byte("new")}}} {
		if err := d.write(records); err != nil {
			t.Fatal(err)
		}
	}
	d.close()
	want, err := readDatabase(dir)
	if err != nil || strings.Count(want, "\n") != 199 || !strings.Contains(want, "graphs web here") || strings.Contains(want, "jobs j7 ") || !strings.Contains(want, "jobs j8 new") {
		t.Fatalf("found %v and %s", err, want)
	}
	path := filepath.Join(dir, databaseFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for i := range 300 {
		damaged := bytes.Clone(whole)
		switch {
		case i%10 == 0:
			damaged = damaged[:rng.IntN(len(damaged)-1)+1]
		default:
			for range 1 + rng.IntN(8) {
				damaged[rng.IntN(len(damaged))] ^= byte(1 + rng.IntN(255))
			}
		}
		at := t.TempDir()
		name := filepath.Join(at, databaseFile)
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readDatabase(at)
		if err == nil {
			if got != want { // what was damaged is not used
				t.Errorf("damage %d is not found", i)
			}
			continue
		}
		found++
		if !strings.Contains(err.Error(), name+" cannot be used, and stays as it is: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("found the error %q", err)
		}
		if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, damaged) {
			t.Errorf("damage %d: the file was changed (%v)", i, err)
		}
	}
	if found < 100 {
		t.Errorf("%d of 300 damages were found", found)
	}
}

// TestDatabaseThatIsEmptyOrCut: a master does not take it for a new one, and says which file it is and what can be done.
func TestDatabaseThatIsEmptyOrCut(t *testing.T) {
	dir := t.TempDir()
	s, err := New(Config{Options: Options{Data: dir}})
	if err != nil {
		t.Fatal(err)
	}
	s.results.close()
	s.unlock()
	path := filepath.Join(dir, databaseFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":        {nil, "it is empty"},
		"a byte":       {whole[:1], "it is damaged, cut off, or no state of a master"},
		"a page":       {whole[:os.Getpagesize()], "it is damaged"},
		"the half":     {whole[:len(whole)/2], "it is damaged"},
		"random bytes": {bytes.Repeat([]byte{0x5a, 0x17, 3}, 9999), "it is damaged, cut off, or no state of a master"},
		"zeros":        {make([]byte, len(whole)), "it is damaged, cut off, or no state of a master"},
	} {
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := New(Config{Options: Options{Data: dir}})
		if err == nil {
			t.Fatalf("%s: it was taken", name)
		}
		for _, want := range []string{path, c.want, "superstep restore", "moved away"} {
			if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, "\n") {
				t.Errorf("%s: found %q, expected %q", name, text, want)
			}
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, c.data) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	s, err = New(Config{Options: Options{Data: dir}})
	if err != nil {
		t.Fatal(err)
	}
	s.results.close()
	s.unlock()
}

// TestDatabaseOfAnother: one of a later version, or of something else, is refused.
func TestDatabaseOfAnother(t *testing.T) {
	for want, bucket := range map[string]string{"found format \"3\", this master knows 2": "meta", "it is no state of a master, or damaged": "others"} {
		dir := t.TempDir()
		db, err := bbolt.Open(filepath.Join(dir, databaseFile), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte(bucket))
			if err != nil {
				return err
			}
			return b.Put(formatKey, []byte("3"))
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = db.Close()
		if _, err := New(Config{Options: Options{Data: dir}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
	if _, err := checked(binary.BigEndian.AppendUint32(nil, 7)); err == nil {
		t.Error("a wrong checksum is not found")
	}
}

// TestStateCannotBeWritten: a submission is refused with the cause, and leaves nothing; the master goes on, and writes again what it can.
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
		r, err := s.SubmitJob(t.Context(), connect.NewRequest(&control.SubmitJobRequest{Key: key, SpecJson: jobspec.Text(&jobspec.Spec{Program: "wcc", Source: &jobspec.Source{Input: "path:vertices=3"}})}))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	}
	first, err := submit("a")
	if err != nil {
		t.Fatal(err)
	}
	whole := s.database.db
	broken, err := bbolt.Open(filepath.Join(t.TempDir(), "broken"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = broken.Close() // as a full disk: nothing can be written
	s.mu.Lock()
	s.database.db = broken
	s.mu.Unlock()
	if _, err := submit("b"); connect.CodeOf(err) != connect.CodeInternal || !strings.Contains(err.Error(), "the job cannot be taken, for the master's state cannot be written: database not open") {
		t.Errorf("found %v", err)
	}
	if again, err := submit("a"); err != nil || again.Id != first.Id {
		t.Errorf("the job of before: found %v, %v", again, err)
	}
	if _, err := s.CancelJob(t.Context(), connect.NewRequest(&control.CancelJobRequest{Id: first.Id})); err != nil {
		t.Errorf("to cancel: found %v", err)
	}
	s.mu.Lock()
	if n := len(s.cluster.jobs); n != 1 {
		t.Errorf("found %d jobs, expected 1", n)
	}
	s.database.db = whole
	s.mu.Unlock()
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
	if n := len(next.cluster.jobs); n != 2 || len(next.cluster.queued) != 1 {
		t.Errorf("found %d jobs, %d of which wait; expected 2, and 1", n, len(next.cluster.queued))
	}
}
