package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/lab/experiment"
)

// experimentCommand is the command `lab experiment`.
type experimentCommand struct {
	scale, repeat, threads int
	csv, json, svg, output string
}

// every is the name of all experiments together.
const every = "all"

func experimentCmd() *cobra.Command {
	e := &experimentCommand{}
	var list strings.Builder
	for _, x := range experiment.All {
		graph := "no graph"
		if x.Scale > 0 {
			graph = fmt.Sprintf("SCALE %d", x.Scale)
		}
		fmt.Fprintf(&list, "  %-12s %s\n  %-12s %s; %s\n", x.Name, x.Title, "", x.Paper, graph)
	}
	cmd := &cobra.Command{
		Use:   "experiment NAME",
		Short: "Repeat a comparison of the papers",
		Long: `Repeat a comparison of the papers on this engine. The experiment runs a graph with each of the methods
that the paper compares, in turn, and checks every result. A table shows the time and the traffic of
each method. lab/results.md has our results beside the papers' numbers.

` + list.String() + `  ` + fmt.Sprintf("%-12s", every) + ` all experiments, one after the other

Only a wrong result is an error. Other findings do not change the exit status: with "beyond the
limit" in switch it is 0. Ratios of times (gain, over_best etc.) are medians of the ratios in each
round, in which the methods run one after the other. So they differ from the ratios of the medians in
the table.

--output DIR writes the tables of an experiment as NAME.csv and NAME-TABLE.csv, all data as NAME.json,
and the figure as NAME.svg.`,
		Example: `  go -C lab run . experiment switch
  go -C lab run . experiment messages --scale 20 --csv messages.csv --svg messages.svg
  go -C lab run . experiment all --output figures`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("expected the name of one experiment: %s",
					strings.Join(experimentNames(), ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.execute(cmd.Context(), args[0], cmd.Flags().Changed("scale"))
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().IntVar(&e.scale, "scale", 0,
		"use graphs of up to 2^`S` vertices (default: depends on the experiment)")
	cmd.Flags().IntVar(&e.repeat, "repeat", 5, "time `N` rounds")
	cmd.Flags().IntVar(&e.threads, "threads", runtime.GOMAXPROCS(0), "use `N` threads")
	cmd.Flags().StringVar(&e.csv, "csv", "",
		"write the table as CSV to `FILE`, - for standard output")
	cmd.Flags().StringVar(&e.json, "json", "",
		"write all tables as JSON to `FILE`, - for standard output")
	cmd.Flags().StringVar(&e.svg, "svg", "", "draw the figure into `FILE`")
	cmd.Flags().StringVar(&e.output, "output", "",
		"write tables and figures into the directory `DIR`")
	return cmd
}

func experimentNames() []string {
	var names []string
	for _, x := range experiment.All {
		names = append(names, x.Name)
	}
	return append(names, every)
}

func (e *experimentCommand) execute(ctx context.Context, name string, scaled bool) error {
	run := experiment.All
	if name != every {
		x, err := experiment.Find(name)
		if err != nil {
			return usageError{err}
		}
		run = []experiment.Experiment{x}
	} else if e.csv != "" || e.json != "" || e.svg != "" {
		return usagef("--csv, --json and --svg are for one experiment: expected --output DIR")
	}
	switch {
	case scaled && (e.scale < experiment.LeastScale || e.scale > experiment.MostScale):
		return usagef("--scale: found %d, expected %d to %d", e.scale, experiment.LeastScale,
			experiment.MostScale)
	case e.repeat < 1 || e.repeat > experiment.MostRepeat:
		return usagef("--repeat: found %d, expected 1 to %d", e.repeat, experiment.MostRepeat)
	case e.svg == "-":
		return usagef("--svg -: expected the name of a file")
	}
	if err := checkOutputs("--csv", e.csv, "--json", e.json, "--svg", e.svg); err != nil {
		return err
	}
	if e.output != "" {
		if err := os.MkdirAll(e.output, 0o755); err != nil {
			var path *os.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			return fmt.Errorf("cannot make %s: %w", e.output, err)
		}
	}
	team, err := newTeam(e.threads)
	if err != nil {
		return err
	}
	defer team.Close()
	for i, x := range run {
		if i > 0 {
			fmt.Fprintln(os.Stdout)
		}
		report, err := x.Run(ctx,
			experiment.Options{
				Scale: e.scale, Repeat: e.repeat, Team: team, Progress: showStage(),
				Command: process(workerCommand),
			})
		if err != nil {
			return fmt.Errorf("experiment %w", err)
		}
		if err := e.write(report); err != nil {
			return err
		}
	}
	return nil
}

func (e *experimentCommand) write(r *experiment.Report) error {
	if err := r.Text(report(e.csv, e.json)); err != nil {
		return err
	}
	if err := errors.Join(writeTo(e.csv, r.Tables[0].CSV), writeTo(e.svg, r.Figure.Write),
		writeJSON(e.json, r)); err != nil || e.output == "" {
		return err
	}
	for i, t := range r.Tables {
		name := r.Name
		if i > 0 {
			name += "-" + t.Name
		}
		if err := writeTo(filepath.Join(e.output, name+".csv"), t.CSV); err != nil {
			return err
		}
	}
	return errors.Join(writeTo(filepath.Join(e.output, r.Name+".svg"), r.Figure.Write),
		writeJSON(filepath.Join(e.output, r.Name+".json"), r))
}
