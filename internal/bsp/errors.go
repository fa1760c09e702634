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

// NewProgramError makes the error of a panic. It must be called by the deferred function that recovers.
func NewProgramError(program string, value any, superstep int) *ProgramError {
	if p, ok := value.(*parallel.Panic); ok { // in a worker of a team, which kept the stack
		return &ProgramError{Program: program, Superstep: superstep, Value: p.Value, Stack: string(p.Stack)}
	}
	return &ProgramError{Program: program, Superstep: superstep, Value: value, Stack: string(debug.Stack())}
}

// Recover turns a panic of the program, outside the tasks of a superstep, into an error. It is deferred. That memory ran
// out is not the program's fault.
func Recover(err *error, program string, superstep *int) {
	v := recover()
	if v == nil {
		return
	}
	var exhausted *mem.Exhausted
	if e, ok := v.(error); ok && errors.As(e, &exhausted) {
		*err = fmt.Errorf("%s: %w", program, exhausted)
		return
	}
	*err = NewProgramError(program, v, *superstep)
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
