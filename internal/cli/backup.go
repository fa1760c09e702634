package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/backup"
	"github.com/superstep-go/superstep/internal/buildinfo"
	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/master"
)

// backupCommand is `superstep backup`.
type backupCommand struct {
	app *app
	clientFlags
	Data   string `flag:"data" help:"back up {DIR}; no master may be using it"`
	Output string `flag:"output" short:"o" help:"write the archive to {FILE}, - for standard output; the file appears when it is complete"`
}

func (a *app) backup() *cobra.Command {
	c := &backupCommand{app: a}
	return clientFlagsOf(&cobra.Command{
		Use:   "backup --data DIR|--master ADDR --output FILE",
		Short: "Back up what a master keeps",
		Long: `Write a backup of a master's state: of a running master (--master), or of
the data directory of a stopped one (--data).

The archive has the queue, the list of jobs, the catalog, the keys of submissions, results, and the
columns of waiting jobs. It does not have checkpoints, the audit log, or the edges of graphs:
workers load graphs again from their sources. Damaged results and columns are left out, a warning
names each, and the status is 1. FILE is a tar archive with checksums. superstep
restore and tar read it. A name that ends in .zst or .gz compresses it.`,
		Example: `  superstep backup --master 10.0.0.1:7700 --output master.tar.zst
  superstep backup --data /var/lib/superstep --output master.tar
  superstep restore master.tar.zst --data /var/lib/superstep`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case c.Output == "":
				return usagef("--output is missing: the file to write, such as master.tar.zst")
			case c.Data != "" && cmd.Flags().Changed("master"):
				return usagef(
					"found --data, for a stopped master, and --master, expected one of them")
			}
			return c.execute(cmd.Context())
		},
	}, c, "json")
}

func (c *backupCommand) execute(ctx context.Context) error {
	if err := writable(c.Output); err != nil {
		return err
	}
	var h *backup.Header
	err := c.app.save(ctx, c.Output, 0o600, 1, func(ctx context.Context, w io.Writer) (err error) {
		if c.Data != "" {
			m := master.Config{Options: master.Options{Data: c.Data}}
			m.Version = buildinfo.Version()
			h, err = m.Backup(w)
		} else {
			h, err = c.fetch(ctx, w)
		}
		return err
	})
	if err != nil {
		return err
	}
	said(c.app.text(c.Output), "backed up", h)
	if len(h.Damaged) == 0 {
		return nil
	}
	for _, what := range h.Damaged {
		c.app.warn("left out of the backup: " + what)
	}
	return fmt.Errorf("the backup lacks %s",
		graphio.Counted(len(h.Damaged), "damaged object"))
}

// said prints the contents of a backup.
func said(w io.Writer, done string, h *backup.Header) {
	fmt.Fprintf(w, "%s %s, %s, %s, %s\n", done, graphio.Counted(h.Jobs, "job"),
		graphio.Counted(h.Graphs, "graph"),
		graphio.Counted(h.Results, "result"), graphio.Counted(h.Columns, "column"))
}

// fetch writes the backup of a running master and verifies it meanwhile.
func (c *backupCommand) fetch(ctx context.Context, w io.Writer) (h *backup.Header, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = c.with(ctx, c.app, func(from *client.Client, d *progress) error {
		stream, err := from.Cluster().Backup(ctx, &control.BackupRequest{})
		if err != nil {
			return from.Explain(ctx, err)
		}
		defer stream.Close()
		in := io.TeeReader(&received{stream: stream, tell: d.stage}, w)
		h, err = backup.Verify(in)
		if err == nil {
			_, err = io.Copy(io.Discard, in) // padding behind the archive's end
		}
		switch {
		case stream.Err() != nil:
			return from.Explain(ctx, stream.Err())
		case err != nil && !errors.As(err, new(*os.PathError)): // which is of writing
			return fmt.Errorf("the backup that the master sent: %w", err)
		}
		return err
	})
	return h, err
}

// received reads a backup that a master sends.
type received struct {
	stream *connect.ServerStreamForClient[control.BackupChunk]
	tell   client.Progress
	rest   []byte
	all    int64
}

func (r *received) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if !r.stream.Receive() {
			return 0, cmp.Or(r.stream.Err(), io.EOF)
		}
		r.rest = r.stream.Msg().Data
		r.all += int64(len(r.rest))
		r.tell("fetching", r.all, 0)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (a *app) restore() *cobra.Command {
	var f struct {
		Data string `flag:"data" help:"restore into {DIR}"`
	}
	return flagsOf(&cobra.Command{
		Use:   "restore FILE --data DIR",
		Short: "Restore what a master keeps",
		Long: `Restore a master's state from a file of superstep backup, into a directory
that is missing or empty. All checksums are compared before anything is written. Then start
superstep master --data DIR. Waiting jobs wait again. Running jobs begin again. Workers load graphs
again from their sources, unless they still hold them.`,
		Example: `  superstep restore master.tar.zst --data /var/lib/superstep`,
		Args:    exactly(1, "a file of superstep backup"),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.Data == "" {
				return usagef("--data is missing: the directory of the new master")
			}
			h, err := master.Config{Options: master.Options{Data: f.Data}}.Restore(
				func() (io.ReadCloser, error) { return openBackup(args[0]) })
			// The error already contains a name.
			if errors.As(err, new(*os.PathError)) ||
				err != nil && strings.HasPrefix(err.Error(), "data: ") {
				return err
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			said(a.out, "restored", h)
			return nil
		},
	}, &f)
}

// openBackup opens a backup, which may be compressed.
func openBackup(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(f)
	head, _ := in.Peek(4) // if the file is shorter, reading fails later
	expanded := io.Reader(in)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		expanded, err = gzip.NewReader(in)
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// without concurrency the decoder need not be closed
		expanded, err = zstd.NewReader(in, zstd.WithDecoderMaxWindow(128<<20),
			zstd.WithDecoderConcurrency(1))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{expanded, f}, nil
}
