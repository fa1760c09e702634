package graphio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/store"
)

// Stdin is the name of standard input. Errors call it stdinName.
const (
	Stdin     = "-"
	stdinName = "standard input"
)

// Files returns the files of a graph's name, in rising order. A name may be a file, a directory, a
// pattern (as in filepath.Match), or several of these separated by commas. Directories and patterns
// do not include names that begin with a dot or an underscore.
func Files(ctx context.Context, name string) ([]string, error) {
	if name == Stdin {
		return []string{name}, nil
	}
	info, err := stat(ctx, name)
	switch {
	case err == nil && info.IsDir():
		return filesOf(ctx, name)
	case err == nil || errors.Is(err, store.ErrOutside) ||
		store.IsS3(name) && !strings.Contains(name, ","):
		return []string{name}, nil
	}
	if parts := Split(ctx, name); len(parts) > 1 {
		var all []string
		for _, part := range parts {
			if part == "" || part == Stdin {
				return nil, fileFault(name, "an empty name, or -, in a list of files",
					"names of files with commas between")
			}
			files, err := Files(ctx, part)
			if err != nil {
				return nil, err
			}
			all = append(all, files...)
		}
		slices.Sort(all)
		for i, path := range all[1:] {
			if path == all[i] {
				return nil, fileFault(name, path+" twice", "every file once")
			}
		}
		return all, nil
	}
	if !strings.ContainsAny(name, "*?[") {
		return []string{name}, nil // opening it reports that it does not exist
	}
	pattern, err := store.RootsOf(ctx).Path(name)
	if err != nil {
		return nil, err
	}
	all, err := filepath.Glob(pattern)
	if err != nil {
		return nil,
			fileFault(name, "an invalid pattern ("+err.Error()+")", "* ? and [a-z] in a name")
	}
	if base := filepath.Base(name); base[0] != '.' && base[0] != '_' {
		all = slices.DeleteFunc(all, func(path string) bool { return noData(filepath.Base(path)) })
	}
	if len(all) == 0 {
		return nil, fileFault(name, "no file that matches", "one or more")
	}
	slices.Sort(all)
	return all, nil
}

// inputs returns the files of a graph, including the files beside them, and its format if that is
// given or follows from the name. The name of a directory does not tell the format of its files.
func inputs(ctx context.Context, name string, format Format) (Format, []string, error) {
	if format == "" {
		info, err := store.RootsOf(ctx).Stat(name)
		if store.IsS3(name) || err != nil || !info.IsDir() { // S3 has no directories
			format = formatOfName(name)
		}
	}
	if format == "" && isLDBCBase(name) {
		format = LDBC
	}
	switch format {
	case LDBC:
		of, err := ldbcFilesOf(name)
		files := []string{of.vertices, of.edges}
		if of.properties != "" {
			files = append(files, of.properties)
		}
		return format, files, err
	case Graph500:
		files := []string{name}
		if weights := weightsBeside(name); exists(weights) {
			files = append(files, weights)
		}
		return format, files, nil
	}
	files, err := Files(ctx, name)
	return format, files, err
}

// Split splits a list of names at commas. A file whose own name has commas is one name.
func Split(ctx context.Context, list string) []string {
	if _, err := stat(ctx, list); err == nil {
		return []string{list}
	}
	return strings.Split(list, ",")
}

// noData reports whether a file of a directory contains no data. Programs that write graphs in
// parts give such names to other files.
func noData(base string) bool { return base[0] == '.' || base[0] == '_' }

// filesOf returns the files of a directory.
func filesOf(ctx context.Context, dir string) ([]string, error) {
	f, err := store.RootsOf(ctx).OpenFile(dir, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		switch path := filepath.Join(dir, e.Name()); {
		case noData(e.Name()):
		case e.IsDir():
			return nil, fileFault(path, "a directory in a directory", "files alone")
		default:
			all = append(all, path)
		}
	}
	if len(all) == 0 {
		return nil, fileFault(dir, "a directory without files",
			"parts of a graph, or a snapshot (snapshot.json)")
	}
	slices.Sort(all)
	return all, nil
}

// family returns the group of formats whose files may be parts of the same graph.
func family(f Format) string {
	if listNames[f] != "" {
		return "edge lists"
	}
	return string(f)
}

// alike refuses files that cannot be parts of one graph because of their formats.
func (r *reader) alike(paths []string, format Format) error {
	if r.Format == "" && (format == LDBC || format == Graph500) {
		return fileFault(paths[0], "a file of format "+string(format)+
			" in a directory, list or pattern", "its own name (--format says what all are)")
	}
	if len(paths) == 1 {
		return nil
	}
	for _, path := range paths[1:] {
		if of := formatOfName(path); r.Format == "" && of != "" &&
			family(of) != family(format) {
			return fileFault(path, "a file of format "+string(of), fmt.Sprintf(
				"one of format %s, as %s is (--format says what all are)", format, paths[0]))
		}
	}
	if family(format) != "edge lists" && format != CSV && format != TSV {
		return fileFault(r.name, Counted(len(paths), "file")+" of format "+string(format),
			"one file: edge lists, CSV and TSV may be in several")
	}
	return nil
}

// readTable parses the lines of this rank's part of x. Of several faults it returns the first in
// the files.
func (r *reader) readTable(ctx context.Context, x textFile) (*table, error) {
	sizes, total, err := r.sizes(ctx, x.f, x.others)
	if err != nil {
		return nil, err
	}
	return r.filled(x.f, x.columns, func(t *table) error {
		before := int64(0)
		for i, size := range sizes {
			lo, hi := r.part(size, before, total)
			before += size
			var err error
			if i == 0 && (lo < hi || len(x.others) == 0) {
				err = r.readPart(ctx, t, x, lo, hi)
			} else if lo < hi {
				err = r.readOther(ctx, t, x.others[i-1], x.grammar, lo, hi)
			}
			if err != nil {
				return err
			}
			if len(x.others) > 0 {
				t.spans = append(t.spans[:i], edges.Span{From: lo, To: hi, Size: size})
			}
		}
		return nil
	})
}

// sizes returns the sizes of all files, and their sum. It adds the files after the first to the
// expected progress.
func (r *reader) sizes(
	ctx context.Context, f *file, others []string,
) (sizes []int64, total int64, err error) {
	sizes, total = append(sizes, f.size()), f.size()
	for _, path := range others {
		info, err := stat(ctx, path)
		if err != nil {
			return nil, 0, err
		}
		size := info.Size()
		if !info.Mode().IsRegular() {
			size = 0
		}
		sizes, total = append(sizes, size), total+size
	}
	r.progress.expect((total - f.size()) / int64(r.ranks))
	r.expecting = len(others) > 0
	return sizes, total, nil
}

// readOther reads a part of a file that is not the first.
func (r *reader) readOther(
	ctx context.Context, t *table, path string, g grammar, lo, hi int64,
) error {
	f, err := r.open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.foreign(f.head(), r.format); err != nil {
		return err
	}
	x := textFile{f: f, grammar: g}
	if g.csv != nil {
		if x.from, err = g.csv.begin(f); err != nil {
			return inFile(err, path)
		}
	}
	return r.readPart(ctx, t, x, lo, hi)
}
