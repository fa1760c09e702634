package pregel

import (
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/internal/mem"
)

// touched is the number of vertices whose values are read ahead. Messages were just written.
const touched = 64

// RunFew does for single vertices what Sweep does for words.
func (l *lane[V, M]) RunFew(to []uint32, at int, f *kernel.Few) {
	v, in, listed := l.begin(), &l.of.inbox, l.few.Listed
	l.Block.Awake = 0
	l.running = true
	for len(to) > 0 {
		some, all := to[:min(touched, len(to))], in.Msg
		to = to[len(some):]
		l.of.values.Touch(some)
		if len(listed) > 0 {
			all = listed[at:]
		}
		for k, d := range some {
			if len(listed) == 0 {
				k = int(d)
			}
			if l.runOne(v, d, all[k]) {
				f.Rows = append(f.Rows, kernel.Row{From: d})
			}
			if v.finish != 0 {
				f.Finished = append(f.Finished, d)
			} else if v.halt == 0 {
				f.Awake = append(f.Awake, d)
			}
		}
		at += len(some)
	}
	l.running = false
	v.halt, v.finish, v.b = 0, 0, nil
}

// runOne calls Compute for a vertex, and reports whether it sent to all neighbours.
func (l *lane[V, M]) runOne(v *Vertex[V, M], d uint32, m M) (sent bool) {
	i, b, first := l.of, &l.Block, d&^63
	bit := uint64(1) << (d & 63)
	b.Run, b.Received = bit, bit
	b.Values = (*[64]V)(i.values.Data[first:])
	b.OutDegrees, b.InDegrees = (*[64]uint32)(i.out[first:]), (*[64]uint32)(i.in[first:])
	b.First = VertexID(i.ids.ID(first))
	l.own.base = first
	v.values, v.i, v.bit, v.id, v.sent = b.Values, d&63, bit, b.First+VertexID(d&63)*b.Stride, 0
	v.halt, v.finish = 0, 0
	i.program.Compute(v, m)
	if v.sent&sentOne == 0 {
		return false
	}
	k := i.ways[0].kernel
	if i.self {
		if *any(&v.message).(*VertexID) != v.id {
			panic(kernel.WrongSender{Vertex: uint64(v.id)})
		}
		return true
	}
	out := k.Window(int(d>>6), &l.out)
	*mem.At(out, d) = v.message
	if i.normalize != nil && i.normalize(bit, out) == 0 {
		return false
	}
	if k.Store(int(d>>6), bit, out) >= 0 {
		panic(kernel.WrongSender{Vertex: uint64(v.id)})
	}
	return true
}
