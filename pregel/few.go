package pregel

import (
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// touched is the number of vertices whose values are read ahead. Messages were just written.
const touched = 64

// RunFew does for single vertices what Sweep does for words.
func (l *lane[V, M]) RunFew(to []uint32, at int, f *kernel.Few) {
	v, i, b, all, listed := l.begin(), l.of, &l.Block, l.of.inbox.Msg, len(l.few.Listed) > 0
	if listed {
		all = l.few.Listed[at:]
	}
	message, _ := any(&v.message).(*VertexID)
	b.Awake = 0
	l.running = true
	for n, d := range to {
		if n%touched == 0 {
			i.values.Touch(to[n:min(n+touched, len(to))])
		}
		if !listed {
			n = int(d)
		}
		first, bit := d&^63, uint64(1)<<(d&63)
		b.Run, b.Received = bit, bit
		b.Values = (*[64]V)(i.values.Data[first:])
		b.OutDegrees, b.InDegrees = (*[64]uint32)(i.out[first:]), (*[64]uint32)(i.in[first:])
		b.First = VertexID(i.ids.ID(first))
		l.own.base = first
		v.values, v.i, v.bit, v.id, v.sent = b.Values, d&63, bit, b.First+VertexID(d&63)*b.Stride, 0
		v.halt, v.finish = 0, 0
		i.program.Compute(v, all[n])
		if v.sent&sentOne != 0 && (i.self && *message == v.id || l.sentOne(v, d)) {
			f.Rows = append(f.Rows, kernel.Row{From: d})
		}
		if v.finish != 0 {
			f.Finished = append(f.Finished, d)
		} else if v.halt == 0 {
			f.Awake = append(f.Awake, d)
		}
	}
	l.running = false
	v.halt, v.finish, v.b = 0, 0, nil
}

// sentOne stores the message of a vertex to all neighbours, and reports whether it is to be
// delivered.
func (l *lane[V, M]) sentOne(v *Vertex[V, M], d uint32) bool {
	i := l.of
	k := i.ways[0].kernel
	out := k.Window(int(d>>6), &l.out)
	*mem.At(out, d) = v.message
	if i.normalize != nil && i.normalize(v.bit, out) == 0 {
		return false
	}
	if k.Store(int(d>>6), v.bit, out) >= 0 {
		panic(kernel.WrongSender{Vertex: uint64(v.id)})
	}
	return true
}
