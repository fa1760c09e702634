package pregel

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrGrid is in the chain of every error about an operation that a grid of partitions with both
// sides above 1 does not support. Other errors may wrap it too.
var ErrGrid = errors.New("not in this grid")

// ProgramError is a panic in a user's program, or in a function given to it: a combiner's or an
// aggregator's. It is also the error of runtime.Goexit in such code, and of [Coordinator.Fail].
type ProgramError struct {
	Program string
	// Superstep is the superstep that ran, or -1 before superstep 0.
	Superstep int
	// Vertex is the input id of the vertex that ran, if Known.
	Vertex uint64
	Known  bool
	Name   string // the vertex's name in the input, if it has names
	Method string // the method that panicked, if it runs in no superstep
	Value  any    // the value of the panic; after runtime.Goexit an error that says so
	Stack  string // the program's frames; empty after Coordinator.Fail
}

// Error returns the program, the vertex and superstep if known, and the panic's value.
func (e *ProgramError) Error() string {
	switch {
	case e.Method != "" && e.Known:
		return fmt.Sprintf("program %s, %s of vertex %s: %v", e.Program, e.Method, e.vertex(),
			e.Value)
	case e.Method != "":
		return fmt.Sprintf("program %s, %s: %v", e.Program, e.Method, e.Value)
	case e.Known:
		return fmt.Sprintf("program %s, vertex %s, superstep %d: %v", e.Program, e.vertex(),
			e.Superstep, e.Value)
	case e.Superstep < 0:
		return fmt.Sprintf("program %s, before superstep 0: %v", e.Program, e.Value)
	default:
		return fmt.Sprintf("program %s, superstep %d: %v", e.Program, e.Superstep, e.Value)
	}
}

// vertex returns the vertex's name in quotes, or its input id.
func (e *ProgramError) vertex() string {
	if e.Name != "" {
		return strconv.Quote(e.Name)
	}
	return strconv.FormatUint(e.Vertex, 10)
}

// Unwrap returns the panic's value if it is an error, else nil.
func (e *ProgramError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
