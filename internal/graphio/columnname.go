package graphio

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Column selects the column of a file that has the values. The zero value selects the output of
// WriteValues: the rest of the line after the ids and a blank.
type Column struct {
	// Number counts columns from 1. In a file that is not a table the ids are the first columns.
	Number int
	// Name is a column of a table, and IDs are the columns of the ids: one for vertices, two for
	// edges. If they are empty, columns with usual names are used, or the first columns.
	Name string
	IDs  []string
	// OfEdges means that the values belong to edges. Named means that a file that is not a table
	// has lines "name<TAB>value", as results of graphs with names do. Loose means that it is
	// unknown whether the graph has names: a line without a tab may be "id value".
	OfEdges, Named, Loose bool
	rows                  bool // the file has a value for each row, without ids
}

// ids returns the number of ids at the beginning of a line.
func (c *Column) ids() int {
	if c.OfEdges {
		return 2
	}
	return 1
}

// idColumns describes the columns of the ids.
func (c *Column) idColumns() string {
	switch {
	case c.OfEdges:
		return "the ids are columns 1 and 2"
	case c.Named:
		return "the name is column 1"
	}
	return "the id is column 1"
}

// SplitColumn parses a file name with a column. FILE:N is column N from 1, where the ids are the
// first columns. FILE:NAME is a column of a CSV or TSV table, or a column of FILE.v or FILE.e of a
// graph of LDBC Graphalytics with its name in FILE.properties. FILE:ID,NAME and FILE:FROM,TO,NAME
// also name the columns of the ids. If a file has the whole text as its name, it is that file.
func SplitColumn(text string) (path string, column Column, err error) {
	i := strings.LastIndexByte(text, ':')
	if i <= 0 || i+1 == len(text) || exists(text) {
		return text, Column{}, nil
	}
	path, name := text[:i], text[i+1:]
	if format := formatOfName(path); format == CSV || format == TSV {
		names := strings.Split(name, ",")
		last := len(names) - 1
		if n, err := strconv.Atoi(name); err == nil && n > 0 {
			return path, Column{Number: n}, nil
		}
		if last > 2 || slices.Contains(names, "") {
			return "", Column{}, fileFault(path, fmt.Sprintf("column %.80s of a table", name),
				"NAME, ID,NAME of vertices or FROM,TO,NAME of edges")
		}
		return path, Column{Name: names[last], IDs: names[:last]}, nil
	}
	if strings.Trim(name, "0123456789") == "" {
		if column.Number, err = strconv.Atoi(name); err != nil || column.Number < 2 {
			return "", Column{}, fileFault(path, fmt.Sprintf("column %.80s of the file", name),
				"2 or more: the id is column 1")
		}
		return path, column, nil
	}
	base, _ := splitCodec(path)
	ofEdges := strings.HasSuffix(base, ".e")
	if !ofEdges && !strings.HasSuffix(base, ".v") ||
		strings.ContainsRune(name, filepath.Separator) {
		return text, Column{}, nil
	}
	column.Number, err = propertyColumn(base[:len(base)-2], name, ofEdges)
	return path, column, err
}

// propertyColumn returns the number of a column with this name in a graph's properties file.
func propertyColumn(base, name string, ofEdges bool) (int, error) {
	path, kind := base+".properties", "vertex"
	if ofEdges {
		kind = "edge"
	}
	if !exists(path) {
		return 0, fileFault(path, "no such file", "one that names the column "+quote([]byte(name)))
	}
	r := newReader(ReadOptions{}, pieceSize)
	p, err := r.openProperties(context.Background(), ldbcFiles{base: base, properties: path})
	if err != nil {
		return 0, err
	}
	names := p.vertices
	if ofEdges {
		names = p.edges
	}
	if names == nil {
		return 0, fileFault(path, fmt.Sprintf("no entry %s-properties.names", kind),
			"one that has "+quote([]byte(name)))
	}
	at := slices.Index(*names, name)
	if at < 0 {
		return 0, fileFault(path, fmt.Sprintf("%s properties %q", kind, strings.Join(*names, ", ")),
			quote([]byte(name))+" among them")
	}
	of := Column{OfEdges: ofEdges}
	return of.ids() + 1 + at, nil
}
