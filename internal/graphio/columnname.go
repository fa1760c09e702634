package graphio

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// SplitColumn splits what names the column of a file: FILE, or FILE:N for column N of it, where the ids are the first columns, from 1. FILE:NAME is
// the column of FILE.v or FILE.e of a graph of LDBC Graphalytics that its FILE.properties calls so. A file that has all of the text as its name
// is that file. The column is 0 if none is named.
func SplitColumn(text string) (path string, column int, err error) {
	i := strings.LastIndexByte(text, ':')
	if i <= 0 || i+1 == len(text) || exists(text) {
		return text, 0, nil
	}
	path, name := text[:i], text[i+1:]
	if strings.Trim(name, "0123456789") == "" {
		if column, err = strconv.Atoi(name); err != nil || column < 2 {
			return "", 0, &fault{path, 0, fmt.Sprintf("column %.80s of the file", name), "2 or more: the id is column 1"}
		}
		return path, column, nil
	}
	base, _ := splitCodec(path)
	ofEdges := strings.HasSuffix(base, ".e")
	if !ofEdges && !strings.HasSuffix(base, ".v") || strings.ContainsRune(name, filepath.Separator) {
		return text, 0, nil
	}
	column, err = propertyColumn(base[:len(base)-2], name, ofEdges)
	return path, column, err
}

// propertyColumn returns the column that a graph's properties file gives a name.
func propertyColumn(base, name string, ofEdges bool) (int, error) {
	path, kind := base+".properties", "vertex"
	if ofEdges {
		kind = "edge"
	}
	if !exists(path) {
		return 0, &fault{path, 0, "no such file", "one that names the column " + quote([]byte(name))}
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
		return 0, &fault{path, 0, fmt.Sprintf("no entry %s-properties.names", kind), "one that has " + quote([]byte(name))}
	}
	at := slices.Index(*names, name)
	if at < 0 {
		return 0, &fault{path, 0, fmt.Sprintf("%s properties %q", kind, strings.Join(*names, ", ")), quote([]byte(name)) + " among them"}
	}
	return idsOf(ofEdges) + 1 + at, nil
}
