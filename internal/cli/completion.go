package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/generate"
	"github.com/superstep-go/superstep/internal/graph"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func (a *app) completion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print a script that completes command lines in a shell",
		Long: `Print a script for shell completion. It completes commands, flags,
algorithms and their parameters, generators and files. It also completes the jobs and graphs of the
cluster of --master or $SUPERSTEP_MASTER, if the master answers within 0.3 s.

Store the script where the examples show; the next shell uses it. bash needs the package
bash-completion.`,
		Example: `  source <(superstep completion bash)
  superstep completion bash > /etc/bash_completion.d/superstep
  superstep completion zsh > "${fpath[1]}/_superstep"
  superstep completion fish > ~/.config/fish/completions/superstep.fish
  superstep completion powershell | Out-String | Invoke-Expression`,
		Args:              exactly(1, "the name of a shell: "+strings.Join(shells, ", ")),
		ValidArgsFunction: firstOf(func(*cobra.Command) []string { return shells }),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			default:
				return usagef("found the shell %q, expected one of %s", args[0],
					strings.Join(shells, ", "))
			}
		},
	}
}

// first completes only the first argument.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, start)
	}
}

// firstOf completes only the first argument, from a list.
func firstOf(list func(cmd *cobra.Command) []string) cobra.CompletionFunc {
	return first(
		func(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			return starting(list(cmd), start), cobra.ShellCompDirectiveNoFileComp
		})
}

// starting returns the items that begin with start.
func starting(list []string, start string) []string {
	return slices.DeleteFunc(slices.Clone(list),
		func(s string) bool { return !strings.HasPrefix(s, start) })
}

// completeGraph completes the name of a graph: a file, or a generator with its parameters.
func completeGraph(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	if generate.IsGenerator(word) && strings.Contains(word, ":") {
		return starting(generatorParameters(word), word), directive
	}
	var all []string
	for _, d := range generate.Known() {
		all = append(all, d.Name+":\t"+d.Help)
	}
	return append(starting(all, word), filesStarting(word)...), directive
}

// completeGenerator is completeGraph for generators only.
func completeGenerator(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	all, directive := completeGraph(cmd, args, start)
	return slices.DeleteFunc(all, func(s string) bool { return !generate.IsGenerator(s) }),
		directive
}

// generatorParameters returns the continuations of a generator's text: the parameters that it does
// not have yet.
func generatorParameters(text string) []string {
	name, list, _ := strings.Cut(text, ":")
	begun := text[:strings.LastIndexAny(text, ":,")+1]
	var all []string
	for _, d := range generate.Known() {
		if d.Name != name {
			continue
		}
		for _, p := range d.Parameters {
			if help := p.Help; !strings.Contains(","+list, ","+p.Name+"=") ||
				strings.HasSuffix(text, p.Name+"=") {
				if p.Default != "" {
					help += " (default " + p.Default + ")"
				}
				all = append(all, begun+p.Name+"=\t"+help)
			}
		}
	}
	return all
}

func filesStarting(start string) []string {
	dir, name := filepath.Split(start)
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name) || name == "" && strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := dir + e.Name()
		if e.IsDir() {
			path += string(filepath.Separator)
		}
		all = append(all, path)
	}
	return all
}

// completeAlgorithm returns the names of the programs.
func (a *app) completeAlgorithm(*cobra.Command) (names []string) {
	for _, e := range a.programs {
		names = append(names, e.Name+"\t"+e.Help)
	}
	return names
}

// completeParameter completes -p with parameters of the algorithm given before.
func (a *app) completeParameter(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	e, err := a.program(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	given, _ := cmd.Flags().GetStringArray("param")
	var all []string
	for _, p := range e.Parameters {
		if slices.ContainsFunc(given,
			func(s string) bool { return strings.HasPrefix(s, p.Name+"=") }) {
			continue
		}
		if strings.HasPrefix(start, p.Name+"=") {
			words := p.Words
			if p.Kind == reflect.Bool && !p.List {
				words = []string{"true", "false"}
			}
			for _, word := range words {
				all = append(all, p.Name+"="+word)
			}
			return starting(all, start), cobra.ShellCompDirectiveNoFileComp
		}
		all = append(all, p.Name+"=\t"+p.Help)
	}
	return starting(all, start),
		cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeGrid completes --grid with common grids.
func completeGrid(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for n := 1; n <= 16; n *= 2 {
		for c := 1; c <= n; c *= 2 {
			all = append(all, graph.Grid{Rows: n / c, Columns: c}.String())
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// completionTime is how long completion waits for the master's answer.
const completionTime = 300 * time.Millisecond

// list returns what a call to the cluster answers, or nothing if it does not soon, or fails.
func (f *clientFlags) list(cmd *cobra.Command, of func(ctx context.Context, c control.ClusterClient) []string) []string {
	c, err := f.open(func(string) {})
	if err != nil {
		return nil
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	return of(ctx, c.Cluster())
}

// completeJob completes the id of a job. If running, it omits jobs that have ended.
func (f *clientFlags) completeJob(running bool) cobra.CompletionFunc {
	jobs := func(ctx context.Context, c control.ClusterClient) (all []string) {
		r, _ := c.ListJobs(ctx, &control.ListJobsRequest{Ended: !running})
		for _, j := range r.GetJobs() {
			all = append(all,
				fmt.Sprintf("%s\t%s on %s, %s", j.Id, j.Spec().Program, graphOf(j.Spec()),
					j.State.Word()))
		}
		return all
	}
	return firstOf(func(cmd *cobra.Command) []string { return f.list(cmd, jobs) })
}

// completeWorker completes the name of a worker.
func (f *clientFlags) completeWorker() cobra.CompletionFunc {
	workers := func(ctx context.Context, c control.ClusterClient) (all []string) {
		r, _ := c.ListWorkers(ctx, &control.ListWorkersRequest{})
		for _, w := range r.GetWorkers() {
			all = append(all, w.Name+"\t"+w.State.Word())
		}
		return all
	}
	return firstOf(func(cmd *cobra.Command) []string { return f.list(cmd, workers) })
}

// graphs lists the names of the cluster's graphs, with descriptions.
func (f *clientFlags) graphs(cmd *cobra.Command) []string {
	return f.list(cmd, func(ctx context.Context, c control.ClusterClient) (all []string) {
		r, _ := c.ListGraphs(ctx, &control.ListGraphsRequest{})
		for _, g := range r.GetGraphs() {
			all = append(all, g.Name+"\t"+g.Source().Origin()+", "+g.State.Word())
		}
		return all
	})
}

// completeAnyGraph completes --graph: a generator, a file, or a graph of the cluster.
func (f *clientFlags) completeAnyGraph(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if !strings.HasPrefix(start, control.CatalogPrefix) {
		all, directive := completeGraph(cmd, args, start)
		return append(all, starting([]string{control.CatalogPrefix + "\ta graph of the cluster"},
			start)...), directive
	}
	var all []string
	for _, name := range f.graphs(cmd) {
		all = append(all, control.CatalogPrefix+name)
	}
	return starting(all, start), cobra.ShellCompDirectiveNoFileComp
}
