package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/superstep-go/superstep/internal/graphio"
)

// mostSkippedThere bounds the malformed lines that may be skipped on a cluster, because the master
// lists them in the job's description.
const mostSkippedThere = 1000

// leftOut warns about skipped lines and writes them to a file, if one is given.
func (a *app) leftOut(ctx context.Context, file string, lines []string) error {
	if n := len(lines); n > 0 {
		a.warn(graphio.Counted(n, "malformed line was", "malformed lines were") +
			" left out, the first at " + lines[0])
	}
	if file == "" {
		return nil
	}
	text := strings.Join(append(slices.Clip(lines), ""), "\n")
	return graphio.WriteFile(ctx, file, 0o666, 1, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// graphValue is the flag for a graph's name. If it is repeated, the names are joined.
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
