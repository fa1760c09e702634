package control

import (
	"fmt"

	"github.com/superstep-go/superstep/pregel"
)

// NewPanic is a panic of a user's program as a message has it.
func NewPanic(e *pregel.ProgramError) *Panic {
	return &Panic{
		Program: Text(e.Program, maxPanic), Superstep: int32(e.Superstep), Vertex: e.Vertex, Known: e.Known, Method: e.Method,
		Value: Text(fmt.Sprint(e.Value), maxPanic), Stack: Text(e.Stack, maxPanic),
	}
}

// maxPanic bounds each text of a panic.
const maxPanic = MaxText

// Err is the panic as it was where the program ran, but for what it panicked with, of which there is the text.
func (p *Panic) Err() *pregel.ProgramError {
	return &pregel.ProgramError{
		Program: p.Program, Superstep: int(p.Superstep), Vertex: p.Vertex, Known: p.Known, Method: p.Method, Value: p.Value, Stack: p.Stack,
	}
}
