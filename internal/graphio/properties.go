package graphio

import (
	"bufio"
	"bytes"
	"context"
	"io"
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
func readProperties(ctx context.Context, f *file, name string) (*properties, error) {
	entries, err := ReadEntries(f.content, f.path)
	if err != nil {
		return nil, err
	}
	graphs := map[string]map[string]Entry{}
	for key, entry := range entries {
		if parts := graphKey.FindStringSubmatch(key); parts != nil {
			if graphs[parts[1]] == nil {
				graphs[parts[1]] = map[string]Entry{}
			}
			graphs[parts[1]][parts[2]] = entry
		}
	}
	of := graphs[name]
	if len(graphs) == 1 {
		for _, of = range graphs {
		}
	}
	p := &properties{weight: of["sssp.weight-property"].Value}
	for kind, names := range map[string]**[]string{"vertex": &p.vertices, "edge": &p.edges} {
		if entry, ok := of[kind+"-properties.names"]; ok {
			all := strings.FieldsFunc(entry.Value,
				func(c rune) bool { return strings.ContainsRune(", \t", c) })
			*names = &all
		}
	}
	if entry, ok := of["directed"]; ok {
		directed := strings.EqualFold(entry.Value, "true")
		if !directed && !strings.EqualFold(entry.Value, "false") {
			bad := wrong("directed = "+quote([]byte(entry.Value)), "true or false")
			return nil, inFile(bad.onLine(entry.Line, 1), f.path)
		}
		p.directed = &directed
	}
	return p, f.unchanged(ctx)
}

// graphKey matches the key of an entry that is read: the graph's name, and the rest.
var graphKey = regexp.MustCompile(`(?s)^graph\.(.*)\.(directed|vertex-properties\.names|edge-properties\.names|sssp\.weight-property)$`)

// goesOn reports whether text ends with an unescaped backslash.
func goesOn(text string) bool { return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1 }

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

// ReadEntries returns the entries of a Java properties file, such as Graphalytics has beside its
// graphs. An entry is a key, then = or : or a blank, then a value. A line that ends with a
// backslash continues in the next line. If a key occurs several times, the last entry counts.
func ReadEntries(r io.Reader, path string) (map[string]Entry, error) {
	all, lines, text := map[string]Entry{}, &lineReader{r: bufio.NewReader(r)}, ""
	continued := false
	for {
		line, err := lines.next()
		if err != nil && err != io.EOF {
			return nil, inFile(err, path)
		}
		line = bytes.TrimSuffix(bytes.TrimPrefix(line, utf8BOM), carriage)
		more := strings.TrimLeft(string(line), " \t\f")
		if !continued && more != "" && (more[0] == '#' || more[0] == '!') {
			continue
		}
		text += more
		if continued = err == nil && goesOn(text) && len(text) <= maxLine; continued {
			text = text[:len(text)-1]
			continue
		}
		if parts := property.FindStringSubmatch(text); text != "" {
			value := strings.TrimRight(unescape(parts[2]), " \t\f")
			all[unescape(parts[1])] = Entry{value, lines.line}
		}
		if text = ""; err == io.EOF {
			return all, nil
		}
	}
}
