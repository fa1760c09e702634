package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/buildinfo"
	"github.com/superstep-go/superstep/internal/history"
	"github.com/superstep-go/superstep/internal/trace"
	"github.com/superstep-go/superstep/internal/web"
)

// ui is `superstep ui`.
func (a *app) ui() *cobra.Command {
	f := &seeFlags{pageFlags: pageFlags{HTTP: "127.0.0.1:0"}}
	cmd := &cobra.Command{
		Use:   "ui TRACE...",
		Short: "Show saved traces on a page",
		Long: `Serve a page that shows traces of superstep run --trace, until an interrupt:
timelines, the choice of delivery in each superstep and its reason, and which partitions waited for
which. The page can compare two traces, superstep by superstep.`,
		Example: `  superstep ui supersteps.jsonl
  superstep ui before.jsonl after.jsonl --http 127.0.0.1:8080`,
		Args: traces("ui"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.show(cmd.Context(), f, args)
		},
	}
	flagsOf(cmd, &f.pageFlags)
	cmd.Flags().Lookup("http").Usage = "serve the page and its API at `ADDR`"
	return cmd
}

// traces checks the arguments of a command that shows traces.
func traces(command string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s wants a trace: superstep run --trace FILE writes one", command)
		}
		return nil
	}
}

func (a *app) show(ctx context.Context, f *seeFlags, files []string) error {
	if err := cmp.Or(f.check(), beginsAsTraces(files)); err != nil {
		return err
	}
	w := &observer{app: a, flags: f, local: pageOf("file", files), progress: a.progress()}
	w.tell = w.local
	if err := w.serve(nil); err != nil {
		return err
	}
	defer w.close()
	if err := replayAll(ctx, files, w.local, w.progress); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// report is `superstep report`.
func (a *app) report() *cobra.Command {
	var f struct {
		Output string `flag:"output" short:"o" help:"write to {FILE}, - for standard output"`
	}
	cmd := &cobra.Command{
		Use:   "report TRACE... --output FILE",
		Short: "Write the page of saved traces into one file",
		Long: `Write the page of "superstep ui", with one trace or several, into one HTML
file. A browser opens it without superstep and without a network.

For a long run the page has the timeline of all supersteps, and the details of partitions for the
last ones.`,
		Example: `  superstep report supersteps.jsonl --output run.html
  superstep report before.jsonl after.jsonl -o comparison.html`,
		Args: traces("report"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.writeReport(cmd.Context(), args, f.Output)
		},
	}
	flagsOf(cmd, &f)
	_ = cmd.MarkFlagFilename("output", "html")
	return cmd
}

func (a *app) writeReport(ctx context.Context, files []string, output string) error {
	if output == "" {
		return usagef("--output is missing: the file that the page is written to, such as run.html")
	}
	written, _ := os.Stat(output) // usually there is none yet
	for _, file := range files {
		if read, _ := os.Stat(file); file == output || os.SameFile(read, written) {
			return usagef("--output %s would replace the trace", output)
		}
	}
	if err := writable(output); err != nil {
		return err
	}
	shown := pageOf(web.KindReport, files)
	if err := replayAll(ctx, files, shown, a.progress()); err != nil {
		return err
	}
	return a.save(ctx, output, 0o666, 1,
		func(_ context.Context, w io.Writer) error { return web.WriteReport(w, shown) })
}

// pageOf makes the page for traces that are read later.
func pageOf(kind string, files []string) *web.Local {
	about := web.About{Kind: kind, Name: strings.Join(files, " "), Version: buildinfo.Version()}
	return web.NewLocal(about, 0)
}

// replayAll reads traces into their page.
func replayAll(ctx context.Context, files []string, l *web.Local, progress *progress) error {
	defer progress.done()
	for _, name := range files {
		var to trace.Journal = l
		if len(files) > 1 {
			to = ofFile{l, name}
		}
		if err := replay(ctx, name, &history.Searches{To: to}, progress); err != nil {
			if !errors.Is(err, trace.ErrCut) {
				return err
			}
			progress.warn(err.Error())
		}
	}
	if len(l.Jobs()) == 0 {
		return fmt.Errorf("%s: there are no supersteps in it", strings.Join(files, ", "))
	}
	return nil
}

// ofFile is a journal that adds the file to the names of jobs, because jobs of two traces often
// have the same names. It names stages without a job after the file.
type ofFile struct {
	to   trace.Journal
	file string
}

// Record passes an event on.
func (f ofFile) Record(e trace.Event) error {
	job := trace.JobOf(e)
	was := *job
	if _, ok := e.(*trace.Stage); ok {
		*job = f.file
	}
	if was != "" {
		*job = f.file + ": " + was
	}
	err := f.to.Record(e)
	*job = was
	return err
}

func openTrace(name string) (*os.File, error) {
	if err := readable(name); err != nil {
		return nil, err
	}
	return os.Open(name)
}

// beginsAsTraces rejects files that are not traces, before the page is served. It skips files that
// are not regular, because they can be read only once.
func beginsAsTraces(files []string) error {
	for _, name := range files {
		file, err := openTrace(name)
		if err != nil {
			return err
		}
		if info, failed := file.Stat(); failed == nil && info.Mode().IsRegular() {
			err = trace.NewReader(file, name).Begins()
		}
		_ = file.Close() // it was only read
		if err != nil && !errors.Is(err, trace.ErrCut) {
			return err
		}
	}
	return nil
}

// replay reads a trace into a journal.
func replay(ctx context.Context, name string, to trace.Journal, p *progress) error {
	file, err := openTrace(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	tell := func(done int64) { p.stage("reading "+name, done, info.Size()) }
	in := io.TeeReader(file, &meteredWriter{ctx: ctx, w: io.Discard, tell: tell})
	return trace.NewReader(in, name).Play(to)
}
