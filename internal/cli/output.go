package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/superstep-go/superstep/internal/graphio"
)

// writeJSON writes a report to a file, or to standard output for -. It does nothing without a path.
func (a *app) writeJSON(ctx context.Context, path string, report any) error {
	return a.save(ctx, path, 0o666, 1,
		func(_ context.Context, w io.Writer) error { return printValue(w, report) })
}

// save writes a file atomically, or to standard output for -. It does nothing without a path. mode
// is as in graphio.WriteFile.
func (a *app) save(ctx context.Context, path string, mode os.FileMode, threads int,
	fill func(ctx context.Context, w io.Writer) error,
) error {
	if path == "" {
		return nil
	}
	var failed error
	write := func(w io.Writer) error {
		failed = fill(ctx, w)
		return failed
	}
	if path == "-" {
		return write(a.out)
	}
	err := graphio.WriteFile(ctx, path, mode, threads, write)
	if failed != nil && !errors.As(failed, new(*os.PathError)) {
		return failed // an error of the contents, not of the file
	}
	return err
}

// text returns the writer for text: standard output, unless results or JSON go there.
func (a *app) text(paths ...string) io.Writer {
	if slices.Contains(paths, "-") {
		return a.err
	}
	return a.out
}

// reportTo returns the writer for the report of a run; with --quiet it discards the report.
func (a *app) reportTo(paths ...string) io.Writer {
	if a.all.Quiet {
		return io.Discard
	}
	return a.text(paths...)
}

// apart rejects files that would overwrite each other or the graph. flags alternates flags and
// paths. Files of --from and --within are read, and may be the graph or standard input.
func apart(graph string, flags ...string) error {
	seen := map[string]string{}
	for i := 0; i < len(flags); i += 2 {
		flag, path := flags[i], flags[i+1]
		read := flag == "--from" || flag == "--within"
		if path == "" || read && (path == graph || path == graphio.Stdin) {
			continue
		}
		if path == "-" && slices.Contains([]string{"--trace", "--save-set", "FILE"}, flag) {
			return usagef("%s -: expected the name of a file", flag)
		}
		if other, ok := seen[path]; ok {
			return usagef("%s and %s are both %s", other, flag, path)
		}
		if seen[path] = flag; path == graph && path != graphio.Stdin {
			return usagef("%s %s would replace the graph", flag, path)
		}
	}
	return nil
}

// writable checks, before long work, that the named files can be written.
func writable(paths ...string) error {
	for _, path := range paths {
		if path == "" || path == "-" {
			continue
		}
		if err := graphio.Writable(path); err != nil {
			return err
		}
	}
	return nil
}

// lateFile is created at the first write, so that work that fails earlier leaves no file.
type lateFile struct {
	path   string
	file   *os.File
	buffer *bufio.Writer
	err    error // of creating it
}

func (f *lateFile) Write(p []byte) (int, error) {
	if f.file == nil {
		file, err := graphio.Create(f.path)
		if err != nil {
			f.err = err
			return 0, err
		}
		f.file, f.buffer = file, bufio.NewWriterSize(file, 64<<10)
	}
	return f.buffer.Write(p)
}

// Close writes the buffer and closes the file. It also returns an error of creating the file.
func (f *lateFile) Close() error {
	if f.file == nil {
		return f.err
	}
	return errors.Join(f.buffer.Flush(), f.file.Close())
}

// meteredWriter reports how many bytes were written, and fails after its context has ended.
type meteredWriter struct {
	ctx  context.Context
	w    io.Writer
	done int64
	tell func(done int64)
}

func (m *meteredWriter) Write(p []byte) (int, error) {
	if m.ctx.Err() != nil {
		return 0, m.ctx.Err()
	}
	n, err := m.w.Write(p)
	m.done += int64(n)
	m.tell(m.done)
	return n, err
}
