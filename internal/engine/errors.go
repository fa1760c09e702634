package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/superstep-go/superstep/internal/graph"
	"github.com/superstep-go/superstep/internal/parallel"
	"github.com/superstep-go/superstep/pregel"
)

// errStopped is what a partition reports when it stopped because another failed or the run was cancelled.
var errStopped = errors.New("stopped")

// ProgramError is a panic in a user's program.
type ProgramError struct {
	Program   string
	Superstep int
	// Vertex is the input id of the vertex that ran, if Known.
	Vertex uint64
	Known  bool
	Value  any    // what it panicked with
	Stack  string // where
}

func (e *ProgramError) Error() string {
	where := ""
	if e.Known {
		where = fmt.Sprintf(", vertex %d", e.Vertex)
	}
	return fmt.Sprintf("program %s%s, superstep %d: %v", e.Program, where, e.Superstep, e.Value)
}

// Unwrap returns the error the program panicked with, if it was one.
func (e *ProgramError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func newProgramError(program string, value any, at pregel.VertexID, superstep int, g *graph.Graph) *ProgramError {
	e := &ProgramError{Program: program, Superstep: superstep, Value: value, Stack: string(debug.Stack())}
	if uint64(at) < uint64(g.N) {
		e.Vertex, e.Known = g.Label(at), true
	}
	return e
}

// wrongSender is the panic of a vertex that sent another id than its own under combiners.Sender.
type wrongSender struct{ vertex pregel.VertexID }

func (wrongSender) Error() string {
	return "SendToAllNeighbors: under combiners.Sender and MinPlusSender the message must name the vertex itself, v.ID()"
}

// recover turns a panic of the program into the failure of the superstep. It is deferred by every task that calls the
// program. Other panics are bugs of ours, and go on.
func (r *runner[V, M]) recover(t *thread[V, M]) {
	v := recover()
	if v == nil {
		return
	}
	at := pregel.None
	wrong, isWrong := v.(wrongSender)
	switch {
	case isWrong:
		at = wrong.vertex
	case t.running && !t.blocked:
		at = t.block.Current()
	case !t.running:
		panic(v)
	}
	t.running, t.blocked = false, false
	r.failure.CompareAndSwap(nil, newProgramError(r.job.name, v, at, r.command.Superstep, r.job.graph))
	r.stop.Store(true)
}

// guarded is superstep on a goroutine of its own, where a panic would end the process: it is reported instead.
func (r *runner[V, M]) guarded(ctx context.Context, c *Command) (p *Report) {
	defer func() {
		if v := recover(); v != nil {
			bug, ok := v.(*parallel.Panic)
			if !ok {
				bug = &parallel.Panic{Value: v, Stack: debug.Stack()}
			}
			p = r.fail(bug)
		}
	}()
	return r.superstep(ctx, c)
}
