package testcluster

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// TestTheFirstWrongLineIsNamed: a column has several wrong lines, for vertices of several workers.
// The error names the first line, whichever worker finds it.
func TestTheFirstWrongLineIsNamed(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, master.Config{}, engine.Register("counting", pregel.Erase(counting{})))
	cl, err := client.New(client.Options{Address: c.Address, Log: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	const vertices = 9
	run := func(named bool, write func(io.Writer)) *control.Job {
		data := &job.ColumnData{File: "values", Named: named}
		if err := cl.SendColumn(t.Context(), data, func(w io.Writer) error { write(w); return nil }); err != nil {
			t.Fatal(err)
		}
		j, _ := c.watch(t, c.submitSpec(t, &job.Spec{
			Program: "counting", ColumnData: map[string]*job.ColumnData{"passed": data},
			Source: &job.Source{Input: fmt.Sprint("path:vertices=", vertices)},
		}).Id, nil)
		return j
	}
	for first := range vertices {
		j := run(false, func(w io.Writer) {
			for line := range 2 * vertices {
				fmt.Fprintf(w, "%d:1:3 %d 5\n", line+1, (first+line)%vertices)
			}
		})
		want := fmt.Sprintf("values:%d:1: found vertex %d again", vertices+1, first)
		if !strings.Contains(j.Reason, want) {
			t.Errorf("found %s: %s; expected %q", j.State.Word(), j.Reason, want)
		}
	}
	j := run(true, func(w io.Writer) {
		for line, name := range []string{"0", "1", "1", "0", "x"} {
			fmt.Fprintf(w, "%d:0:0 %q 5\n", line+1, name)
		}
	})
	if want := "values:3: found vertex 1 again"; !strings.Contains(j.Reason, want) {
		t.Errorf("found %s: %s; expected %q", j.State.Word(), j.Reason, want)
	}
}
