package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/client"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/snapshot"
	"github.com/superstep-go/superstep/internal/store"
)

// partitionsOf returns the requested grid or, if none is requested, the grid of a snapshot, which
// then opens without being rebuilt.
func (f *gridFlags) partitionsOf(
	ctx context.Context, name string, of func(n int) graph.Grid,
) (rows, columns uint32, err error) {
	rows, columns, err = f.partitions(of)
	if err != nil || f.flags.Changed("partitions") || f.Grid != "" || f.flags.Changed("workers") ||
		generate.IsGenerator(name) || !snapshot.Is(name) {
		return rows, columns, err
	}
	place, err := snapshot.Find(ctx, name)
	switch {
	case err == nil:
		defer place.Close()
		g, _ := graph.ParseGrid(place.Grid) // Find has checked it
		return uint32(g.Rows), uint32(g.Columns), nil
	case f.onCluster: // the workers must reach it, not this process
		return rows, columns, nil
	}
	return 0, 0, err
}

// graphSave is `superstep graphs save`.
type graphSave struct {
	app    *app
	Output string `flag:"output" short:"o" group:"output" help:"the {PLACE}: a directory, or s3://BUCKET/PREFIX; it must have no snapshot yet"`
	threadsFlag
	loadFlags
}

func (a *app) saveGraph() *cobra.Command {
	c := &graphSave{app: a, threadsFlag: allThreads()}
	cmd := &cobra.Command{
		Use:   "save NAME|--graph FILE|GENERATOR --output DIR|s3://BUCKET/PREFIX",
		Short: "Store a built graph, which opens at once later",
		Long: `Store a built graph as a snapshot. Then the directory, or
s3://BUCKET/PREFIX/ with a slash at its end, is a graph wherever a command takes one. It opens at
once if no other options are given; with other partitions or another grid it is built again.
Weights are stored as float64 if the input has weights; a generator makes none without --weights.
With the NAME of a graph of a cluster, its workers store their partitions, so all of them must
reach the place.`,
		Example: `  superstep graphs save --graph kronecker:scale=22 --output k22
  superstep run bfs --graph k22 -p source=1
  superstep graphs save --graph web.txt.gz --partitions 4 --output s3://graphs/web
  superstep graphs save web --output s3://graphs/web`,
		Args:              optional(aGraph),
		ValidArgsFunction: firstOf(c.grid.cluster.graphs),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && c.Graph == "":
				return usagef("save wants the name of a cluster's graph, or --graph FILE|GENERATOR")
			case c.Output == "":
				return usagef("--output is missing: a directory, or s3://BUCKET/PREFIX")
			case len(args) == 0:
				return c.execute(cmd.Context())
			case c.Graph != "":
				return usagef("save %s: --graph names another graph: expected one of them", args[0])
			}
			if name, ok := changed(cmd.Flags(), append(ofLoading, "weights", "threads")...); ok {
				return usagef("--%s is for loading a graph, but %s is loaded", name, args[0])
			}
			return c.onCluster(cmd.Context(), args[0])
		},
	}
	flagsOf(cmd, c)
	c.define(cmd, append(ofWorkers, "json")...)
	return cmd
}

// onCluster makes the workers store a graph of the catalog.
func (c *graphSave) onCluster(ctx context.Context, name string) error {
	place, err := graphio.Absolute(c.Output)
	if err != nil {
		return fmt.Errorf("--output %s: %w", c.Output, err)
	}
	return c.grid.cluster.with(ctx, c.app, func(to *client.Client, d *progress) error {
		d.stage("saving "+name, 0, 0)
		r, err := to.SaveGraph(ctx, &control.SaveGraphRequest{Name: name, Place: place})
		if err != nil {
			return err
		}
		m, err := snapshot.Decode(r.Manifest)
		if err != nil {
			return err
		}
		d.done()
		c.saved(place, m, r.Seconds)
		return nil
	})
}

// saved prints what was stored.
func (c *graphSave) saved(place string, m *snapshot.Manifest, seconds float64) {
	escape.Printf(c.app.out, "saved %s: %s, %s, %s, %s in %.3f s\n", place,
		graphio.Counted(m.Vertices, "vertex"),
		graphio.Counted(int(m.Arcs), "arc"), graphio.Counted(m.Partitions, "partition"),
		mem.Text(m.Bytes), seconds)
}

