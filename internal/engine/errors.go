package engine

import (
	"errors"

	"github.com/superstep-go/superstep/internal/bsp"
	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/pregel"
)

// errStopped is what a partition reports when it stopped because another failed or the run was cancelled.
var errStopped = errors.New("stopped")

// wrongSender is the panic of a vertex that sent another id than its own under combiners.Sender.
type wrongSender struct{ vertex pregel.VertexID }

func (wrongSender) Error() string {
	return "SendToAllNeighbors: under combiners.Sender and MinPlusSender the message must name the vertex itself, v.ID()"
}

// recover turns a panic, or runtime.Goexit in the program, into the failure of the superstep. It is deferred by every task that
// calls the program.
func (r *runner[V, M]) recover(t *thread[V, M]) {
	v := recover()
	if v == nil && !t.running {
		return
	}
	at := pregel.None
	if wrong, ok := v.(wrongSender); ok {
		at = wrong.vertex
	} else if t.running {
		at = t.Current()
	}
	t.running = false
	if exhausted := mem.IsExhausted(v); exhausted != nil {
		err := r.crowded(at, exhausted)
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
