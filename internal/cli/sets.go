package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/sets"
	"github.com/superstep-go/superstep/vertexset"
)

// setCommand is `superstep set`.
type setCommand struct {
	app   *app
	Graph graphValue `flag:"graph" short:"g" group:"input" help:"the {GRAPH} of the set, for --from and --list"`
	From  string     `flag:"from" group:"input" help:"make a set of the vertices in {FILE}: a line for each, with its id or name; - for standard input"`
	Union []string   `flag:"union" group:"input" help:"add the vertices of the set in {FILE}; may be repeated"`
	And   []string   `flag:"and" group:"input" help:"then keep only vertices that are also in the set in {FILE}; may be repeated"`
	Not   []string   `flag:"not" group:"input" help:"then remove the vertices of the set in {FILE}; may be repeated"`
	List  string     `flag:"list" group:"output" help:"write the id or name of each vertex of the set to {FILE}; - for standard output"`
	sourceFlags
	threadsFlag
}

func (a *app) set() *cobra.Command {
	c := &setCommand{app: a, threadsFlag: allThreads()}
	cmd := &cobra.Command{
		Use:   "set FILE.vset",
		Short: "Make, combine, list or describe a set of vertices",
		Long: `Make a set of vertices of a graph from a list, or combine sets of the same graph, and
write it to FILE.vset. Without --from and --union, describe or list the set in FILE.vset.

A set belongs to its graph, loaded with the same --directed, --undirected, --duplicates and
--self-loops: graphs with other ids, names or degrees refuse it. "superstep run" writes sets
(--save-set), runs on the part of a graph within a set (--within FILE.vset), and takes sets as
sources (-p source=set:FILE.vset) and as columns (--column NAME=FILE.vset, which is 1 in the set).`,
		Example: `  superstep run pagerank --graph web.el --select 'value>0.001' --save-set top.vset
  superstep set mine.vset --graph web.el --from ids.txt
  superstep set both.vset --union mine.vset --and top.vset
  superstep set rest.vset --union mine.vset --not top.vset
  superstep set both.vset --graph web.el --list -
  superstep run wcc --graph web.el --within mine.vset`,
		Args: exactly(1, "the file of a vertex set, such as hubs.vset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.execute(cmd.Context(), args[0])
		},
	}
	without := append([]string{"within"}, ofWorkers...)
	flagsOf(cmd, c, without...)
	c.define(cmd, without...)
	_ = cmd.RegisterFlagCompletionFunc("graph", completeGraph)
	return cmd
}

func (c *setCommand) execute(ctx context.Context, path string) (err error) {
	recipe := sets.Recipe{From: c.From, Union: c.Union, And: c.And, Not: c.Not}
	makes := c.From != "" || len(c.Union) > 0
	switch {
	case (c.From != "" || c.List != "") && c.Graph == "":
		return usagef("--graph is missing: the graph of the set, for --from and --list")
	case !makes && len(c.And)+len(c.Not) > 0:
		return usagef("--and and --not are for sets of --from and --union: expected one of them")
	}
	if err := apart(string(c.Graph), "FILE", path, "--list", c.List, "--from", c.From,
		"--bad-file", c.BadFile); err != nil {
		return err
	}
	outputs := []string{c.List}
	if makes {
		outputs = append(outputs, path)
	}
	if err := writable(outputs...); err != nil {
		return err
	}
	var g *graph.Graph
	if c.Graph != "" {
		if g, err = c.load(ctx); err != nil {
			return err
		}
		defer g.Close()
	}
	var s vertexset.Set
	if makes {
		s, err = recipe.Make(ctx, g)
	} else {
		s, err = vertexset.ReadFile(ctx, path)
	}
	if err == nil && g != nil {
		if err = g.Has(s); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err == nil && makes {
		err = s.WriteFile(ctx, path)
	}
	if err == nil {
		err = c.app.save(ctx, c.List, 0o666, 1,
			func(_ context.Context, w io.Writer) error { return sets.List(w, g, s) })
	}
	if err != nil {
		return err
	}
	_, of := s.Numbering()
	escape.Printf(c.app.reportTo(c.List), "%s: %s of %s\n", path, graphio.Thousands(s.Len()),
		graphio.Counted(of, "vertex"))
	return nil
}

// load loads the graph of the set, without weights.
func (c *setCommand) load(ctx context.Context) (*graph.Graph, error) {
	source, err := c.toLoad(string(c.Graph), false)
	if err != nil {
		return nil, err
	}
	source.Weights = "none"
	team, progress := c.team(), c.app.progress()
	defer team.Close()
	defer progress.done()
	g, in, err := buildGraph(ctx, progress, source, graph.Of(1), team)
	if err != nil {
		return nil, err
	}
	in.Close()
	if err := c.app.leftOut(ctx, c.BadFile, in.Skipped); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// sendSets sends the vertex sets that a job names to a cluster. If this binary lacks the program,
// sets in parameters are not known, and the master refuses the job. The names of sets become
// independent of this process's directory.
func (c *remote) sendSets(ctx context.Context, spec *job.Spec) error {
	var files []string
	if spec.Source != nil && spec.Source.Within != "" {
		files = append(files, spec.Source.Within)
	}
	if p, err := c.app.programs.Find(spec.Program); err == nil {
		if spec.Parameters, err = resolve.AbsoluteSets(p.Parameters, spec.Parameters); err != nil {
			return err
		}
		files = append(files, resolve.Sets(p.Parameters, spec.Parameters)...)
	}
	spec.Sets = map[string]*job.ColumnData{}
	for _, file := range files {
		c.seen.stage("sending "+file, 0, 0)
		data := &job.ColumnData{File: file}
		if err := c.client.SendColumn(ctx, data, func(w io.Writer) error {
			_, err := graph.CopySet(ctx, w, file)
			return err
		}); err != nil {
			return err
		}
		spec.Sets[file] = data
	}
	return nil
}
