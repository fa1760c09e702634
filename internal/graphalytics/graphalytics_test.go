package graphalytics

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const examples = "../graphio/testdata/graphalytics"

// TestMatchingExamples uses Graphalytics' examples of each rule: the first result is right, the
// second is wrong. Results are written in pieces of any length.
func TestMatchingExamples(t *testing.T) {
	for name, rule := range map[string]Rule{"exact": Exact, "epsilon": Epsilon, "equivalence": Equivalence} {
		for actual, right := range map[string]bool{"actual1": true, "actual2": false, "expected": true} {
			text, err := os.ReadFile(filepath.Join(examples, "matching", name+"_"+actual+".csv"))
			if err != nil {
				t.Fatal(err)
			}
			for piece := 1; piece < 9; piece++ {
				m, err := NewMatch(rule, filepath.Join(examples, "matching", name+"_expected.csv"))
				if err != nil {
					t.Fatal(err)
				}
				for rest := text; len(rest) > 0; {
					n, err := m.Write(rest[:min(piece, len(rest))])
					if err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
				if err := m.Finish(); (err == nil) != right || err != nil &&
					!errors.As(err, new(*Mismatch)) {
					t.Errorf("%s, %s in pieces of %d bytes: %v", name, actual, piece, err)
				}
			}
		}
	}
}

func TestMatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "want")
	for _, test := range []struct {
		rule      Rule
		want, got string
		wrong     string
	}{
		{Exact, "1 9223372036854775807\n", "1 9223372036854775807\n", ""},
		{Exact, "1 9223372036854775807\n", "1 9223372036854775806\n", "vertex 1 has 9223372036854775806, expected 9223372036854775807"},
		{Epsilon, "1 0\n2 infinity\n3 -2\n", "2 +Inf\n3 -2.0002\n1 0\n", ""},
		{Epsilon, "1 0\n", "1 1e-300\n", "vertex 1 has 1e-300"},
		{Epsilon, "1 infinity\n", "1 1e308\n", "vertex 1 has 1e308"},
		{Epsilon, "1 5\n", "1 infinity\n", "vertex 1 has infinity"},
		{Epsilon, "1 5\n", "1 NaN\n", "vertex 1 has NaN"},
		{Equivalence, "1 5\n2 5\n3 7\n", "1 1\n2 1\n3 5\n", ""},
		{Equivalence, "1 5\n2 5\n3 7\n", "1 1\n2 1\n3 1\n", "vertex 3 has 1"},
		{Equivalence, "1 5\n2 5\n3 7\n", "1 1\n2 2\n3 3\n", "vertex 2 has 2"},
		{Exact, "1 5\n2 5\n", "1 5\n", "1 vertices, expected the 2"},
		{Exact, "1 5\n", "1 5\n2 5\n", "vertex 2 is not in"},
		{Exact, "1 5\n2 5\n", "1 5\n1 5\n", "vertex 1 comes twice"},
		{Exact, "1 5\n", "one 5\n", `found "one 5"`},
	} {
		if err := os.WriteFile(file, []byte(test.want), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := NewMatch(test.rule, file)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = m.Write([]byte(test.got))
		err = m.Finish()
		if test.wrong == "" && err != nil || test.wrong != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), test.wrong)) {
			t.Errorf("%q for %q: %v, want %q", test.got, test.want, err, test.wrong)
		}
	}
	for text, want := range map[string]string{
		"1 2\n3\n":   ":2: found \"3\", expected the id of a vertex and its value",
		"1 2\n1 3\n": ":2: found vertex 1 again", "1 x\n": ":1: found \"1 x\"",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := NewMatch(Epsilon, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestFind(t *testing.T) {
	graphs, err := Find(examples, map[string]string{"pr.num-iterations": "2"})
	if err != nil || len(graphs) != 2 || graphs[0].Name != "example-directed" ||
		!*graphs[0].Directed || *graphs[1].Directed {
		t.Fatalf("found %+v, %v", graphs, err)
	}
	for algorithm, want := range map[string]map[string]string{
		"bfs": {"source": "2", "output": "level"}, "sssp": {"source": "2"},
		"pr": {"damping": "0.85", "iterations": "2"}, "cdlp": {"iterations": "10"}, "wcc": {},
		"lcc": {},
	} {
		r, err := graphs[1].Run(algorithm)
		if err != nil || !maps.Equal(r.Parameters, want) ||
			!strings.HasSuffix(r.Reference, "example-undirected-"+strings.ToUpper(algorithm)) {
			t.Errorf("%s: %+v, %v", algorithm, r, err)
		}
	}

	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Find(dir, nil); err == nil || !strings.Contains(err.Error(), "found no graphs") {
		t.Errorf("an empty folder: %v", err)
	}
	write("web.properties", `graph.web.edge-file = edges.e
graph.web.algorithms = BFS, cdlp, \
    pr
graph.web.bfs.source-vertex = 77
graph.web.cdlp.max-iterations = 5
graph.other.cdlp.max-iterations = 6
`)
	graphs, err = Find(dir, map[string]string{"pr.damping-factor": "0.5"})
	if err != nil || len(graphs) != 1 || graphs[0].Path != filepath.Join(dir, "edges.e") ||
		strings.Join(graphs[0].Algorithms, " ") != "bfs cdlp pr" {
		t.Fatalf("found %+v, %v", graphs, err)
	}
	for algorithm, want := range map[string]map[string]string{
		"bfs": {"source": "77", "output": "level"}, "pr": {"damping": "0.5", "iterations": "10"},
		"cdlp": {"iterations": "5"},
	} {
		if r, err := graphs[0].Run(algorithm); err != nil || !maps.Equal(r.Parameters, want) ||
			r.Reference != "" {
			t.Errorf("%s: %+v, %v", algorithm, r, err)
		}
	}
	write("web.v", "5\nx\n")
	graphs[0].Path = filepath.Join(dir, "web.e")
	if _, err := graphs[0].Run("sssp"); err == nil ||
		!strings.Contains(err.Error(), `web.v:2: found "x", expected the id of a vertex`) {
		t.Errorf("no source and a wrong list of vertices: %v", err)
	}
	write("web.properties", "graph.web.algorithms = bfs, sort\n")
	if graphs, err := Find(dir, nil); err != nil || graphs[0].Err == nil ||
		!strings.Contains(graphs[0].Err.Error(),
			"web.properties:1: found algorithms = bfs, sort, expected some of bfs") {
		t.Errorf("an unknown algorithm: %+v, %v", graphs, err)
	}
}
