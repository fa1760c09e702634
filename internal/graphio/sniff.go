package graphio

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"strings"
)

// formatOfName returns the format of a file name's suffix, or "".
func formatOfName(path string) Format {
	base, _ := splitCodec(path)
	return extensions[strings.ToLower(filepath.Ext(base))]
}

// formatOfContent returns the format of a text file that begins with head. format is the format of
// its name. A Matrix Market header overrides the name. So does the number of columns of an edge
// list, if the name does not promise weights.
func formatOfContent(format Format, head []byte) Format {
	if isMatrixMarket(head) {
		return MatrixMarket
	}
	switch format {
	case "", SNAP, EL:
	default:
		return format
	}
	if look := lookOf(head); look != "" && format != EL {
		return look
	}
	format = cmp.Or(format, SNAP)
	if columns(head) >= 3 {
		return WEL
	}
	return format
}

// lookOf returns the format of a file that its content clearly shows, or "". The name does not tell
// it.
func lookOf(head []byte) Format {
	if bytes.HasPrefix(head, []byte(parquetMagic)) {
		return Parquet
	}
	line, _, _ := firstLine(head)
	if len(line) == 0 {
		return ""
	}
	switch line[0] {
	case '<':
		if bytes.Contains(head, []byte("<graphml")) {
			return GraphML
		}
	case '{':
		c := newJSONCursor(line)
		titles := c.titles()
		if c.end(); c.bad == nil && len(titles) >= 2 {
			return JSONLines
		}
	case '[':
		p := parser{grammar: grammar{columns: 3, high: maxID}}
		if giraphLine(&p, bytes.Clone(line)) == nil {
			return Giraph
		}
	case 'c', 'p':
		for _, problem := range []string{"p sp ", "p edge ", "p col "} {
			if bytes.HasPrefix(head, []byte(problem)) ||
				bytes.Contains(head, []byte("\n"+problem)) {
				return DIMACS
			}
		}
	}
	return ""
}

// columns returns the number of columns of the first line of data at the beginning of an edge list.
// It returns 0 if there is none, and 1 if a bad line comes first.
func columns(head []byte) (n int) {
	line, _, bad := firstLine(head)
	if bad {
		return 1
	}
	for ; len(line) > 0; n++ {
		_, line = cutField(line)
	}
	return n
}

// isLDBCBase reports whether there is no file path, but the files path.v and path.e exist.
func isLDBCBase(path string) bool {
	if exists(path) {
		return false
	}
	_, v := beside(path, ".v", plain)
	_, e := beside(path, ".e", plain)
	return v && e
}

// Present returns an error if the file does not exist. If the format is unknown, path may also be
// the common name of an LDBC graph without suffix. For format LDBC, all files of the graph must
// exist.
func Present(path string, format Format) error {
	format, files, err := inputs(context.Background(), path, format)
	if err != nil || path == Stdin || format == LDBC {
		return err
	}
	for _, file := range files {
		_, failed := stat(context.Background(), file)
		err = cmp.Or(err, failed)
	}
	return err
}

// beside returns the name of the file base+suffix, preferably with compression c, and whether it
// exists.
func beside(base, suffix string, c codec) (string, bool) {
	for _, try := range []codec{c, plain, gzipped, zstandard} {
		if path := base + suffix + try.suffix(); exists(path) {
			return path, true
		}
	}
	return base + suffix + c.suffix(), false
}

func exists(path string) bool {
	info, err := stat(context.Background(), path)
	return err == nil && !info.IsDir()
}
