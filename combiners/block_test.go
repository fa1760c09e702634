package combiners_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/superstep-go/superstep/internal/bitmap"
	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// block is a random part of a graph, as in a partition: lists by receiver and by sender over slots.
// The owned vertices have the first slots, followed by the ghosts of two other owners. With one
// owner all slots are owned.
type block struct {
	owned  int // owned slots, all with vertices
	slots  int
	parts  int
	ids    kernel.Slots
	groups []group
	arcs   []arc // by slot, in the order of the senders' ids
	pull   kernel.Lists
	push   kernel.Lists
}

// group has the ghosts of one owner. list selects them among the owner's vertices.
type group struct {
	owner int
	list  []uint64
	start uint32
}

type arc struct {
	from, to uint32
	weight   float64
}

// own is the number of vertices of each owner.
const own = 192

func newBlock(rng *rand.Rand, parts, degree int) *block {
	b := &block{owned: own, parts: parts}
	first := parts - 1 // the last owner is this partition
	b.ids = kernel.Slots{First: uint64(first), Stride: uint64(parts), Ghost: own}
	b.slots = own
	for q := range parts - 1 {
		list := make([]uint64, own/64)
		for i := range list {
			list[i] = rng.Uint64() | rng.Uint64()
		}
		list[q%len(list)] = ^uint64(0) // a run of set bits
		b.groups = append(b.groups, group{q, list, uint32(b.slots)})
		ghosts := make([]uint64, 0, own)
		bitmap.Each(list,
			func(local uint32) { ghosts = append(ghosts, uint64(local)*b.ids.Stride+uint64(q)) })
		for len(ghosts)%64 != 0 {
			ghosts = append(ghosts, kernel.None)
		}
		b.ids.Ghosts = append(b.ids.Ghosts, ghosts...)
		b.slots += len(ghosts)
	}
	if rng.IntN(4) > 0 {
		b.ids.FindBases(make([]uint64, b.slots/64))
	}
	b.join(rng, degree)
	return b
}

// join adds random arcs. There are parallel arcs, loops, hubs, and vertices without arcs.
func (b *block) join(rng *rand.Rand, degree int) {
	for range degree * b.owned {
		from, to := uint32(rng.IntN(b.slots)), uint32(rng.IntN(1+rng.IntN(b.owned)))
		if b.ids.ID(from) == kernel.None || from%16 == 3 {
			continue
		}
		b.arcs = append(b.arcs, arc{from, to, float64(rng.IntN(64)) / 16})
	}
	slices.SortStableFunc(b.arcs,
		func(x, y arc) int { return int(b.ids.ID(x.from)) - int(b.ids.ID(y.from)) })
	b.pull = bcsr(b.owned, b.arcs, func(a arc) (row, entry uint32) { return a.to, a.from })
	backward := slices.Clone(b.arcs)
	slices.SortStableFunc(backward, func(x, y arc) int { return int(x.to) - int(y.to) })
	b.push = bcsr(b.slots, backward, func(a arc) (row, entry uint32) { return a.from, a.to })
}

// bcsr makes lists from arcs. In each row arcs keep their order.
func bcsr(rows int, arcs []arc, of func(arc) (row, entry uint32)) kernel.Lists {
	byRow := make([][]arc, rows)
	for _, a := range arcs {
		row, _ := of(a)
		byRow[row] = append(byRow[row], a)
	}
	words := bitmap.Words(rows)
	l := kernel.Lists{Bits: make([]uint64, words), Rank: make([]uint32,
		words+1), Starts: []uint32{0}}
	for row, list := range byRow {
		if row%64 == 0 {
			l.Rank[row/64] = uint32(len(l.Starts) - 1)
		}
		if len(list) == 0 {
			continue
		}
		l.Bits[row/64] |= 1 << (row % 64)
		_, head := of(list[0])
		_, second := of(list[min(1, len(list)-1)])
		l.Heads, l.Seconds = append(l.Heads, head), append(l.Seconds, second)
		for _, a := range list {
			_, entry := of(a)
			l.Adj = append(l.Adj, entry)
			l.Weights32, l.Weights64 = append(l.Weights32, float32(a.weight)),
				append(l.Weights64, a.weight)
		}
		l.Starts = append(l.Starts, uint32(len(l.Adj)))
	}
	l.Rank[words] = uint32(len(l.Starts) - 1)
	l.Same = make([]uint32, words)
	for w := range l.Same {
		lengths := map[uint32]bool{}
		for r := l.Rank[w]; r < l.Rank[w+1]; r++ {
			l.Same[w] = l.Starts[r+1] - l.Starts[r]
			lengths[l.Same[w]] = true
		}
		if len(lengths) > 1 {
			l.Same[w] = 0
		}
	}
	return l
}

// weightedBy returns lists with weights of one type.
func weightedBy(l kernel.Lists, single bool) *kernel.Lists {
	if single {
		l.Weights64 = nil
	} else {
		l.Weights32 = nil
	}
	return &l
}

// sent has the messages of a block's senders, by slot, and the bitmap of senders.
type sent[M any] struct {
	present []uint64
	message []M
}

// send writes messages into the kernels of this owner and of the others, and copies those of ghosts
// as columns.
func send[M any](
	rng *rand.Rand, b *block, c pregel.Combiner[M], k kernel.Kernel[M], binding kernel.Binding,
	density float64, message func(id pregel.VertexID) M,
) sent[M] {
	s := sent[M]{make([]uint64, b.slots/64), make([]M, b.slots)}
	write := func(k kernel.Kernel[M], ids *kernel.Slots, present []uint64) []M {
		all := make([]M, 64*len(present))
		for w := range present {
			for i := range 64 {
				if rng.Float64() < density {
					present[w] |= 1 << i
				}
			}
			var scratch [64]M
			out := k.Window(w, &scratch)
			for m := present[w]; m != 0; m &= m - 1 {
				i := bits.TrailingZeros64(m)
				all[w<<6+i] = message(pregel.VertexID(ids.ID(uint32(w<<6 + i))))
				out[i] = all[w<<6+i]
			}
			if wrong := k.Store(w, present[w], out); wrong >= 0 {
				panic("the kernel does not take the message")
			}
		}
		k.Swap()
		return all
	}
	copy(s.message, write(k, &b.ids, s.present[:b.owned/64]))
	for _, g := range b.groups {
		ids := kernel.Slots{First: uint64(g.owner), Stride: b.ids.Stride, Ghost: own}
		binding.Sources, binding.Capacity = &ids, own
		remote, err := c.Kernel(binding)
		if err != nil {
			panic(err)
		}
		present := make([]uint64, own/64)
		all := write(remote, &ids, present)
		words := s.present[g.start/64:]
		at, count := g.start, 0
		bitmap.Each(g.list, func(local uint32) {
			if bitmap.Get(present, local) {
				count++
				bitmap.Set(s.present, at)
				s.message[at] = all[local]
			}
			at++
		})
		column := remote.Column(false).New(nil)
		column.Room(count)
		column.AppendList(remote.Column(false), &bitmap.Frontier{Words: present, All: true},
			newList(g.list))
		if column.Len() != count {
			panic("a column with a wrong number of messages")
		}
		k.Column(false).SetBits(g.start, words[:bitmap.Words(int(at-g.start))], column)
	}
	return s
}

// newList makes a list of set.
func newList(set []uint64) *bitmap.List {
	words, tail := bitmap.Cut(set)
	l := &bitmap.List{Tail: make([]uint32, tail)}
	l.Head.Bits, l.Head.Rank = make([]uint64, words), make([]uint32, words+1)
	l.Fill(set)
	return l
}
