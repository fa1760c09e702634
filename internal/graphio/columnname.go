package graphio

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Column says which column of a file has values. The zero value is what WriteValues has written:
// all that follows the ids and a blank.
type Column struct {
	// Number counts columns from 1, where the ids are the first ones of a file that is no table.
	Number int
	// Name is the column of a table, and IDs those of the ids: one of vertices, two of edges; empty
	// ones have usual names, or are the first columns.
	Name string
	IDs  []string
	// OfEdges says that the values are of edges. Named says that a file which is no table has lines
	// "name<TAB>value", as results of graphs with names are written. Loose says that a line without
	// a tab may be one of ids, "id value": it is not known whether the graph has names.
	OfEdges, Named, Loose bool
	rows                  bool // lines are values of rows, without ids
}

// ids is how many ids a line begins with.
func (c *Column) ids() int {
	if c.OfEdges {
		return 2
	}
	return 1
}

// idColumns says which columns the ids are.
func (c *Column) idColumns() string {
	switch {
	case c.OfEdges:
		return "the ids are columns 1 and 2"
	case c.Named:
		return "the name is column 1"
	}
	return "the id is column 1"
}

// SplitColumn splits what names the column of a file: FILE, or FILE:N for column N of it, where the
// ids are the first columns, from 1. FILE:NAME is the column of a table of CSV or TSV, or that of
// FILE.v or FILE.e of a graph of LDBC Graphalytics that its FILE.properties calls so; FILE:ID,NAME
// and FILE:FROM,TO,NAME say what columns of a table the ids are. A file that has all of the text as
// its name is that file.
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
			return "", Column{}, fileFault(path, fmt.Sprintf("column %.80s of a table", name), "NAME, ID,NAME of vertices or FROM,TO,NAME of edges")
		}
		return path, Column{Name: names[last], IDs: names[:last]}, nil
	}
	if strings.Trim(name, "0123456789") == "" {
		if column.Number, err = strconv.Atoi(name); err != nil || column.Number < 2 {
			return "", Column{}, fileFault(path, fmt.Sprintf("column %.80s of the file", name), "2 or more: the id is column 1")
		}
		return path, column, nil
	}
	base, _ := splitCodec(path)
	ofEdges := strings.HasSuffix(base, ".e")
	if !ofEdges && !strings.HasSuffix(base, ".v") || strings.ContainsRune(name, filepath.Separator) {
		return text, Column{}, nil
	}
	column.Number, err = propertyColumn(base[:len(base)-2], name, ofEdges)
	return path, column, err
}

// propertyColumn returns the column that a graph's properties file gives a name.
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
		return 0, fileFault(path, fmt.Sprintf("no entry %s-properties.names", kind), "one that has "+quote([]byte(name)))
	}
	at := slices.Index(*names, name)
	if at < 0 {
		return 0, fileFault(path, fmt.Sprintf("%s properties %q", kind, strings.Join(*names, ", ")), quote([]byte(name))+" among them")
	}
	of := Column{OfEdges: ofEdges}
	return of.ids() + 1 + at, nil
}
