package graphio

import (
	"bufio"
	"cmp"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// properties is the content of a Graphalytics .properties file about a graph's form.
type properties struct {
	directed *bool
	// The names of the columns after the ids in FILE.v and FILE.e, nil without an entry. weight is
	// the name of the column that the entry of algorithm SSSP names.
	vertices, edges *[]string
	weight          string
}

// weightColumn returns the index, from 0, of the weight among the edge properties: the property of
// SSSP, the one named "weight", or the only one.
func (p *properties) weightColumn() (int, bool) {
	for _, name := range []string{p.weight, "weight"} {
		if i := slices.Index(*p.edges, name); i >= 0 && name != "" {
			return i, true
		}
	}
	return 0, len(*p.edges) == 1
}

// readProperties reads the entries of the graph called name. If there are none, and the file is
// about one other graph, it reads that graph's entries. It ignores all other keys.
//
//	graph.NAME.directed = true
//	graph.NAME.vertex-properties.names = age, height
//	graph.NAME.edge-properties.names = weight, capacity
//	graph.NAME.sssp.weight-property = weight
func readProperties(f *file, name string) (*properties, error) {
	entries, err := ReadEntries(f.content, f.path)
	if err != nil {
		return nil, err
	}
	graphs := map[string]*properties{}
	byLine := func(a, b string) int { return cmp.Compare(entries[a].Line, entries[b].Line) }
	for _, key := range slices.SortedFunc(maps.Keys(entries), byLine) {
		if bad := addProperty(graphs, key, entries[key].Value); bad != nil {
			bad.line, bad.column = entries[key].Line, 1
			return nil, inFile(bad, f.path)
		}
	}
	p := graphs[name]
	if len(graphs) == 1 {
		for _, p = range graphs {
		}
	}
	if p == nil {
		p = new(properties)
	}
	return p, f.unchanged()
}

// addProperty adds an entry to the properties of its graph.
func addProperty(graphs map[string]*properties, key, value string) *fault {
	rest, ok := strings.CutPrefix(key, "graph.")
	if !ok {
		return nil
	}
	of := func(name string) *properties {
		if graphs[name] == nil {
			graphs[name] = new(properties)
		}
		return graphs[name]
	}
	if name, ok := strings.CutSuffix(rest, ".directed"); ok {
		directed := strings.EqualFold(value, "true")
		if !directed && !strings.EqualFold(value, "false") {
			return wrong("directed = "+quote([]byte(value)), "true or false")
		}
		of(name).directed = &directed
	}
	if name, ok := strings.CutSuffix(rest, ".vertex-properties.names"); ok {
		names := propertyNames(value)
		of(name).vertices = &names
	}
	if name, ok := strings.CutSuffix(rest, ".edge-properties.names"); ok {
		names := propertyNames(value)
		of(name).edges = &names
	}
	if name, ok := strings.CutSuffix(rest, ".sssp.weight-property"); ok {
		of(name).weight = value
	}
	return nil
}

// propertyNames splits a list of names.
func propertyNames(value string) []string {
	return strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune(", \t", c) })
}

// nextProperty reads the next entry of a Java properties file: the key, then = or : or a blank,
// then the value. A line that ends with a backslash continues in the next line.
func nextProperty(lines *lineReader) (key, value string, err error) {
	text := ""
	for text == "" {
		line, err := lines.next()
		if err != nil {
			return "", "", err
		}
		if text = trimProperty(line); text != "" && (text[0] == '#' || text[0] == '!') {
			text = ""
		}
	}
	for goesOn(text) && len(text) <= maxLine {
		line, err := lines.next()
		if err != nil && err != io.EOF {
			return "", "", err
		}
		text = text[:len(text)-1]
		if err == io.EOF {
			break
		}
		text += trimProperty(line)
	}
	parts := property.FindStringSubmatch(text)
	return unescape(parts[1]), strings.TrimRight(unescape(parts[2]), " \t\f"), nil
}

func trimProperty(line []byte) string {
	return strings.TrimLeft(strings.TrimSuffix(string(line), "\r"), " \t\f")
}

// goesOn reports whether text ends with an unescaped backslash.
func goesOn(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// property matches a key, in which a backslash escapes separators, and a value.
var property = regexp.MustCompile(`(?s)^((?:\\.|[^=: \t\f\\])*\\?)[ \t\f]*[=:]?[ \t\f]*(.*)$`)

var escaped = regexp.MustCompile(`(?s)\\(.)`)

// unescape removes backslashes before characters. It does not decode \u: no known key needs it.
func unescape(text string) string { return escaped.ReplaceAllString(text, "$1") }

// Entry is an entry of a properties file. Line is the number of its last line.
type Entry struct {
	Value string
	Line  int
}

// ReadEntries returns the entries of a Java properties file, such as Graphalytics has for its
// graphs. If a key is repeated, the last entry wins.
func ReadEntries(r io.Reader, path string) (map[string]Entry, error) {
	all, lines := map[string]Entry{}, &lineReader{r: bufio.NewReader(r)}
	for {
		switch key, value, err := nextProperty(lines); err {
		case nil:
			all[key] = Entry{value, lines.line}
		case io.EOF:
			return all, nil
		default:
			return nil, inFile(err, path)
		}
	}
}
