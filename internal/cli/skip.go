package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/graphio"
)

// skipFlags say what becomes of malformed lines of a graph.
type skipFlags struct {
	bad  int
	file string
}

// mostSkipped is how many malformed lines may be left out: a file with more is not what it was taken for. On a cluster they are in what the master
// says of the job, and may be fewer.
const (
	mostSkipped      = 1_000_000
	mostSkippedThere = 1000
)

func (f *skipFlags) define(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.bad, "skip-bad", 0, "skip up to `N` malformed lines of a text file; one more is an error")
	cmd.Flags().StringVar(&f.file, "bad-file", "", "write the place and the error of each skipped line to `FILE`")
	nothing(cmd, "skip-bad")
}

func (f *skipFlags) check() error {
	if f.bad < 0 || f.bad > mostSkipped {
		return usagef("--skip-bad: found %d, expected 0 to %d", f.bad, mostSkipped)
	}
	if f.file != "" && f.bad == 0 {
		return usagef("--bad-file is of lines that --skip-bad N leaves out")
	}
	return writable(f.file)
}

// write writes the lines that were left out to the file, if there is one, and warns of them.
func (f *skipFlags) write(ctx context.Context, a *app, lines []string) error {
	if n := len(lines); n > 0 {
		text := things(n, "malformed line was", "malformed lines were") + " left out, the first at " + lines[0]
		a.notices().say(slog.LevelWarn, text)
	}
	if f.file == "" {
		return nil
	}
	return graphio.WriteFile(ctx, f.file, 1, func(w io.Writer) error {
		for _, line := range lines {
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
		return nil
	})
}

// graphValue is the flag of a graph's name: of several files when it is given again.
type graphValue string

func (g *graphValue) String() string { return string(*g) }
func (g *graphValue) Type() string   { return "string" }

func (g *graphValue) Set(name string) error {
	if *g != "" && name != "" {
		name = strings.Join([]string{string(*g), name}, ",")
	}
	*g = graphValue(name)
	return nil
}

// graphFlag defines --graph.
func graphFlag(cmd *cobra.Command, graph *string, usage string) {
	cmd.Flags().VarP((*graphValue)(graph), "graph", "g", usage)
}