// execute builds a graph in this process and stores it.
func (c *graphSave) execute(ctx context.Context) (err error) {
	source, rows, columns, err := c.source(ctx, false)
	if err != nil {
		return err
	}
	team := c.team()
	defer team.Close()
	place, err := store.RootsOf(ctx).Make(c.Output)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			snapshot.Abandon(place)
		}
		store.Close(place)
	}()
	if err := snapshot.Absent(ctx, place); err != nil { // before the work
		return err
	}
	progress := c.app.progress()
	defer progress.done()
	g, in, err := buildGraph(ctx, progress, source,
		graph.Grid{Rows: int(rows), Columns: int(columns)}, team)
	if err != nil {
		return err
	}
	defer g.Close()
	in.Close()
	if err := c.app.leftOut(ctx, c.input.BadFile, in.Skipped); err != nil {
		return err
	}
	began := time.Now()
	tell := func(done, total int64) { progress.stage("saving", done, total) }
	m, err := snapshot.Save(ctx, place, g, snapshot.Options{Team: team, Progress: tell})
	if err != nil {
		return err
	}
	progress.done()
	c.saved(place.String(), m, time.Since(began).Seconds())
	return nil
}

// snapshotReport describes a stored graph.
type snapshotReport struct {
	Name       string `json:"name"`
	Place      string `json:"place"` // the name to use as a graph
	Graph      string `json:"graph,omitempty"`
	Vertices   int    `json:"vertices"`
	Edges      int    `json:"edges"` // of the input
	Arcs       uint64 `json:"arcs"`
	Directed   bool   `json:"directed"`
	Weights    string `json:"weights,omitempty"`
	Partitions int    `json:"partitions"`
	Grid       string `json:"grid,omitempty"`
	Bytes      int64  `json:"bytes"`
	Saved      string `json:"saved,omitempty"`
	Error      string `json:"error,omitempty"`
}

func reportSnapshot(
	name, place string, m *snapshot.Manifest, saved time.Time, err error,
) snapshotReport {
	r := snapshotReport{Name: name, Place: place}
	if !saved.IsZero() {
		r.Saved = saved.UTC().Format(time.RFC3339)
	}
	if err != nil {
		r.Error = err.Error()
	}
	if m != nil {
		r.Graph, r.Vertices, r.Edges, r.Arcs, r.Directed, r.Weights = m.Graph, m.Vertices, m.Tuples,
			m.Arcs, m.Directed, m.Weights
		r.Partitions, r.Grid, r.Bytes = m.Partitions, m.Grid, m.Bytes
	}
	return r
}

// listSnapshots lists the stored graphs below a place.
func (a *app) listSnapshots(ctx context.Context, place string, asJSON bool) error {
	s, err := store.Existing(place)
	if err != nil {
		return err
	}
	defer store.Close(s)
	all, err := snapshot.List(ctx, s)
	if err != nil {
		return err
	}
	if len(all) == 0 && !asJSON {
		_, err = fmt.Fprintln(a.out, "no snapshots")
		return err
	}
	report := struct {
		Place     string           `json:"place"`
		Snapshots []snapshotReport `json:"snapshots"`
	}{s.String(), []snapshotReport{}}
	var list listing
	list.table.WriteString("SNAPSHOT\tVERTICES\tEDGES\tGRID\tSIZE\tSAVED\tGRAPH\n")
	for _, e := range all {
		r := reportSnapshot(e.Name, e.PlaceOf(s), e.Manifest, e.Saved, e.Err)
		list.add(r.Name, e.Err, "%d\t%d\t%s\t%s\t%s\t%s", r.Vertices, r.Edges, r.Grid,
			mem.Text(r.Bytes), r.Saved, r.Graph)
		report.Snapshots = append(report.Snapshots, r)
	}
	return list.print(a, asJSON, report, s, "snapshot")
}

func (a *app) verifyGraph() *cobra.Command {
	f := struct {
		threadsFlag
		JSON bool `flag:"json" help:"print JSON"`
	}{threadsFlag: allThreads()}
	return flagsOf(&cobra.Command{
		Use:   "verify DIR|s3://BUCKET/PREFIX/",
		Short: "Check every byte of a stored graph",
		Long:  `Check every byte of a stored graph: open it, which compares all checksums.`,
		Example: `  superstep graphs verify k22
  superstep graphs verify s3://graphs/web/ --json`,
		Args: exactly(1, "the place of a snapshot"),
		RunE: func(cmd *cobra.Command, args []string) error {
			team := f.team()
			defer team.Close()
			place, err := snapshot.Find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer place.Close()
			progress := a.progress()
			tell := func(done, total int64) { progress.stage("verifying "+args[0], done, total) }
			g, err := place.Open(cmd.Context(), args[0],
				snapshot.Options{Team: team, Progress: tell})
			progress.done()
			if err == nil {
				g.Close()
			}
			if f.JSON {
				name := path.Base(strings.TrimSuffix(place.String(), "/"))
				return errors.Join(err, printValue(a.out,
					reportSnapshot(name, args[0], place.Manifest, time.Time{}, err)))
			}
			if err != nil {
				return err
			}
			escape.Printf(a.out, "%s is whole: %s, %s\n", place.String(),
				graphio.Counted(len(place.Parts)+len(place.Index), "file"), mem.Text(place.Bytes))
			return nil
		},
	}, &f)
}
