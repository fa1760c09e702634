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
	return func(cmd *cobra.Command, args []string, start string,
	) ([]string, cobra.ShellCompDirective) {
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

// completeGraph completes the name of a graph: a generator with its parameters, or a file.
func completeGraph(cmd *cobra.Command, args []string, start string,
) ([]string, cobra.ShellCompDirective) {
	all, directive := completeGenerator(cmd, args, start)
	if start == "" || len(all) == 0 {
		return nil, cobra.ShellCompDirectiveDefault // the shell lists files
	}
	files, _ := filepath.Glob(start + "*") // start begins as a generator, so it is no pattern
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			file += "/"
		}
		all = append(all, file)
	}
	return all, directive
}

// completeGenerator completes a generator with its parameters.
func completeGenerator(_ *cobra.Command, _ []string, start string,
) (all []string, _ cobra.ShellCompDirective) {
	if generate.IsGenerator(start) && strings.Contains(start, ":") {
		all = generatorParameters(start)
	} else {
		for _, d := range generate.Known() {
			all = append(all, d.Name+":\t"+d.Help)
		}
	}
	return starting(all, start),
		cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
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

// completeAlgorithm returns the names of the programs.
func (a *app) completeAlgorithm(*cobra.Command) (names []string) {
	for _, e := range a.programs {
		names = append(names, e.Name+"\t"+e.Help)
	}
	return names
}

// completeParameter completes -p with parameters of the algorithm given before.
func (a *app) completeParameter(
	cmd *cobra.Command, args []string, start string,
) ([]string, cobra.ShellCompDirective) {
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

// completionTime is how long completion waits for the master's answer.
const completionTime = 300 * time.Millisecond

// lister lists items of a cluster.
type lister = func(ctx context.Context, c control.ClusterClient) []string

// list returns what a call to the cluster answers, or nothing if it does not soon, or fails.
func (f *clientFlags) list(cmd *cobra.Command, of lister) []string {
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
func (f *clientFlags) completeAnyGraph(
	cmd *cobra.Command, args []string, start string,
) ([]string, cobra.ShellCompDirective) {
	if !strings.HasPrefix(start, control.CatalogPrefix) {
		catalog := starting([]string{control.CatalogPrefix + "\ta graph of the cluster"}, start)
		if start != "" && len(catalog) > 0 {
			return catalog, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		}
		return completeGraph(cmd, args, start)
	}
	var all []string
	for _, name := range f.graphs(cmd) {
		all = append(all, control.CatalogPrefix+name)
	}
	return starting(all, start), cobra.ShellCompDirectiveNoFileComp
}
