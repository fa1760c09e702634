// Package graphalytics is what the benchmark driver of LDBC Graphalytics does besides running: it finds graphs, what is to be run on
// them and with which parameters, and compares results with the reference outputs that lie beside the graphs.
package graphalytics

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/graphio"
)

// Algorithms are those of the benchmark, in the order in which they are run.
var Algorithms = []string{"bfs", "pr", "wcc", "cdlp", "lcc", "sssp"}

// Graph is a graph of a folder and what is to be run on it.
type Graph struct {
	Name string
	// Path is the file of its edges, from which the format ldbc finds the others.
	Path string
	// Directed is nil if its properties say it, or nothing does.
	Directed   *bool
	Algorithms []string
	entries    map[string]string // of its properties, and of the command line, without graph.NAME.
}

// Find returns the graphs of a folder, by name: those of .properties files, or, where there are none, those whose names have -directed or
// -undirected in them. given are entries without graph.NAME. that hold for all graphs, such as pr.num-iterations.
func Find(dir string, given map[string]string) ([]Graph, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.properties"))
	if err != nil {
		return nil, err
	}
	var all []Graph
	for _, f := range files {
		g, err := read(f)
		if err != nil {
			return nil, err
		}
		if len(g.Algorithms) > 0 {
			all = append(all, g)
		}
	}
	if len(files) == 0 {
		if all, err = named(dir); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: found no graphs, expected FILE.properties that name algorithms, or FILE-directed.e and FILE-undirected.e", dir)
	}
	for i := range all {
		for key, value := range given {
			all[i].entries[key] = value
		}
	}
	return all, nil
}

// read reads a .properties file, which is about the graph of its name.
func read(path string) (Graph, error) {
	g := Graph{Name: strings.TrimSuffix(filepath.Base(path), ".properties"), entries: map[string]string{}}
	g.Path = strings.TrimSuffix(path, ".properties") + ".e"
	f, err := os.Open(path)
	if err != nil {
		return g, err
	}
	defer f.Close()
	entries, err := graphio.ReadEntries(f, path)
	if err != nil {
		return g, err
	}
	for key, value := range entries {
		if key, ok := strings.CutPrefix(key, "graph."+g.Name+"."); ok {
			g.entries[key] = value
		}
	}
	if name := g.entries["edge-file"]; name != "" {
		g.Path = filepath.Join(filepath.Dir(path), name)
	}
	for _, a := range strings.FieldsFunc(g.entries["algorithms"], func(c rune) bool { return c == ',' || c == ' ' }) {
		if a = strings.ToLower(a); !slices.Contains(Algorithms, a) {
			return g, fmt.Errorf("%s: found the algorithm %q, expected some of %s", path, a, strings.Join(Algorithms, ", "))
		}
		g.Algorithms = append(g.Algorithms, a)
	}
	return g, nil
}

// named finds graphs without properties.
func named(dir string) (all []Graph, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.e"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		g := Graph{Name: strings.TrimSuffix(filepath.Base(f), ".e"), Path: f, Algorithms: Algorithms, entries: map[string]string{}}
		directed := strings.Contains(g.Name, "-directed")
		if !directed && !strings.Contains(g.Name, "-undirected") {
			continue
		}
		g.Directed = &directed
		all = append(all, g)
	}
	return all, nil
}

// Run is one algorithm on one graph: the program of this project, and its parameters.
type Run struct {
	Program    string
	Parameters map[string]string
	Rule       Rule
	// Reference is the file of the expected output, "" if there is none.
	Reference string
}

// Run says how an algorithm is run. Where nothing says otherwise, searches begin at the vertex of the least id, damping is 0.85, and there are
// ten iterations.
func (g *Graph) Run(algorithm string) (Run, error) {
	r := Run{Parameters: map[string]string{}}
	set := func(parameter, key, otherwise string) {
		if r.Parameters[parameter] = g.entries[key]; r.Parameters[parameter] == "" {
			r.Parameters[parameter] = otherwise
		}
	}
	source := func() error {
		key := algorithm + ".source-vertex"
		if g.entries[key] != "" {
			r.Parameters["source"] = g.entries[key]
			return nil
		}
		least, err := leastVertex(strings.TrimSuffix(g.Path, ".e") + ".v")
		if err != nil {
			return fmt.Errorf("%s: no %s: %w", g.Name, key, err)
		}
		r.Parameters["source"] = strconv.FormatUint(least, 10)
		return nil
	}
	var err error
	switch algorithm {
	case "bfs":
		r.Program, r.Rule, r.Parameters["output"] = "bfs", Exact, "level"
		err = source()
	case "pr":
		r.Program, r.Rule = "pagerank", Epsilon
		set("damping", "pr.damping-factor", "0.85")
		set("iterations", "pr.num-iterations", "10")
	case "wcc":
		r.Program, r.Rule = "wcc", Equivalence
	case "cdlp":
		r.Program, r.Rule = "cdlp", Exact
		set("iterations", "cdlp.max-iterations", "10")
	case "lcc":
		r.Program, r.Rule = "lcc", Epsilon
	case "sssp":
		r.Program, r.Rule = "sssp", Epsilon
		err = source()
	default:
		err = fmt.Errorf("found the algorithm %q, expected one of %s", algorithm, strings.Join(Algorithms, ", "))
	}
	reference := filepath.Join(filepath.Dir(g.Path), g.Name+"-"+strings.ToUpper(algorithm))
	if _, statErr := os.Stat(reference); statErr == nil {
		r.Reference = reference
	}
	return r, err
}

// leastVertex returns the least id in FILE.v.
func leastVertex(path string) (least uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines, found := bufio.NewScanner(f), false
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		id, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s:%d: found %.80q, expected the id of a vertex", path, n, fields[0])
		}
		if !found || id < least {
			least, found = id, true
		}
	}
	if err := lines.Err(); err != nil || !found {
		return 0, fmt.Errorf("%s: found no vertex, expected one a line (%v)", path, err)
	}
	return least, nil
}
