// Package cli implements the command line: `superstep`, and the same for a user's own programs.
// Read cli.go first, then runcmd.go.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/vbauerster/mpb/v8/cwriter"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/buildinfo"
	"github.com/superstep-go/superstep/internal/builtin"
	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/engine"
	"github.com/superstep-go/superstep/internal/escape"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// Exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// app is one invocation of the command line.
type app struct {
	name     string // of the binary
	programs engine.Registry
	out      io.Writer // results and reports
	err      io.Writer // progress, warnings, errors
	in       io.Reader // answers to questions
	width    int       // of the terminal that out is, else 0 or less
	shared   [2]bool   // whether other users can read the file of out, and of err
	line     string    // the command line, for display
	all      allFlags

	interrupts interrupts
	monitor    atomic.Pointer[monitor] // this process's monitor, if it is a worker
}

// allFlags are the flags of all commands.
type allFlags struct {
	Quiet     bool   `flag:"quiet" short:"q" help:"show neither progress nor the report of a run"`
	LogFormat string `flag:"log-format" words:"text,json" help:"the format of logs and errors"`
}

// Run runs the command line of a binary with the built-in programs and its own, and returns the
// exit status. An interrupt ends the command, a second one ends the process at once. If a program
// is invalid, every command fails.
func Run(name string, args []string, own []pregel.Registered, stdout, stderr io.Writer) int {
	programs, problems := builtin.With(own)
	a := &app{
		name: name, programs: programs, out: stdout, err: stderr, in: os.Stdin,
		shared: [2]bool{sharedFile(stdout), sharedFile(stderr)},
	}
	for _, problem := range problems {
		a.notices().say(slog.LevelError, oneLine(problem))
	}
	if len(problems) > 0 {
		return exitUsage
	}
	return a.main(args)
}

// Commands returns the tree of superstep's commands and flags, for the reference. Flags are described
// in lines of at most width characters.
func Commands(width int) *cobra.Command {
	a := &app{
		name: "superstep", programs: builtin.Programs(), out: io.Discard, err: io.Discard,
		width: width,
	}
	return a.root()
}

// checked is standard output that remembers the first error.
type checked struct {
	io.Writer
	err error
}

func (c *checked) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.err = cmp.Or(c.err, err)
	return n, err
}

func (a *app) main(args []string) int {
	defer a.flush()
	a.interrupts.leave = a.interrupted
	ctx, stop := a.interrupts.watch()
	defer stop()
	out := &checked{Writer: a.out}
	a.out = out
	// names of vertices may contain control characters
	if f, ok := out.Writer.(*os.File); ok && terminal(f) {
		a.width, _, _ = cwriter.GetSize(int(f.Fd()))
		shown := &escape.Writer{To: f}
		out.Writer = shown
		defer shown.Close()
	}
	err := a.execute(ctx, args)
	if err = cmp.Or(err, out.err); err == nil {
		return exitDone
	}
	var usage usageError
	var program *bsp.ProgramError
	var bug *bugError
	var job *jobError
	var text *control.TextError
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		a.notices().say(slog.LevelError, "interrupted")
	case errors.As(err, &usage), errors.As(err, &text):
		a.notices().say(slog.LevelError, oneLine(err))
		return exitUsage
	case errors.As(err, &program) && program.Stack != "" && !errors.Is(err, pregel.ErrGrid):
		a.notices().crash(err.Error(), program.Stack)
	case errors.As(err, &job) && job.job.Stack != "":
		a.notices().crash(oneLine(err), job.job.Stack)
	case errors.As(err, &bug):
		a.notices().crash(fmt.Sprintf("a bug in superstep: %v", bug.value), string(bug.stack))
	default:
		a.notices().say(slog.LevelError, oneLine(err))
	}
	return exitFailed
}

// execute runs a command. It converts a panic of the command to an error: out of memory, or a bug.
// This includes panics of teams and partitions, which pass them on. The command runs in another
// goroutine, because a program could end its goroutine.
func (a *app) execute(ctx context.Context, args []string) (err error) {
	root := a.root(args...)
	if i := slices.Index(args, "--"+HelpAll); i >= 0 {
		args = slices.Insert(slices.Clone(args), i, "--help")
	}
	root.SetArgs(args)
	a.line = strings.Join(append([]string{a.name}, args...), " ")
	ended := parallel.Contain(func() {
		defer mem.Recover(&err)
		err = root.ExecuteContext(ctx)
	})
	if ended == nil {
		return err
	}
	if program := new(bsp.ProgramError); errors.As(ended, &program) {
		return program
	}
	return &bugError{ended.Value, ended.Stack}
}

