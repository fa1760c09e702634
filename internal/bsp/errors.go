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
	if p, ok := value.(*parallel.Panic); ok { // in a worker of a team, which kept the stack
		return &ProgramError{Program: program, Superstep: superstep, Value: p.Value, Stack: string(p.Stack)}
	}
	if value == nil {
		value = parallel.ErrExited
	}
	return &ProgramError{Program: program, Superstep: superstep, Value: value, Stack: string(debug.Stack())}
}

// Failure makes an error of what ended a function that called the program: the value that a deferred function recovered, nil after
// runtime.Goexit. That memory ran out is not the program's fault.
func Failure(program string, recovered any, superstep int) error {
	var exhausted *mem.Exhausted
	if e, ok := recovered.(error); ok && errors.As(e, &exhausted) {
		return fmt.Errorf("%s: %w", program, exhausted)
	}
	return NewProgramError(program, recovered, superstep)
}

// Contain calls f, which calls the program outside the tasks of a superstep, on a goroutine of its own, and returns its error.
// When the program panics or ends the goroutine, that is the error.
func Contain(program string, superstep *int, f func() error) (err error) {
	if ended := parallel.Contain(func() { err = f() }); ended != nil {
		return Failure(program, ended, *superstep)
	}
	return err
}

// NoSuperstep is before the first one.
var NoSuperstep = -1

// TimeoutError says that a superstep took longer than it may.
type TimeoutError struct {
	Superstep int
	Limit     time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("superstep %d: it took longer than %v", e.Superstep, e.Limit)
}
