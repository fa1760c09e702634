package cli

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/job"
)

// graphs is `superstep graphs`.
func (a *app) graphs() *cobra.Command {
	return family(&cobra.Command{
		Use:   "graphs load|list|show|drop|save|verify",
		Short: "Load, list, show and drop the graphs of a cluster, and store graphs",
		Long: `Load, list, show and drop the graphs of a cluster: its catalog. A loaded
graph stays in the workers' memory for many jobs, until it is dropped or a worker that holds a part
of it is lost. The command also stores built graphs as snapshots, which open at once.`,
		Example: `  superstep graphs load web --graph /data/web.txt.gz
  superstep graphs list
  superstep run wcc --graph catalog:web`,
	}, a.loadGraph(), a.listGraphs(), a.showGraph(), a.dropGraph(), a.saveGraph(), a.verifyGraph())
}

// aGraph describes the argument of commands for one graph of the catalog.
const aGraph = "the name of a graph, as superstep graphs list has it"

// graphLoad is `superstep graphs load`.
type graphLoad struct {
	app *app
	loadFlags
}

// loadFlags are the flags for building a graph.
type loadFlags struct {
	Graph   graphValue `flag:"graph" short:"g" group:"input" help:"the {GRAPH}: a file, several (a directory, 'parts/*.csv', a.csv,b.csv; may be repeated), a snapshot, or a generator such as kronecker:scale=18"`
	Weights string     `flag:"weights" group:"input" words:"auto,none,float32,float64" help:"the type of the weights to store; auto: float64 if the input has weights"`
	input   sourceFlags
	grid    gridFlags
}

// define defines the flags, except those in without.
func (f *loadFlags) define(cmd *cobra.Command, without ...string) {
	flagsOf(cmd, f)
	f.input.define(cmd, without...)
	flagsOf(cmd, &f.grid)
	f.grid.defined(cmd, columnOf)
	f.grid.cluster.RetryFor = waitPatience
	clientFlagsOf(cmd, &f.grid.cluster.clientFlags, without...)
	_ = cmd.RegisterFlagCompletionFunc("graph", completeGraph)
}

// source describes the graph to build, and its grid.
func (f *loadFlags) source(
	ctx context.Context, onCluster bool,
) (s *job.Source, rows, columns uint32, err error) {
	if s, err = f.input.toLoad(string(f.Graph), onCluster); err != nil {
		return nil, 0, 0, err
	}
	if s.Weights = f.Weights; s.Weights == "none" && s.WeightColumn != "" {
		return nil, 0, 0, usagef("--weight-column %s is not read with --weights none",
			s.WeightColumn)
	}
	f.grid.onCluster = onCluster
	rows, columns, err = f.grid.partitionsOf(ctx, string(f.Graph), graph.Of)
	return s, rows, columns, err
}

func (a *app) loadGraph() *cobra.Command {
	l := &graphLoad{app: a}
	cmd := &cobra.Command{
		Use:     "load NAME --graph FILE|GENERATOR|SNAPSHOT --master ADDR",
		Aliases: []string{"open"},
		Short:   "Load a graph into the workers, for many jobs",
		Long: `Load a graph into the workers' memory, for many jobs, and wait until it is
loaded. The workers read the file, so it must have the same name on all of them. Weights are stored
as float64 if the input has weights; a generator makes none without --weights. From a snapshot
(superstep graphs save) each worker opens its partitions, in the grid that was saved. An interrupt
ends the loading.`,
		Example: `  superstep graphs load web --graph /data/web.txt.gz
  superstep graphs load k20 --graph kronecker:scale=20 --weights float64
  superstep graphs load roads --graph /data/roads.mtx --grid 4x1 --json
  superstep graphs open k22 --graph s3://graphs/k22/`,
		Args: exactly(1, "a name for the graph"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return l.execute(cmd.Context(), args[0])
		},
	}
	l.define(cmd, "within")
	return cmd
}

