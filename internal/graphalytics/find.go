// Package graphalytics has the parts of LDBC Graphalytics' benchmark driver besides running: it
// finds graphs, the algorithms to run on them and their parameters, and compares results with the
// reference outputs beside the graphs. Read find.go first.
package graphalytics

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/superstep-go/superstep/internal/graphio"
)

// Algorithms are the algorithms of the benchmark, in the order in which they run.
var Algorithms = []string{"bfs", "pr", "wcc", "cdlp", "lcc", "sssp"}

// Graph is a graph in a folder, and the algorithms to run on it.
type Graph struct {
	Name string
	// Path is the graph's file, and Format its format: ldbc, FILE.e beside FILE.v, or adjacency.
	Path, Format string
	// Directed is nil if the reader takes it from the properties, or if nothing gives it.
	Directed   *bool
	Algorithms []string
	// Err is the reason why it cannot be run: invalid properties, or a missing file.
	Err error

	properties string                   // the properties file, or ""
	entries    map[string]graphio.Entry // its own and given ones, without graph.NAME.
}

// Find returns the graphs of a folder, by name. They have .properties files; if there are none,
// they are the files with -directed or -undirected in their names. given has entries, without
// graph.NAME., for all graphs, such as pr.num-iterations.
func Find(dir string, given map[string]string) ([]Graph, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		found := map[bool]string{true: "no such folder", false: "a file"}[err != nil]
		return nil, fmt.Errorf("%s: found %s, expected a folder of graphs", dir, found)
	}
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
		if len(g.Algorithms) > 0 || g.Err != nil {
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
			all[i].entries[key] = graphio.Entry{Value: value}
		}
	}
	return all, nil
}

// read reads a .properties file, which describes the graph with its name. It returns an error if
// the file cannot be read.
func read(path string) (Graph, error) {
	base := strings.TrimSuffix(path, ".properties")
	g := Graph{
		Name: filepath.Base(base), Path: base + ".e", Format: "ldbc", properties: path,
		entries: map[string]graphio.Entry{},
	}
	f, err := os.Open(path)
	if err != nil {
		return g, err
	}
	defer f.Close()
	entries, err := graphio.ReadEntries(f, path)
	if err != nil {
		return g, err
	}
	others := ""
	for key, e := range entries {
		if own, ok := strings.CutPrefix(key, "graph."+g.Name+"."); ok {
			g.entries[own] = e
		} else if strings.HasPrefix(key, "graph.") {
			others = max(others, key)
		}
	}
	if len(g.entries) == 0 && others != "" {
		g.Err = graphio.LineError(path, entries[others].Line, others, "entries graph."+g.Name+
			"., of the graph that the file is called after")
		return g, nil
	}
	if len(g.entries) > 0 { // otherwise the file is about something else
		g.Err = g.understand()
	}
	return g, nil
}

// understand checks and applies the entries. It returns the first error.
func (g *Graph) understand() error {
	keys := slices.SortedFunc(maps.Keys(g.entries),
		func(a, b string) int { return cmp.Compare(g.entries[a].Line, g.entries[b].Line) })
	for _, key := range keys {
		e := g.entries[key]
		wrong := func(expected string) error {
			return graphio.LineError(g.properties, e.Line,
				fmt.Sprintf("%s = %.80s", key, e.Value), expected)
		}
		if err := Known(key); err != nil {
			return fmt.Errorf("%s:%d: %w", g.properties, e.Line, err)
		}
		switch key {
		case "edge-file":
			if !strings.HasSuffix(e.Value, ".e") {
				return wrong("a file FILE.e")
			}
			g.Path = filepath.Join(filepath.Dir(g.properties), e.Value)
		case "vertex-file":
			edges := cmp.Or(g.entries["edge-file"].Value, g.Name+".e")
			if strings.TrimSuffix(edges, ".e")+".v" != e.Value {
				return wrong("FILE.v beside " + edges)
			}
		case "meta.vertices", "meta.edges":
			if _, err := strconv.ParseUint(e.Value, 10, 64); err != nil {
				return wrong("a whole number")
			}
		case "algorithms":
			var all []string
			for _, a := range strings.FieldsFunc(e.Value,
				func(c rune) bool { return c == ',' || c == ' ' }) {
				if a = strings.ToLower(a); !slices.Contains(Algorithms, a) {
					return wrong("some of " + strings.Join(Algorithms, ", "))
				}
				all = append(all, a)
			}
			g.Algorithms = all
		}
	}
	return g.present()
}

