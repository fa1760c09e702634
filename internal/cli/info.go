package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/graph/build"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/mem"
)

func (a *app) info() *cobra.Command {
	f := struct {
		sourceFlags
		threadsFlag
		JSON string `flag:"json" help:"write the figures as JSON to {FILE}, - for standard output"`
	}{threadsFlag: allThreads()}
	cmd := &cobra.Command{
		Use:   "info GRAPH",
		Short: "Say what a graph holds, what memory it takes, and how to run on it",
		Example: `  superstep info web.txt.gz
  superstep info kronecker:scale=16`,
		Args:              exactly(1, "a graph: a file, or a generator such as kronecker:scale=16"),
		ValidArgsFunction: first(completeGraph),
		RunE: func(cmd *cobra.Command, args []string) error {
			team := f.team()
			defer team.Close()
			if err := writable(f.JSON); err != nil {
				return err
			}
			progress := a.progress()
			defer progress.done()
			request, err := f.request(args[0])
			if err != nil {
				return err
			}
			request.Team, request.Progress = team, progress.stage
			in, err := load.Open(cmd.Context(), request)
			if err != nil {
				return err
			}
			defer in.Close()
			if err := a.leftOut(cmd.Context(), f.BadFile, in.Skipped); err != nil {
				return err
			}
			progress.stage("counting "+args[0], 0, 0)
			s, err := build.Inspect(cmd.Context(), in, team)
			if err != nil {
				return err
			}
			progress.done()
			text := a.text(f.JSON)
			account(text, in)
			survey(text, in, s)
			suggest(text, args[0], cmd.Flags(), vertexText(in, s.Largest), s)
			return a.writeJSON(cmd.Context(), f.JSON, s)
		},
	}
	f.define(cmd, append(ofStoring, ofWorkers...)...)
	flagsOf(cmd, &f, append(ofStoring, ofWorkers...)...)
	return cmd
}

func survey(w io.Writer, in *edges.Input, s *build.Survey) {
	weights := map[bool]string{true: "with weights", false: "without weights"}[s.Weighted]
	counted := graphio.Thousands[int]
	escape.Printf(w, "vertices    %s (%s isolated)\n", counted(s.Vertices), counted(s.Isolated))
	escape.Printf(w, "edges       %s, %s, %s\n", counted(s.Tuples), edges.Kind(s.Directed), weights)
	escape.Printf(w, "trouble     %s duplicates, %s self-loops\n", counted(s.Duplicates),
		counted(s.Loops))
	if s.LargestDegree > 0 {
		escape.Printf(w, "degrees     least %s, median %s, mean %.1f, largest %s (vertex %s)\n",
			counted(s.LeastDegree), counted(s.MedianDegree), s.MeanDegree, counted(s.LargestDegree),
			vertexText(in, s.Largest))
	}
	escape.Printf(w, "memory      %s while loading, %s for the graph", mem.Text(s.LoadBytes),
		mem.Text(s.GraphBytes))
	if free := mem.Available(); free > 0 {
		escape.Printf(w, "; %s are available", mem.Text(free))
	}
	fmt.Fprintln(w)
}

// suggest prints commands that run on the graph, with the same input flags.
func suggest(w io.Writer, name string, flags *pflag.FlagSet, largest string, s *build.Survey) {
	if s.Vertices == 0 {
		fmt.Fprintln(w, "the graph has no vertices: there is nothing to run")
		return
	}
	graph := "--graph " + quoted(name)
	for _, word := range flagsGiven(flags,
		func(f *pflag.Flag) bool { return slices.Contains(f.Annotations[groupOf], "input") }) {
		graph += " " + quoted(word)
	}
	escape.Printf(w, "run         superstep run bfs %s -p source=%s\n", graph, largest)
	algorithm := "pagerank"
	if s.Weighted {
		algorithm = fmt.Sprintf("sssp -p source=%s", largest)
	}
	escape.Printf(w, "            superstep run %s %s --output result.txt\n", algorithm, graph)
}

// vertexText returns the name of a vertex, given by its input id, quoted for a command line.
func vertexText(in *edges.Input, id uint64) string {
	if in.Names != nil {
		return quoted(in.Names.Name(id))
	}
	return strconv.FormatUint(id, 10)
}

// quoted quotes a word for a shell if necessary.
func quoted(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("./_-:=,", c)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
