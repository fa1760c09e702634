package engine

import (
	"errors"
	"fmt"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/transport"
	"github.com/superstep-go/superstep/pregel"
)

// errStopped is the error of a partition that stopped because another partition failed or the run
// was cancelled.
var errStopped = errors.New("stopped")

// recover turns a panic or runtime.Goexit in the program into the failure of the superstep. Every
// task that calls the program defers it.
func (r *partition) recover(t *thread) {
	v := recover()
	running, at := t.Interrupted()
	if v == nil && !running {
		return
	}
	if wrong, ok := v.(kernel.WrongSender); ok {
		at = pregel.VertexID(wrong.Vertex)
	}
	if exhausted := mem.IsExhausted(v); exhausted != nil {
		err := error(exhausted)
		if at != pregel.None {
			err = r.atVertex(at, err)
		}
		err = fmt.Errorf("%s: superstep %d: %w", r.job.name, r.command.Superstep, err)
		r.job.over.CompareAndSwap(nil, &err)
		r.stop.Store(true)
		return
	}
	e := bsp.NewProgramError(r.job.name, v, r.command.Superstep)
	if at != pregel.None {
		e.Vertex, e.Known = r.label(at), true
		e.Name = r.job.vertexName(e.Vertex)
	}
	r.failure.CompareAndSwap(nil, e)
	r.stop.Store(true)
}

// firstError returns the error of the first partition that failed by itself. If there is none, it
// returns the error of one that stopped because another had failed.
func firstError(reports []*bsp.Report) error {
	var first error
	for _, p := range reports {
		if p.Err != nil && (first == nil || errors.Is(first, errStopped) ||
			errors.Is(first, transport.ErrClosed)) {
			first = p.Err
		}
	}
	return first
}