// present returns an error if a file of the graph is missing.
func (g *Graph) present() error {
	if g.Format == "ldbc" {
		return graphio.Present(g.Path, graphio.LDBC)
	}
	return nil
}

// keys are the known entries, without graph.NAME. Except for two, entries of meta are for people.
var keys = []string{
	"algorithms", "directed", "edge-file", "vertex-file", "edge-properties.names",
	"edge-properties.types", "vertex-properties.names", "vertex-properties.types",
	"bfs.source-vertex", "cdlp.max-iterations", "pr.damping-factor", "pr.num-iterations",
	"sssp.source-vertex", "sssp.weight-property",
}

// Known returns an error for an unknown entry: otherwise a misspelled parameter would keep its
// default. Entries of other algorithms are accepted and have no effect.
func Known(key string) error {
	word, _, deep := strings.Cut(key, ".")
	same := slices.DeleteFunc(slices.Clone(keys), func(k string) bool {
		return deep != strings.Contains(k, ".") || deep && !strings.HasPrefix(k, word+".")
	})
	other := deep && len(same) == 0 && !slices.Contains(Algorithms, word)
	if slices.Contains(keys, key) || other {
		return nil
	}
	if len(same) == 0 {
		return fmt.Errorf("found the entry %.80q, expected none: %s has no parameters", key, word)
	}
	return fmt.Errorf("found the entry %.80q, expected one of %s", key, strings.Join(same, ", "))
}

// Loaded returns an error if the numbers of vertices and edges of the loaded graph differ from the
// properties.
func (g *Graph) Loaded(vertices, edges int) error {
	for _, m := range []struct {
		key, what string
		n         int
	}{{"meta.vertices", "vertices", vertices}, {"meta.edges", "edges", edges}} {
		if e, ok := g.entries[m.key]; ok && e.Value != strconv.Itoa(m.n) {
			return graphio.LineError(g.properties, e.Line, m.key+" = "+e.Value,
				fmt.Sprintf("the %d %s that the graph has", m.n, m.what))
		}
	}
	return nil
}

// named finds graphs without properties: NAME.e with NAME.v, or NAME-input with adjacency lists.
func named(dir string) (all []Graph, err error) {
	const lists = "-input"
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for _, f := range files {
		name, edges := strings.CutSuffix(f.Name(), ".e")
		if !edges {
			var ok bool
			if name, ok = strings.CutSuffix(f.Name(), ".v"); !ok {
				if name, ok = strings.CutSuffix(f.Name(), lists); !ok {
					continue
				}
			}
		}
		directed := strings.Contains(name, "-directed")
		if !directed && !strings.Contains(name, "-undirected") {
			continue
		}
		if _, ok := at[name]; ok {
			continue
		}
		at[name] = len(all)
		g := Graph{
			Name: name, Path: filepath.Join(dir, name+".e"), Format: "ldbc", Directed: &directed,
			Algorithms: Algorithms, entries: map[string]graphio.Entry{},
		}
		_, noEdges := os.Stat(g.Path)
		_, noVertices := os.Stat(filepath.Join(dir, name+".v"))
		if _, none := os.Stat(filepath.Join(dir, name+lists)); none == nil && noEdges != nil &&
			noVertices != nil {
			g.Path, g.Format = filepath.Join(dir, name+lists), "adjacency"
		}
		g.Err = g.present()
		all = append(all, g)
	}
	return all, nil
}

// Run is one algorithm on one graph: a program of superstep, and its parameters.
type Run struct {
	Program    string
	Parameters map[string]string
	Rule       Rule
	// Reference is the file of the expected output, or "".
	Reference string
}

// Run returns the run of an algorithm. By default searches begin at the vertex of the least id,
// damping is 0.85, and there are ten iterations.
func (g *Graph) Run(algorithm string) (Run, error) {
	r := Run{Parameters: map[string]string{}}
	set := func(parameter, key, otherwise string) {
		r.Parameters[parameter] = cmp.Or(g.entries[key].Value, otherwise)
	}
	source := func() error {
		key := algorithm + ".source-vertex"
		if value := g.entries[key].Value; value != "" {
			r.Parameters["source"] = value
			return nil
		}
		vertices := g.Path // the first id of a line is a vertex
		if g.Format == "ldbc" {
			vertices = strings.TrimSuffix(g.Path, ".e") + ".v"
		}
		least, err := leastVertex(vertices)
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
		err = fmt.Errorf("found the algorithm %q, expected one of %s", algorithm,
			strings.Join(Algorithms, ", "))
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
			return 0,
				fmt.Errorf("%s:%d: found %.80q, expected the id of a vertex", path, n, fields[0])
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
