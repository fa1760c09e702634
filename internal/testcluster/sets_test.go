package testcluster

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/superstep-go/superstep"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/daemon"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
	"github.com/superstep-go/superstep/vertexset"
)

// ofSets is the graph of these tests, with a set of its vertices.
func ofSets(t *testing.T) (*superstep.Graph, vertexset.Set) {
	t.Helper()
	g, err := superstep.Load(t.Context(), "kronecker:scale=9", superstep.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	set, err := vertexset.Of(g, func(yield func(pregel.VertexID) bool) {
		for label := uint64(0); label < 512; label += 1 + label%3 {
			if id, ok := g.Vertex(label); ok && !yield(id) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return g, set
}

func (c *Cluster) newClient(t *testing.T) *client.Client {
	t.Helper()
	cl, err := client.New(client.Options{Address: c.Address, Log: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// sent sends a vertex set.
func sent(t *testing.T, cl *client.Client, file string, data []byte) *job.ColumnData {
	t.Helper()
	to := &job.ColumnData{File: file}
	if err := cl.SendColumn(t.Context(), to, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestSetsAfterALoss: a job within a vertex set loses a worker, and begins again with the set. Its
// result is that of one process, and the set of its result is the part of the set.
func TestSetsAfterALoss(t *testing.T) {
	at := new(atomic.Pointer[gate])
	c := Start(t, 4, master.Config{Options: master.Options{Lease: control.Lease, Retries: 2}},
		append(programs(), engine.Register("summing", pregel.Erase(summing{at})))...)
	g, set := ofSets(t)
	part, err := g.Within(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	ran, err := superstep.Run(t.Context(), part, summing{at})
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64]string{}
	for label, value := range ran.All() {
		want[label] = fmt.Sprint(value)
	}
	data, err := set.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	cl := c.newClient(t)
	gate := newGate()
	at.Store(gate)
	j, _ := c.watch(t, c.submitSpec(t, &job.Spec{
		Program: "summing", Source: &job.Source{Input: "kronecker:scale=9", Within: "/a.vset"},
		Sets:       map[string]*job.ColumnData{"/a.vset": sent(t, cl, "/a.vset", data)},
		KeepResult: true, Numbered: true,
	}).Id, func(e *control.JobEvent) {
		if e.GetJob().GetState() == control.JobState_JOB_STATE_RUNNING && at.Load() != nil {
			gate.await(t)
			at.Store(nil)
			c.Kill("w3")
			close(gate.open)
		}
	})
	fingerprint, ids := g.Numbering()
	if j.State != control.JobState_JOB_STATE_DONE || j.Epoch != 2 || len(j.Workers) != 3 {
		t.Fatalf("found %s %q, attempt %d on %v", j.State.Word(), j.Reason, j.Epoch, j.Workers)
	}
	if j.Fingerprint != fingerprint || j.Ids != uint64(ids) {
		t.Errorf("the numbering is %x of %d, expected %x of %d", j.Fingerprint, j.Ids, fingerprint,
			ids)
	}
	if got := c.result(t, j.Id); len(got) == 0 || !maps.Equal(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
	var lines bytes.Buffer
	if _, err := cl.Result(t.Context(), j.Id, true, &lines); err != nil {
		t.Fatal(err)
	}
	var numbers []pregel.VertexID
	for line := range strings.Lines(lines.String()) {
		var label, value uint64
		var number pregel.VertexID
		if _, err := fmt.Sscanf(line, "%d %d\t%d\n", &label, &value, &number); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if id, _ := g.Vertex(label); id != number {
			t.Errorf("vertex %d has number %d, expected %d", label, number, id)
		}
		numbers = append(numbers, number)
	}
	if again, err := vertexset.Of(g, slices.Values(numbers)); err != nil || !again.Equal(set) {
		t.Errorf("the result has %v, %v, expected %v", again, err, set)
	}
}

// TestSetsAreRefused: a cluster refuses vertex sets of other graphs, damaged ones, those that are
// larger than the graph can have, and those that nobody has sent.
func TestSetsAreRefused(t *testing.T) {
	t.Parallel()
	c := Start(t, 3, master.Config{Master: daemon.Master{}}, append(programs(),
		engine.Register("counting", pregel.Erase(counting{})))...)
	_, set := ofSets(t)
	data, err := set.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(data)
	damaged[len(damaged)/2] ^= 1
	cl := c.newClient(t)
	for _, x := range []struct {
		input, want string
		data        []byte
	}{
		{"kronecker:scale=8", "a.vset: found a set of another graph, with 512 vertices", data},
		{"kronecker:scale=9", "a.vset: the checksum is wrong", damaged},
		{"kronecker:scale=9", "a.vset: found no vertex set", []byte("some other file")},
		{
			"kronecker:scale=9", fmt.Sprintf("a.vset: found more than the %d bytes of the vertex set",
				len(data)),
			append(bytes.Clone(data), make([]byte, 1<<20)...),
		},
	} {
		for what, spec := range map[string]*job.Spec{
			"within": {
				Program: "wcc", Source: &job.Source{Input: x.input, Within: "a.vset"},
				Sets: map[string]*job.ColumnData{"a.vset": sent(t, cl, "a.vset", x.data)},
			},
			"a column": {
				Program: "counting", Source: &job.Source{Input: x.input},
				ColumnData: map[string]*job.ColumnData{"passed": sent(t, cl, "a.vset", x.data)},
			},
		} {
			j, _ := c.watch(t, c.submitSpec(t, spec).Id, nil)
			if j.State != control.JobState_JOB_STATE_FAILED || !strings.Contains(j.Reason, x.want) {
				t.Errorf("%s: found %s: %s; expected %s", what, j.State.Word(), j.Reason, x.want)
			}
		}
	}
	spec := &job.Spec{Program: "wcc", Source: &job.Source{Input: "kronecker:scale=9", Within: "b.vset"}}
	for want, sets := range map[string]map[string]*job.ColumnData{
		`vertex set "b.vset": nothing was sent`: nil,
		"the master does not have what was sent": {"b.vset": {
			ID: strings.Repeat("A", 26), File: "b.vset",
		}},
	} {
		spec.Sets = sets
		_, err := c.Client.SubmitJob(t.Context(), &control.SubmitJobRequest{SpecJson: job.Text(spec)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
	_, err = c.Client.LoadGraph(t.Context(), &control.LoadGraphRequest{
		Name:       "part",
		SourceJson: job.Text(&job.Source{Input: "kronecker:scale=9", Within: "a.vset"}),
	})
	if err == nil || !strings.Contains(err.Error(), "a graph of the catalog is loaded whole") {
		t.Errorf("a part in the catalog: %v", err)
	}
	c.works(t, 3)
	c.holdsOnly(t, 0)
}

// TestTooManySources: sets in parameters have at most 2^20 vertices.
func TestTooManySources(t *testing.T) {
	t.Parallel()
	input := fmt.Sprintf("path:vertices=%d", 1<<20+1)
	g, err := superstep.Load(t.Context(), input, superstep.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	set, err := vertexset.Of(g, func(yield func(pregel.VertexID) bool) {
		for v := pregel.VertexID(0); v <= 1<<20 && yield(v); v++ {
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := set.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	c := Start(t, 2, master.Config{Master: daemon.Master{}}, programs()...)
	j, _ := c.watch(t, c.submitSpec(t, &job.Spec{
		Program: "pagerank", Source: &job.Source{Input: input},
		Parameters: map[string]string{"sources": "set:a.vset"},
		Sets:       map[string]*job.ColumnData{"a.vset": sent(t, c.newClient(t), "a.vset", data)},
	}).Id, nil)
	const want = "a.vset: found 1048577 vertices in sets of parameters, expected at most 1048576"
	if j.State != control.JobState_JOB_STATE_FAILED || !strings.Contains(j.Reason, want) {
		t.Errorf("found %s: %s; expected %s", j.State.Word(), j.Reason, want)
	}
}
