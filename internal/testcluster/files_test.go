package testcluster

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/master"
)

// sparseFiles writes a graph with sparse ids in every format that allows them, and a dense graph in
// the others.
func sparseFiles(t *testing.T, dir string) map[string]string {
	rng := rand.New(rand.NewPCG(2, 2))
	var list, vertices, matrix strings.Builder
	id := func(v int) uint64 { return uint64(v)*uint64(v)*1_000_003 + 3 }
	const n, m = 150, 700
	for v := range n {
		fmt.Fprintln(&vertices, id((v*37)%n))
	}
	for i := range m {
		u, v := rng.IntN(n), rng.IntN(min(n, 1+i))
		fmt.Fprintln(&list, id(u), id(v))
		fmt.Fprintln(&matrix, u+1, v+1)
		if i%100 == 0 {
			fmt.Fprintln(&list, "# so far", i)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, list.String())
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list.el": list.String(), "list.el.gz": packed.String(), "l.v": vertices.String(),
		"l.e": strings.ReplaceAll(list.String(), "#", "%"),
		"m.mtx": fmt.Sprintf("%%%%MatrixMarket matrix coordinate pattern general\n%d %d %d\n%s", n,
			n, m, matrix.String()),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{"list.el": "3", "list.el.gz": "3", "l.v": "3", "m.mtx": "1"}
}

// TestSharesOfFiles: workers that read parts of a file compute the same results as one that reads
// the whole file. This includes results that name vertices of other workers, although no worker
// knows the input ids of all vertices.
func TestSharesOfFiles(t *testing.T) {
	dir := t.TempDir()
	c := Start(t, 3, master.Config{}, programs()...)
	grids := [][2]uint32{{3, 1}, {2, 2}, {1, 4}, {3, 3}}
	known := map[string]int{}
	for i, p := range programs() {
		known[p.Name] = i
	}
	i := 0
	for name, source := range sparseFiles(t, dir) {
		grid := grids[i%len(grids)]
		i++
		input := filepath.Join(dir, name)
		c.load(t, name, &job.Source{Input: input}, grid[0], grid[1])
		for _, w := range []*way{
			{program: "bfs", params: "source=" + source, deterministic: true},
			{program: "wcc"},
		} {
			want, _ := alone(t, programs()[known[w.program]], w.values(), input, nil)
			j := c.submitSpec(t,
				&job.Spec{Program: w.program, Parameters: w.values(), Graph: name, Options: w.options(), KeepResult: true})
			j, _ = c.watch(t, j.Id, nil)
			if j.State != control.JobState_JOB_STATE_DONE {
				t.Fatalf("%s, %v: %s", name, w, j.Reason)
			}
			got := c.result(t, j.Id)
			if len(got) != len(want) {
				t.Errorf("%s, %v: %d vertices, expected %d", name, w, len(got), len(want))
			}
			for v, x := range want {
				if got[v] != x {
					t.Fatalf("%s, %v: vertex %d: found %q, expected %q", name, w, v, got[v], x)
				}
			}
		}
	}
	c.holdsOnly(t, i)
}

// TestFaultsOfFiles: a fault in a file has the same error as if one worker read the whole file, and
// nothing remains.
func TestFaultsOfFiles(t *testing.T) {
	dir := t.TempDir()
	good := sparseFiles(t, dir)
	c := Start(t, 3, master.Config{}, programs()...)
	rng := rand.New(rand.NewPCG(7, 7))
	for name := range good {
		if strings.HasSuffix(name, ".gz") {
			continue
		}
		path := filepath.Join(dir, name)
		for round := range 4 {
			spoilt := filepath.Join(dir, strings.TrimSuffix(name, ".v")+
				map[bool]string{true: ".e", false: ""}[strings.HasSuffix(name, ".v")])
			text, err := os.ReadFile(spoilt)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(text), "\n")
			at := 5 + rng.IntN(len(lines)-6)
			bad := []string{"7 x\n", "1\n", "1 2 3 4\n", "99999999999999 99999999999999\n"}[round]
			lines[at] = bad
			if err := os.WriteFile(spoilt, []byte(strings.Join(lines, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			in, wrong := load.Open(t.Context(),
				load.Request{Name: path, Weights: edges.Float64, IfAny: true})
			source := &job.Source{Input: path}
			if wrong == nil { // the id in an edge list is as valid as others
				in.Close()
			}
			_, err = c.Client.LoadGraph(t.Context(),
				&control.LoadGraphRequest{Name: "bad", SourceJson: job.Text(source)})
			if (err == nil) != (wrong == nil) || err != nil &&
				!strings.HasSuffix(err.Error(), ": "+wrong.Error()) {
				t.Errorf("%s, line %q: error %v, expected %v", name, bad, err, wrong)
			}
			if err == nil {
				if _, err := c.Client.DropGraph(t.Context(),
					&control.DropGraphRequest{Name: "bad"}); err != nil {
					t.Error(err)
				}
			}
			if err := os.WriteFile(spoilt, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.holdsOnly(t, 0)
	c.works(t, 3)
}
