package testcluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
	loading "github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/store"
	"github.com/superstep-go/superstep/master"
)

// TestWorkersSeeTheSameFiles: workers have different files of the same name and size. The graph is
// not loaded, and the error names both workers. --check-files finds differences that a sample
// misses, and --trust-files checks nothing.
func TestWorkersSeeTheSameFiles(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	c := Start(t, 0, master.Config{}, programs()...)
	for i, dir := range dirs {
		c.Worker.DataRoots = []string{dir}
		c.StartWorker(fmt.Sprint("w", i))
	}
	c.Await(2)
	var text bytes.Buffer
	const line = 42          // bytes
	for i := range 100_000 { // smaller files are compared as a whole
		fmt.Fprintf(&text, "%020d %020d\n", i, i+1)
	}
	put := func(name string, differ func(data []byte)) {
		t.Helper()
		for i, dir := range dirs {
			data := bytes.Clone(text.Bytes())
			if i == 1 {
				differ(data)
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	many := func(data []byte) {
		for i := 19; i < len(data); i += 33 * line {
			data[i] = '1'
		}
	}
	one := func(data []byte) { data[len(data)/2/line*line+19] ^= 1 }
	put("same.el", func([]byte) {})
	put("many.el", many)
	put("one.el", one)
	load := func(name, file string, check, trust bool) string {
		t.Helper()
		source := &job.Source{Input: file, CheckFiles: check, TrustFiles: trust}
		if _, err := c.Client.LoadGraph(t.Context(),
			&control.LoadGraphRequest{Name: name, SourceJson: job.Text(source)}); err != nil {
			return err.Error()
		}
		return ""
	}
	refused := func(why, file string) {
		t.Helper()
		if !strings.Contains(why, file) ||
			!strings.Contains(why, "workers w0 and w1 see different files") {
			t.Errorf("%s: found %q", file, why)
		}
	}
	for i, check := range []bool{false, true} {
		if why := load(fmt.Sprint("same", i), "same.el", check, false); why != "" {
			t.Error(why)
		}
		refused(load(fmt.Sprint("many", i), "many.el", check, false), "many.el")
	}
	refused(load("one", "one.el", true, false), "one.el")
	for i, dir := range dirs { // two graphs of the same size, saved with the same name
		if err := os.WriteFile(filepath.Join(dir, "little.el"),
			[]byte([]string{"1 2\n2 3\n3 4\n", "1 3\n3 2\n2 4\n"}[i]), 0o600); err != nil {
			t.Fatal(err)
		}
		g, in, err := loading.Build(t.Context(),
			loading.Request{Name: filepath.Join(dir, "little.el")}, graph.Options{Partitions: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		defer g.Close()
		place, err := store.Open(filepath.Join(dir, "snap"))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close(place)
		if _, err := snapshot.Save(t.Context(), place, g, snapshot.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	refused(load("snap", "snap", false, false), "snap")
	if why := load("trusted", "many.el", false, true); why != "" {
		t.Error(why)
	}
	if g := c.inspect(t, "trusted"); !g.Source().TrustFiles ||
		!strings.Contains(strings.Join(g.Notes, "\n"), "not compared (--trust-files)") {
		t.Errorf("the record says %v, %q", g.SourceJson, g.Notes)
	}
}
