package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/edges"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graphio"
	"github.com/superstep-go/superstep/internal/job/resolve"
	"github.com/superstep-go/superstep/internal/load"
	"github.com/superstep-go/superstep/internal/resultlines"
	"github.com/superstep-go/superstep/pregel"
)

func (a *app) generate() *cobra.Command {
	f := struct {
		Output   string `flag:"output" short:"o" help:"{FILE} to write; its name sets the format"`
		Format   string `flag:"format" help:"the {FORMAT} to write (default: by the name)"`
		Weighted bool   `flag:"weighted" help:"also write weights"`
		threadsFlag
	}{threadsFlag: allThreads()}
	cmd := &cobra.Command{
		Use:   "generate GENERATOR --output FILE",
		Short: "Write a generated graph to a file",
		Long:  "Write a generated graph to a file. The generators, and their parameters with defaults:\n\n" + generators(),
		Example: `  superstep generate kronecker:scale=20 --output g20.graph500
  superstep generate rmat:scale=16,a=.45,b=.15,c=.15 --output rmat.el.gz
  superstep generate grid:rows=1000,columns=1000 --weighted --output grid.wel`,
		Args:              exactly(1, "a generator"),
		ValidArgsFunction: first(completeGenerator),
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := generate.Parse(args[0])
			if err != nil {
				return usageError{err}
			}
			weights := edges.Unweighted
			if f.Weighted {
				weights = edges.Float64
				if _, ok := g.(generate.Kronecker); ok {
					weights = edges.Float32
				}
			}
			request := load.Request{Name: args[0], Weights: weights, Team: f.team()}
			return a.copyGraph(cmd.Context(), request, f.Output, f.Format, "")
		},
	}
	flagsOf(cmd, &f)
	completeFormats(cmd, "format", graphio.Written)
	return cmd
}

func generators() string {
	var b strings.Builder
	for _, d := range generate.Known() {
		var params []string
		for _, p := range d.Parameters {
			if p.Default == "" {
				params = append(params, p.Name+"=")
			} else {
				params = append(params, fmt.Sprintf("[%s=%s]", p.Name, p.Default))
			}
		}
		fmt.Fprintf(&b, "  %s:%s\n      %s\n", d.Name, strings.Join(params, ","), d.Help)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (a *app) convert() *cobra.Command {
	f := struct {
		sourceFlags
		To string `flag:"to" help:"the {FORMAT} to write (default: by the name of the file)"`
		threadsFlag
	}{threadsFlag: allThreads()}
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert a graph from one format to another",
		Long: `Convert a graph from one format to another. The names of the files choose
the formats, or --format and --to: snap (.txt), el, wel, mtx, ldbc (.v, .e, .properties), graph500,
csv, tsv, jsonl, parquet, dimacs (.gr, .col), metis (.graph), sg and wsg. A name that ends in .gz
or .zst compresses text. Adjacency lists, GraphML and Giraph's lines can be read only.

If the new format cannot hold a part of the graph, that is an error or a warning.`,
		Example: `  superstep convert web.txt.gz web.graph500 --undirected
  superstep convert roads.mtx roads.wel
  superstep convert social.graphml social.parquet
  superstep convert follows.csv follows.jsonl --source-column follower --target-column followed
  superstep convert example.v example.el.zst`,
		Args: exactly(2, "the name of the graph to read and of the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := f.request(args[0])
			if err != nil {
				return err
			}
			request.Team = f.team()
			return a.copyGraph(cmd.Context(), request, args[1], f.To, f.BadFile)
		},
	}
	f.define(cmd, append(ofStoring, ofWorkers...)...)
	flagsOf(cmd, &f, append(ofStoring, ofWorkers...)...)
	completeFormats(cmd, "to", graphio.Written)
	return cmd
}

// copyGraph reads or generates a graph and writes it.
func (a *app) copyGraph(ctx context.Context, r load.Request, output, format, badFile string) error {
	defer r.Team.Close()
	if output == "" {
		return usagef("--output is missing: the file to write, such as graph.el.gz")
	}
	o := graphio.WriteOptions{}
	var err error
	if o.Format, err = graphio.FormatToWrite(output, format); err != nil {
		return usageError{err}
	}
	if err := apart(r.Name, "OUT", output); err != nil {
		return err
	}
	if err := graphio.Writable(output); err != nil {
		return err
	}
	progress := a.progress()
	defer progress.done()
	r.Progress = progress.stage
	in, err := load.Open(ctx, r)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := a.leftOut(ctx, badFile, in.Skipped); err != nil {
		return err
	}
	o.Team = r.Team
	o.Progress = func(done, total int64) { progress.stage("writing "+output, done, total) }
	var warnings []string
	o.Warn = func(line string) { warnings = append(warnings, line) }
	if err := graphio.Write(ctx, output, in, o); err != nil {
		return err
	}
	progress.done()
	for _, line := range warnings {
		a.warn(line)
	}
	account(a.out, in)
	escape.Printf(a.out, "wrote %s: %s, %s\n", output, graphio.Counted(in.Vertices, "vertex"),
		graphio.Counted(in.Edges.Len(), "edge"))
	return nil
}

// account prints what the reader found in an input.
func account(w io.Writer, in *edges.Input) {
	for _, line := range in.Account {
		escape.Printf(w, "%s\n", line)
	}
}

func (a *app) algorithms() *cobra.Command {
	return &cobra.Command{
		Use:   "algorithms [NAME]",
		Short: "List the algorithms, their parameters, columns and results",
		Example: `  superstep algorithms
  superstep algorithms pagerank
  superstep run pagerank --graph kronecker:scale=16 -p damping=0.9 -p tolerance=1e-9`,
		Args:              optional("the name of an algorithm, or nothing for all"),
		ValidArgsFunction: firstOf(a.completeAlgorithm),
		RunE: func(_ *cobra.Command, args []string) error {
			programs := a.programs
			if len(args) > 0 {
				e, err := a.program(args[0])
				if err != nil {
					return err
				}
				programs = engine.Registry{e}
			}
			for _, e := range programs {
				fmt.Fprintf(a.out, "%s: %s\n", e.Name, e.Help)
				Describe(a.out, e)
			}
			return nil
		},
	}
}

// Describe prints the parameters, columns and result fields of a program.
func Describe(w io.Writer, e engine.Registered) {
	for _, p := range e.Parameters {
		text := p.Help
		switch {
		case p.Required:
			text += " (required)"
		case p.Default != "":
			text += " (default " + p.Default + ")"
		}
		fmt.Fprintf(w, "    -p %-20s  %s\n", p.Name+"="+p.ValueName(), text)
	}
	p, err := e.New(nil, func(uint64) (pregel.VertexID, bool) { return 0, true })
	if err != nil {
		return
	}
	for _, c := range resolve.Inputs(p) {
		of := map[bool]string{true: "edges", false: "vertices"}[c.OfEdges]
		fmt.Fprintf(w, "    --column %-14s  a column of %s, %v; without a file it has zeros\n",
			c.Name+"=FILE", of, c.Type())
	}
	if text, err := resolve.WeightsText(e); err == nil {
		fmt.Fprintf(w, "    %-23s  %s\n", "weights of edges", text)
	}
	if f := (resultlines.Form{Fields: p.Fields()}); len(f.Fields) > 1 {
		fmt.Fprintf(w, "    %-23s  %s\n", "fields of the result", strings.Join(f.Names(), ", "))
	}
}
