package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/superstep-go/superstep/internal/engine"
)

// failed says on standard error why the command failed, and returns the exit status.
func (a *app) failed(ctx context.Context, err error) int {
	var usage usageError
	var program *engine.ProgramError
	var bug *bugError
	var job *jobError
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		a.complain("interrupted", "")
	case errors.As(err, &usage):
		a.complain(oneLine(usage), "")
		return exitUsage
	case errors.As(err, &program):
		a.complain(err.Error(), program.Stack)
	case errors.As(err, &job) && job.stack && job.job.Stack != "":
		a.complain(oneLine(err), job.job.Stack)
	case errors.As(err, &bug):
		a.complain(fmt.Sprintf("a bug in superstep: %v", bug.value), string(bug.stack))
	default:
		a.complain(oneLine(err), "")
	}
	return exitFailed
}

// complain says what went wrong, with a stack if there is one, in the form of --log-format.
func (a *app) complain(text, stack string) {
	switch {
	case a.logFormat.value == "json" && stack != "":
		a.logger().Error(text, "stack", stack)
	case a.logFormat.value == "json":
		a.logger().Error(text)
	case stack != "":
		fmt.Fprintf(a.err, "superstep: %s\n\n%s\n", text, strings.TrimSuffix(stack, "\n"))
	default:
		fmt.Fprintf(a.err, "superstep: %s\n", text)
	}
}
