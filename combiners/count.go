package combiners

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Count counts messages: a vertex that gets n messages sees n, whatever their values. No values are
// sent, only the bits that tell which vertices sent.
func Count[T pregel.Number]() pregel.Combiner[T] {
	return define(named[T]("Count"), 0, func(a, b T) T { return a + b },
		func(kernel.Binding, simple[T]) (kernel.Kernel[T], error) { return &countKernel[T]{}, nil })
}

type countKernel[T pregel.Number] struct{ presence[T] }

func (k *countKernel[T]) Traits() kernel.Traits { return kernel.Traits{Raw: true, Each: true} }

// Lift returns 1: a message to one vertex counts as one.
func (k *countKernel[T]) Lift(uint64, T) T { return 1 }

// Pull counts the in-neighbours that sent.
func (k *countKernel[T]) Pull(p *kernel.Pull, w int, need, found uint64, in *[64]T) (uint64, int) {
	rows, walked := p.Bits[w], 0
	for need &= rows; need != 0; need &= need - 1 {
		i := uint(bits.TrailingZeros64(need)) & 63
		r := p.Rank[w] + uint32(bits.OnesCount64(rows&(1<<i-1)))
		list := p.Adj[p.Starts[r]:p.Starts[r+1]]
		n := uint64(len(list))
		if !p.All {
			n = 0
			for _, s := range list {
				n += p.Present[s>>6] >> (s & 63) & 1
			}
		}
		walked += len(list)
		if found>>i&1 != 0 {
			in[i] += T(n)
		} else if n > 0 {
			in[i] = T(n)
			found |= 1 << i
		}
	}
	return found, walked
}

func (k *countKernel[T]) Push(p *kernel.Push, rows []kernel.Row, into *kernel.Inbox[T]) {
	has, in := into.Has.Words, into.Msg
	for _, row := range rows {
		for _, d := range p.Adj[row.Lo:row.Hi] {
			v, bit := d>>6, uint64(1)<<(d&63)
			switch {
			case p.Skip[v]&bit != 0:
			case has[v]&bit == 0:
				has[v] |= bit
				p.Mark(into.Has, d)
				in[d] = 1
			default:
				in[d]++
			}
		}
	}
}

func (k *countKernel[T]) Emit(p *kernel.Push, rows []kernel.Row, bins *kernel.Bins[T]) {
	for _, row := range rows {
		kernel.Scatter(p.Adj[row.Lo:row.Hi], p.Skip, 1, bins)
	}
}

// Fold adds the counts, as Sum does.
func (k *countKernel[T]) Fold(to []uint32, msg []T, into *kernel.Inbox[T]) {
	new(sumKernel[T]).Fold(to, msg, into)
}

// presence is the column of a combiner whose messages to all neighbours have no value.
type presence[M any] struct{ empty }

func (presence[M]) Window(_ int, scratch *[64]M) *[64]M { return scratch }
func (presence[M]) Store(int, uint64, *[64]M) int       { return -1 }

// empty is a column without values.
type empty struct{}

func (empty) Reset()                    {}
func (empty) Swap()                     {}
func (empty) Column(bool) kernel.Column { return &nothing }

// nothing is always empty.
var nothing kernel.Vec[struct{}]