// commands returns the constructors of the commands, by name.
func (a *app) commands() map[string]func() *cobra.Command {
	return map[string]func() *cobra.Command{
		"graph500": a.graph500, "graphalytics": a.graphalytics, "run": a.runProgram,
		"resume": a.resume, "checkpoints": a.checkpoints, "generate": a.generate,
		"convert": a.convert, "info": a.info, "ui": a.ui, "report": a.report,
		"algorithms": a.algorithms, "up": a.up, "master": a.master, "worker": a.worker,
		"ca": a.ca, "status": a.status, "jobs": a.jobs, "watch": a.watch, "logs": a.logs,
		"result": a.result, "set": a.set, "cancel": a.cancel, "drain": a.drain, "graphs": a.graphs,
		"backup": a.backup, "restore": a.restore, "health": a.health, "netbench": a.netbench,
		monitorName:  a.workerMonitor,
		"completion": a.completion, "version": a.version,
	}
}

// root makes the tree of commands. If args begin with a command, it makes only that one, because
// making the flags of all commands would take a fifth of the process's startup time.
func (a *app) root(args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   a.name,
		Short: "Vertex programs on large graphs, and the Graph500 benchmark",
		Long: `superstep runs vertex programs in bulk-synchronous supersteps (Pregel) on
all processors of this machine, or on a cluster.

In each superstep it chooses how to deliver messages: push along the senders' edges, or pull along
the receivers' edges. A cost model predicts the time of each; the engine calibrates the model by
measurements.`,
		Example: `  superstep graph500 --scale 20
  superstep run bfs --graph roads.mtx -p source=1 --output parents.txt
  superstep run pagerank --graph kronecker:scale=18
  superstep info web.txt.gz`,
		SilenceUsage: true, SilenceErrors: true,
		Version:           buildinfo.Version(),
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return given(cmd) },
	}
	root.SetVersionTemplate("superstep {{.Version}}\n")
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(help())
	root.SetUsageTemplate(usageTemplate(root, a.width))
	root.PersistentFlags().Bool(HelpAll, false, "show the help of a command with all its flags")
	defineFlags(root, root.PersistentFlags(), &a.all)
	family(root)
	commands := a.commands()
	for name, command := range commands {
		if len(args) == 0 || args[0] == name || commands[args[0]] == nil {
			root.AddCommand(command())
		}
	}
	if a.name != "superstep" {
		a.rename(root, slices.Collect(maps.Keys(commands)))
	}
	return root
}

// family makes a command that consists of subcommands.
func family(cmd *cobra.Command, members ...*cobra.Command) *cobra.Command {
	cmd.SuggestionsMinimumDistance, cmd.Args = 2, noCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(members...)
	return cmd
}

// rename makes help texts use the name of this binary. It replaces superstep only before the name
// of a command.
func (a *app) rename(root *cobra.Command, names []string) {
	calls := regexp.MustCompile(`\b(superstep|mine) (` + strings.Join(names, "|") + `)\b`)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, text := range []*string{&c.Long, &c.Short, &c.Example} {
			*text = calls.ReplaceAllString(*text, a.name+" $2")
		}
		c.LocalFlags().VisitAll(
			func(f *pflag.Flag) { f.Usage = calls.ReplaceAllString(f.Usage, a.name+" $2") })
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// given rejects a flag with an empty value, for example from an unset shell variable, because it
// would count as not given.
func given(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && err == nil {
			what, _ := pflag.UnquoteUsage(f)
			err = usagef("--%s: found nothing, expected a value: %s", f.Name, what)
		}
	})
	return err
}

// help makes `superstep help COMMAND`.
func help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		Example: `  superstep help run
  superstep run --help`,
		ValidArgsFunction: firstOf(func(cmd *cobra.Command) (names []string) {
			for _, c := range cmd.Root().Commands() {
				names = append(names, c.Name()+"\t"+c.Short)
			}
			return names
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(cmd.Root(), []string{strings.Join(args, " ")})
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what it was built with",
		Example: `  superstep version`,
		Args:    exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(a.out, "superstep %s\n", buildinfo.Version())
			return nil
		},
	}
}
