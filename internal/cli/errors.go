package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/superstep-go/superstep/internal/control"
	"github.com/superstep-go/superstep/internal/escape"
)

// usageError is an error in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// flagError explains an error about a flag, or an unknown subcommand.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	switch {
	case cmd.HasSubCommands() && noCommand(cmd, cmd.Flags().Args()) != nil:
		return noCommand(cmd, cmd.Flags().Args())
	case errors.As(err, &value):
		return usagef("--%s: found %q, %w", value.GetFlag().Name, value.GetValue(), value.Unwrap())
	case errors.As(err, &missing):
		_, usage := pflag.UnquoteUsage(missing.GetFlag())
		return usagef("--%s wants a value: %s", missing.GetFlag().Name, usage)
	case errors.As(err, &unknown):
		hyphens := map[bool]string{true: "-", false: "--"}[unknown.GetSpecifiedShortnames() != ""]
		return usagef("%s has no flag %s%s: %s --help lists them", cmd.Name(), hyphens,
			unknown.GetSpecifiedName(), cmd.CommandPath())
	default:
		return usageError{err}
	}
}

// exactly requires n arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > n:
			return usagef("%s wants %s, found %q too", cmd.Name(), what, args[n])
		case len(args) > 0 && len(args) < n:
			return usagef("%s wants %s, found %q alone", cmd.Name(), what, args[0])
		case len(args) < n:
			return usagef("%s wants %s: %s --help says more", cmd.Name(), what, cmd.CommandPath())
		}
		return nil
	}
}

// optional allows at most one argument.
func optional(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return exactly(1, what)(cmd, args)
	}
}

// noCommand rejects an unknown subcommand.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("there is no command %q: did you mean %s?", args[0],
			strings.Join(near, " or "))
	}
	return usagef("there is no command %q: %s --help lists them", args[0], cmd.CommandPath())
}

// bugError is an unexpected panic.
type bugError struct {
	value any
	stack []byte
}

func (e *bugError) Error() string { return fmt.Sprint(e.value) }

// oneLine joins the lines of an error and removes duplicates, because an unwritable file may fail
// several parts of a run.
func oneLine(err error) string {
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return escape.Text(strings.Join(lines, "; "), control.MaxText)
}
