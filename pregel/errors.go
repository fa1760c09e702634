package pregel

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrGrid is in every error about what cannot be had in a grid of partitions with both sides above
// 1, and can in others.
var ErrGrid = errors.New("not in this grid")

// ProgramError is a panic in a user's program, or in what it was given: a combiner's or an
// aggregator's function. A call of runtime.Goexit there is one too, and so is the error of
// [Coordinator.Fail].
type ProgramError struct {
	Program string
	// Superstep is the one that ran, or -1 if none did yet.
	Superstep int
	// Vertex is the input id of the vertex that ran, if Known.
	Vertex uint64
	Known  bool
	Name   string // what the input calls that vertex, if it has names
	Method string // that panicked, if it runs in no superstep
	Value  any    // what it panicked with; an error that says so after runtime.Goexit
	Stack  string // the program's frames; empty after Coordinator.Fail
}

// Error says what panicked, where and with what.
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

// vertex is the vertex by its name in quotes, or by its input id.
func (e *ProgramError) vertex() string {
	if e.Name != "" {
		return strconv.Quote(e.Name)
	}
	return strconv.FormatUint(e.Vertex, 10)
}

// Unwrap returns the error the program panicked with, if it was one.
func (e *ProgramError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
