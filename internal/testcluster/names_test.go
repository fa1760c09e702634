package testcluster

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/master"
	"github.com/superstep-go/superstep/pregel"
)

// pair is a value with two vertices and a number.
type pair struct {
	First, Last pregel.VertexID
	Messages    int64
}

// meets finds, for each vertex, the first and the last vertex by VertexID from which it can be
// reached within two steps. If there is a source, only paths from it count.
type meets struct {
	Source pregel.VertexID `param:"source" help:"one vertex"`
	Fails  bool            `param:"fails"`
}

func (m meets) Compute(v *pregel.Vertex[pair, pregel.VertexID], from []pregel.VertexID) {
	x := v.Value()
	if v.Superstep() == 0 {
		x = pair{First: pregel.None, Last: v.ID()}
		if m.Fails && v.ID() == m.Source {
			panic("no way")
		}
		v.SendToAllNeighbors(v.ID())
	}
	for _, id := range from {
		x.First, x.Last = min(x.First, id), max(x.Last, id)
		if x.Messages++; v.Superstep() == 1 && m.Source == id {
			v.SendToAllNeighbors(id)
		}
	}
	v.Set(x)
	v.VoteToHalt()
}

func (meets) Report() pregel.Report[pair] {
	return pregel.Report[pair]{
		// for the summary
		Score: func(x pair) float64 { return float64(x.Messages) },
	}
}

// table writes a random table of names. It returns its path and some of the names.
func table(t testing.TB, seed uint64, lines int) (path string, some []string) {
	rng := rand.New(rand.NewPCG(seed, 9))
	one := func() string {
		switch rng.IntN(5) {
		case 0:
			return fmt.Sprintf("Rue \"%d\", de\tRivoli", rng.IntN(lines/4+1))
		case 1:
			return string(rune(0x4e00+rng.IntN(lines/4+1))) + " é"
		case 2:
			return strings.Repeat("very long ", rng.IntN(40)) + fmt.Sprint(rng.IntN(9)) + "."
		default:
			return fmt.Sprint("-", rng.IntN(lines))
		}
	}
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	for range lines {
		row := []string{one(), one()}
		some = append(some, row[0])
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	path = filepath.Join(t.TempDir(), fmt.Sprintf("names%d.csv", seed))
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, some
}

// namedAlone runs a program on a table of names in one process. It returns the lines of the result
// sorted by name.
func namedAlone(t testing.TB, p engine.Registered, path, source string) string {
	t.Helper()
	no := false
	g, in, err := load.Build(t.Context(),
		load.Request{Name: path, Columns: graphio.Columns{Header: &no, IDs: "name"}},
		graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	defer g.Close()
	label, ok := g.Names.Find(source)
	if !ok {
		t.Fatalf("no vertex %q", source)
	}
	program, err := p.New(map[string]string{"source": fmt.Sprint(label)}, g.Find)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := program.Bind(t.Context(), g, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer bound.Close()
	if _, err := bound.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for label := range uint64(g.N) {
		id, _ := g.Find(label)
		all = graphio.AppendField(all, func(dst []byte) []byte { return g.AppendName(dst, label) })
		all = append(bound.AppendAs(append(all, '\t'), id, bound.Label, g.AppendName), '\n')
	}
	return string(all)
}

// TestNamesOnACluster: results for tables of names are equal to those of one process, byte for
// byte, for any number of workers and partitions.
func TestNamesOnACluster(t *testing.T) {
	p := engine.Register("meets", pregel.Erase(pregel.List(meets{})))
	no := false
	for workers := 1; workers <= 4; workers++ {
		c := Start(t, workers, master.Config{}, p)
		for i, lines := range []int{1, 3, 40, 700} {
			path, some := table(t, uint64(10*workers+i), lines)
			source := some[lines/2]
			want := namedAlone(t, p, path, source)
			spec := &job.Spec{
				Program: "meets", KeepResult: true,
				Source:     &job.Source{Input: path, Header: &no, IDs: "name"},
				Parameters: map[string]string{"source": source},
				Rows:       uint32(workers + i), Columns: 1,
			}
			j, _ := c.watch(t, c.submitSpec(t, spec).Id, nil)
			if j.State != control.JobState_JOB_STATE_DONE || !j.Named {
				t.Fatalf("%d workers, %d lines: found %s: %s", workers, lines, j.State.Word(),
					j.Reason)
			}
			if got := string(c.resultFrom(t, j.Id, 0)); got != want {
				t.Errorf("%d workers, %d lines: found\n%.2000s\nexpected\n%.2000s", workers, lines,
					got, want)
			}
			if top := string(j.FinalAggregates()["top"]); !strings.Contains(top, `"name":`) {
				t.Errorf("the summary has no names: %s", top)
			}
			// The error of a panic has the vertex's name, and the error of a missing source has its
			// name, too.
			spec.Parameters = map[string]string{"source": source, "fails": "true"}
			j, _ = c.watch(t, c.submitSpec(t, spec).Id, nil)
			if !strings.Contains(j.Reason, fmt.Sprintf("vertex %q, superstep 0: no way", source)) {
				t.Errorf("%d workers, %d lines: a program that panics: %s, expected the vertex %q",
					workers, lines, j.Reason, source)
			}
		}
	}
}

// TestNamesAreAskedFor looks up names and input ids of a graph of the catalog.
func TestNamesAreAskedFor(t *testing.T) {
	c := Start(t, 3, master.Config{}, programs()...)
	path, some := table(t, 7, 100)
	no := false
	if g := c.load(t, "streets", &job.Source{Input: path, Header: &no, IDs: "name"}, 0,
		0); !g.Named {
		t.Error("the graph has no names")
	}
	r, err := c.Client.ListVertices(t.Context(),
		&control.ListVerticesRequest{Graph: "streets", Names: []string{some[0], "nobody", some[5]}, NamesOf: []uint64{0, 1 << 40}})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]uint64{}
	for _, one := range r.Names {
		names[one.Name] = one.Label
	}
	_, first := names[some[0]]
	_, fifth := names[some[5]]
	if _, nobody := names["nobody"]; !first || !fifth || nobody || len(names) > 3 {
		t.Errorf("found %v", names)
	}
	spec := &job.Spec{Program: "bfs", Graph: "streets", Parameters: map[string]string{"source": "nobody"}}
	if j, _ := c.watch(t, c.submitSpec(t, spec).Id, nil); !strings.Contains(j.Reason,
		`parameter source: the graph has no vertex "nobody"`) {
		t.Errorf("a vertex that is not there: %s %s", j.State.Word(), j.Reason)
	}
}

// TestLossWhileNamesAreExchanged: if a worker is lost while a table of names is loaded, the job
// fails, or has ended before.
func TestLossWhileNamesAreExchanged(t *testing.T) {
	c := Start(t, 3, master.Config{Options: master.Options{Lease: control.Lease}}, programs()...)
	path, some := table(t, 8, 60_000)
	no, lost := false, false
	spec := &job.Spec{Program: "bfs", Source: &job.Source{Input: path, Header: &no, IDs: "name"}, Parameters: map[string]string{"source": some[0]}}
	j, _ := c.watch(t, c.submitSpec(t, spec).Id, func(e *control.JobEvent) {
		if !lost && e.GetJob().GetState() == control.JobState_JOB_STATE_LOADING {
			lost = true
			c.Kill("w1")
		}
	})
	if !lost || j.State != control.JobState_JOB_STATE_FAILED {
		t.Errorf("found %s: %s", j.State.Word(), j.Reason)
	}
}