func (l *graphLoad) execute(ctx context.Context, name string) error {
	if l.Graph == "" {
		return usagef("--graph is missing: a file, or a generator such as kronecker:scale=18")
	}
	source, rows, columns, err := l.source(ctx, true)
	if err != nil {
		return err
	}
	l.grid.await()
	request := &control.LoadGraphRequest{
		Name: name, SourceJson: job.Text(source), Rows: rows, Columns: columns,
	}
	return l.grid.cluster.with(ctx, l.app, func(c *client.Client, d *progress) error {
		d.stage("loading "+string(l.Graph), 0, 0)
		g, err := c.LoadGraph(ctx, request, d.stage)
		d.done()
		switch {
		case err != nil && ctx.Err() == nil:
			if connect.CodeOf(err) == connect.CodeInvalidArgument {
				return usageError{err}
			}
			return err
		case err != nil && !errors.Is(err, context.Cause(ctx)):
			return fmt.Errorf("interrupted: %w", err)
		case err != nil:
			return fmt.Errorf("interrupted: graph %s is dropped", name)
		}
		d.found(g.Notes)
		if err := l.app.leftOut(ctx, l.input.BadFile, g.Skipped); err != nil {
			return err
		}
		return l.grid.cluster.answer(l.app, g, control.GraphText(g))
	})
}

func (a *app) listGraphs() *cobra.Command {
	var f struct {
		clientFlags
		After string `flag:"after" help:"list only graphs of a cluster after {GRAPH}, by name: the next of a list that has no room for all"`
	}
	return clientFlagsOf(&cobra.Command{
		Use:   "list [DIR|s3://BUCKET/PREFIX]",
		Short: "List the graphs of a cluster, or the stored graphs below a place",
		Long: `List the graphs of a cluster. With a directory or s3://BUCKET/PREFIX, list
the snapshots of superstep graphs save below it. A damaged snapshot is listed with its error, and
the exit status is 1.`,
		Example: `  superstep graphs list
  superstep graphs list --json | jq -r '.graphs[].name'
  superstep graphs list graphs/
  superstep graphs list s3://graphs --json | jq -r '.snapshots[] | select(.vertices > 1e6) | .place'`,
		Args: optional("a place of stored graphs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if name, ok := changed(cmd.Flags(), append(ofClients, "master", "after")...); ok {
					return usagef("--%s is for graphs of a cluster, not for stored graphs", name)
				}
				return a.listSnapshots(cmd.Context(), args[0], f.JSON)
			}
			return tell(cmd.Context(), a, &f.clientFlags, control.ClusterClient.ListGraphs,
				&control.ListGraphsRequest{After: f.After}, control.GraphsText)
		},
	}, &f)
}

func (a *app) showGraph() *cobra.Command {
	var f clientFlags
	return clientFlagsOf(&cobra.Command{
		Use:   "show NAME --master ADDR",
		Short: "Show a graph of a cluster, and which workers hold it",
		Example: `  superstep graphs show web
  superstep graphs show web --json`,
		Args:              exactly(1, aGraph),
		ValidArgsFunction: firstOf(f.graphs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tell(cmd.Context(), a, &f, control.ClusterClient.InspectGraph,
				&control.InspectGraphRequest{Name: args[0]}, control.GraphText)
		},
	}, &f)
}

func (a *app) dropGraph() *cobra.Command {
	var f clientFlags
	return clientFlagsOf(&cobra.Command{
		Use:               "drop NAME --master ADDR",
		Short:             "Remove a graph from a cluster, even while it is loading",
		Example:           `  superstep graphs drop web`,
		Args:              exactly(1, aGraph),
		ValidArgsFunction: firstOf(f.graphs),
		RunE: func(cmd *cobra.Command, args []string) error {
			return tell(cmd.Context(), a, &f, control.ClusterClient.DropGraph,
				&control.DropGraphRequest{Name: args[0]}, func(g *control.Graph) string {
					return fmt.Sprintf("graph %s is dropped\n", escape.Text(g.Name, escape.Most))
				})
		},
	}, &f)
}
