package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/superstep-go/superstep/internal/graphio"
)

// mostSkippedThere is how many malformed lines may be left out on a cluster: they are in what the
// master says of the job.
const mostSkippedThere = 1000

// leftOut writes lines that were left out to a file, if there is one, and warns of them.
func (a *app) leftOut(ctx context.Context, file string, lines []string) error {
	if n := len(lines); n > 0 {
		text := things(n, "malformed line was", "malformed lines were") +
			" left out, the first at " + lines[0]
		a.notices().say(slog.LevelWarn, text)
	}
	if file == "" {
		return nil
	}
	return graphio.WriteFile(ctx, file, 0o666, 1, func(w io.Writer) error {
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
