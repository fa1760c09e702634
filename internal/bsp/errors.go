package bsp

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// ProgramError is a panic in a user's program.
type ProgramError = pregel.ProgramError

// NewProgramError makes the error of a panic, or of runtime.Goexit if value is nil. It must be called by the deferred function
// that recovers.
func NewProgramError(program string, value any, superstep int) *ProgramError {
	if p, ok := value.(*parallel.Panic); ok { // in a worker of a team, which recorded the stack
		return &ProgramError{Program: program, Superstep: superstep, Value: p.Value, Stack: string(p.Stack)}
	}
	if value == nil {
		value = parallel.ErrExited
	}
	return &ProgramError{Program: program, Superstep: superstep, Value: value, Stack: string(debug.Stack())}
}

// Failure makes the error of a call of the program that panicked with recovered, or called runtime.Goexit if that is nil. Exhausted
// memory is not a ProgramError.
func Failure(program string, recovered any, superstep int) error {
	var exhausted *mem.Exhausted
	if e, ok := recovered.(error); ok && errors.As(e, &exhausted) {
		return fmt.Errorf("%s: %w", program, exhausted)
	}
	return NewProgramError(program, recovered, superstep)
}

// Contain calls f, which calls the program, on a goroutine of its own, and returns its error. A panic or runtime.Goexit of the
// program becomes an error, too.
func Contain(program string, superstep *int, f func() error) (err error) {
	if ended := parallel.Contain(func() { err = f() }); ended != nil {
		return Failure(program, ended, *superstep)
	}
	return err
}

// NoSuperstep is the number of the superstep before the first one.
var NoSuperstep = -1

// TimeoutError says that a superstep exceeded Options.SuperstepTimeout.
type TimeoutError struct {
	Superstep int
	Limit     time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("superstep %d: it took longer than %v", e.Superstep, e.Limit)
}
