package bsp

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// ProgramError is a panic in a user's program.
type ProgramError = pregel.ProgramError

// NewProgramError makes the error of a panic, or of runtime.Goexit if value is nil. The error of
// pregel.Coordinator.Fail, which panics too, has no stack. It must be called by the deferred
// function that recovers.
func NewProgramError(program string, value any, superstep int) *ProgramError {
	e := &ProgramError{Program: program, Superstep: superstep, Value: value}
	p, recorded := value.(*parallel.Panic) // in a worker of a team, which recorded the stack
	if recorded {
		e.Value = p.Value
	}
	switch value := e.Value.(type) {
	case kernel.Failure:
		e.Value = value.Err
		return e
	case nil:
		e.Value = parallel.ErrExited
	}
	stack := debug.Stack()
	if recorded {
		stack = p.Stack
	}
	e.Stack = programFrames(string(stack))
	return e
}

// programFrames returns the frames of a stack between the panic and the engine's call of the
// program. It returns the whole stack if the engine itself panicked.
func programFrames(stack string) string {
	const module = "github.com/superstep-go/superstep/"
	lines := strings.SplitAfter(stack, "\n") // two lines per frame, after a heading
	begin, end := 0, 0
	for i := 1; i+1 < len(lines); i += 2 {
		frame := func(prefixes ...string) bool {
			return slices.ContainsFunc(prefixes,
				func(p string) bool { return strings.HasPrefix(lines[i], p) })
		}
		switch {
		case begin == 0:
			if frame("panic(", "runtime.Goexit(") {
				begin = i + 2
			}
		case frame(module + "internal/"):
			if end > 0 {
				return strings.Join(lines[begin:end], "")
			}
		case !frame(module+"pregel.", module+"combiners.", "runtime.", "internal/", "sync."):
			end = i + 2
		}
	}
	return stack
}

// Failure makes the error of a call of the program that panicked with recovered, or called
// runtime.Goexit if recovered is nil. Exhausted memory is not a ProgramError.
func Failure(program string, recovered any, superstep int) error {
	if exhausted := mem.IsExhausted(recovered); exhausted != nil {
		return fmt.Errorf("%s: %w", program, exhausted)
	}
	return NewProgramError(program, recovered, superstep)
}

// Contain calls f, which calls the program, on a new goroutine, and returns its error. It turns a
// panic or runtime.Goexit of the program into an error.
func Contain(program string, superstep *int, f func() error) (err error) {
	if ended := parallel.Contain(func() { err = f() }); ended != nil {
		return Failure(program, ended, *superstep)
	}
	return err
}

// NoSuperstep is the number of the superstep before the first one.
var NoSuperstep = -1

// TimeoutError means that a superstep exceeded Options.SuperstepTimeout.
type TimeoutError struct {
	Superstep int
	Limit     time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("superstep %d: it took longer than %v", e.Superstep, e.Limit)
}
