package master

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/store"
)

// TestPlaceOfCheckpoints has the place of checkpoints for each option: given, not given, off.
func TestPlaceOfCheckpoints(t *testing.T) {
	data, elsewhere := t.TempDir(), t.TempDir()
	for _, c := range []struct{ data, given, want, failed string }{
		{"", "", "off", ""},
		{data, "", "master:/", ""},
		{data, "off", "off", ""},
		{data, elsewhere, elsewhere, ""},
		{"", elsewhere, elsewhere, ""},
		{"", "master:/", "", "needs --data"},
	} {
		o := Config{Options: Options{Data: c.data, Checkpoints: c.given}, Master: daemon.Master{Process: daemon.Process{Registry: engine.Registry{}}}}
		for range 2 { // both Run and New complete the options
			err := o.complete()
			if c.failed != "" {
				if err == nil || !strings.Contains(err.Error(), c.failed) {
					t.Errorf("%q, %q: error %v", c.data, c.given, err)
				}
			} else if err != nil || o.Checkpoints != c.want {
				t.Errorf("%q, %q: found %q, %v, expected %q", c.data, c.given, o.Checkpoints, err,
					c.want)
			}
		}
	}
}

// TestForget removes a job's checkpoints on the master's disk, including incomplete ones, and no
// others.
func TestForget(t *testing.T) {
	data := t.TempDir()
	s, _ := retaining(t, data, noon, 0, 0)
	defer s.unlock()
	for _, name := range []string{"a-1", "a-2"} {
		at, err := s.options.Stores("master:/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := at.Put(t.Context(), "part", strings.NewReader("x"), 1); err != nil {
			t.Error(err)
		}
		store.Close(at)
	}
	s.forget("master:/a-1")
	left, err := os.ReadDir(filepath.Join(data, "checkpoints"))
	if err != nil || len(left) != 1 || left[0].Name() != "a-2" {
		t.Errorf("found %v, %v", left, err)
	}
	if _, err := s.options.Stores("master:/../x"); err == nil {
		t.Error("a place outside of the directory was opened")
	}
}
