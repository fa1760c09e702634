package beside

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/load"
)

// script writes a shell script.
func script(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestCompare measures scripts with the output of both sides.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	trials := func(times ...string) string {
		return "echo Read Time: 7\n" + `echo "Trial Time:          ` +
			strings.Join(times, "\"\necho \"Trial Time:          ") + `"`
	}
	ours := script(t, filepath.Join(dir, "ours"),
		`[ "$2 $3 $4" = "kron.sg bfs 3" ] || [ "$3" = sssp ] || exit 1`+"\n"+
			trials("0.009", "0.002", "0.004"))
	script(t, filepath.Join(dir, "bfs"), `[ "$OMP_NUM_THREADS" = 2 ] || exit 1`+"\n"+
		trials("0.007", "0.006", "0.006"))
	script(t, filepath.Join(dir, "bfs-relabelled"),
		`[ "$GLIBC_TUNABLES" = glibc.malloc.hugetlb=1 ] || exit 1`+"\n"+
			trials("9", "0.0015", "0.0015"))
	script(t, filepath.Join(dir, "sssp"), `[ "$*" = "-f road.wsg -n 3 -d 64" ] && `+"{\n"+
		trials("0.009", "0.03", "0.03")+"\nexit\n}\n"+trials("1", "1", "1"))
	c := Config{Peers: dir, Ours: []string{ours, "trials"}, Rounds: 2, Trials: 3, Threads: 2}
	for _, test := range [][]string{
		{"kron.sg", "bfs", "| kron.sg | bfs | 3.00 | 9.00 | 6.00 | 7.00 | 2.00 | 1.50 | 0.50 |"},
		{"road.wsg", "sssp", "| road.wsg | sssp | 3.00 | 9.00 | 30.0 | 9.00 | 10.00 |  |  |"},
	} {
		row, err := c.Compare(t.Context(), test[0], test[1])
		if err != nil {
			t.Error(err)
			continue
		}
		if row.String() != test[2] {
			t.Errorf("%s\nexpected %s", row, test[2])
		}
	}
	for name, text := range map[string]string{
		"printed the times of 2 trials": trials("1", "1"), "exit status 3": "exit 3",
	} {
		script(t, filepath.Join(dir, "bfs"), text)
		if _, err := c.Compare(t.Context(), "kron.sg", "bfs"); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTrials runs every algorithm on files in GAPBS' format.
func TestTrials(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "graph.wel")
	if err := os.WriteFile(text, []byte("0 1 3\n1 2 4\n3 1 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, a := range Algorithms {
		file := filepath.Join(dir, "graph.sg")
		if !Fits(file, a) {
			file = filepath.Join(dir, "graph.wsg")
		}
		convert(t, text, file)
		var out bytes.Buffer
		if err := Trials(t.Context(), &out, file, a, 3, 2); err != nil {
			t.Errorf("%s: %v", a, err)
		}
		if n := len(seconds(out.String())); n != 3 {
			t.Errorf("%s: %q", a, out.String())
		}
		found, err := sources(file, 50)
		if err != nil {
			t.Error(err)
		}
		for _, v := range found {
			if v == 2 { // it has no out-edges
				t.Error("a search begins at a vertex without out-edges")
			}
		}
	}
	var out bytes.Buffer
	if err := Trials(t.Context(), &out, filepath.Join(dir, "graph.sg"), "louvain", 1,
		1); err == nil {
		t.Error("there is an algorithm louvain")
	}
	if _, err := sources(text, 1); err == nil {
		t.Error("a text is a serialized graph")
	}
}

func TestMachine(t *testing.T) {
	if m := Machine(2); !strings.Contains(m, " 2 threads; memory ") || strings.Contains(m, "\n") {
		t.Errorf("found %q", m)
	}
}

func convert(t *testing.T, from, to string) {
	t.Helper()
	in, err := load.Open(t.Context(), load.Request{Name: from, Weights: edges.Float32})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := graphio.Write(t.Context(), to, in, graphio.WriteOptions{Warn: func(string) {}}); err != nil {
		t.Fatal(err)
	}
}
