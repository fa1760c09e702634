package combiners

import (
	"math/bits"
	"unsafe"

	"github.com/superstep-go/superstep/internal/mem"
	"github.com/superstep-go/superstep/internal/wire"
	"github.com/superstep-go/superstep/pregel"
)

// column is HM: messages to all neighbours by source slot, one array read while the other is written.
type column[S any] struct {
	read, write []S
	raw         bool
}

func newColumn[S any](b pregel.Binding) column[S] {
	arena, _ := b.Alloc.(*mem.Arena)
	return column[S]{
		read:  mem.Make[S](arena, b.Capacity),
		write: mem.Make[S](arena, b.Capacity),
		raw:   mem.PointerFree[S](),
	}
}

// Window returns word w of the column itself: what a program writes there is sent.
func (c *column[S]) Window(w int, _ *[64]S) *[64]S { return (*[64]S)(c.write[w<<6:]) }

// Store has nothing to do: the messages are where they belong.
func (c *column[S]) Store(int, uint64, *[64]S) int { return -1 }

func (c *column[S]) Swap() { c.read, c.write = c.write, c.read }

func (c *column[S]) bytes() int { return int(unsafe.Sizeof(*new(S))) }

// Pack appends the values at the ones of present&list.
func (c *column[S]) Pack(present, list []uint64, to *pregel.Packed) {
	var out []S
	if c.raw {
		out = wire.Slice[S](to.Raw[:0])
	} else if ref, ok := to.Ref.([]S); ok {
		out = ref[:0]
	}
	if cap(out) < to.N {
		out = make([]S, 0, to.N+to.N/4)
	}
	for w, word := range list {
		for word &= present[w]; word != 0; word &= word - 1 {
			out = append(out, c.read[w<<6+bits.TrailingZeros64(word)])
		}
	}
	if c.raw {
		to.Raw = wire.Bytes(out)
	} else {
		to.Ref = out
	}
}

// Unpack writes values to the slots from first on at the ones of present.
func (c *column[S]) Unpack(from *pregel.Packed, present []uint64, first uint32) {
	var values []S
	switch {
	case c.bytes() == 0:
		return // presence says everything
	case c.raw:
		values = wire.Slice[S](from.Raw)[:from.N]
	default:
		values = from.Ref.([]S)
	}
	slots := c.read[first:]
	k := 0
	for w, word := range present {
		if word == ^uint64(0) {
			k += copy(slots[w<<6:w<<6+64], values[k:])
			continue
		}
		for ; word != 0; word &= word - 1 {
			slots[w<<6+bits.TrailingZeros64(word)] = values[k]
			k++
		}
	}
}

// emit appends the messages of the senders of word w, edge by edge.
func emit[M any](p *pregel.Push, w int, read []M, bins *pregel.Bins[M]) int {
	rows, base, edges := p.Bits[w], p.Rank[w], 0
	for senders := p.Present[w] & rows; senders != 0; senders &= senders - 1 {
		i := uint(bits.TrailingZeros64(senders)) & 63
		r := base + uint32(bits.OnesCount64(rows&(1<<i-1)))
		list := p.Adj[p.Starts[r]:p.Starts[r+1]]
		edges += len(list)
		scatter(list, p.Skip, read[w<<6+int(i)], bins)
	}
	return edges
}

// scatter appends one message for each vertex of a list that wants it.
func scatter[M any](list []uint32, skip []uint64, x M, bins *pregel.Bins[M]) {
	for _, d := range list {
		if skip[d>>6]>>(d&63)&1 != 0 {
			continue
		}
		b := d >> bins.Shift
		bins.To[b] = append(bins.To[b], d)
		bins.Msg[b] = append(bins.Msg[b], x)
	}
}
