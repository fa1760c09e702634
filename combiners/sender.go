package combiners

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Sender keeps the id of any one sender. The choice may differ between runs; a deterministic run
// takes the least id. The message must be the sender's own id, or the job fails. Messages to all
// neighbours have no value: one bit tells that a vertex sent, and the receiver knows the sender by
// its slot.
func Sender() pregel.Combiner[pregel.VertexID] {
	return define("Sender", pregel.None,
		func(a, b pregel.VertexID) pregel.VertexID { return min(a, b) },
		func(b kernel.Binding, _ simple[pregel.VertexID]) (kernel.Kernel[pregel.VertexID], error) {
			return &senderKernel{ids: b.Sources, least: b.Deterministic}, nil
		})
}

// vertex has a short name because it is in most signatures.
type vertex = pregel.VertexID

type senderKernel struct {
	presence[vertex]
	ids   *kernel.Slots
	least bool // take the sender with the least id
}

func (k *senderKernel) Traits() kernel.Traits {
	return kernel.Traits{Self: true, AnyOne: !k.least, Terminal: true, Raw: true}
}

// Lift checks that a message to one vertex is its sender's id.
func (k *senderKernel) Lift(from uint64, m vertex) vertex {
	checkSender(from, m)
	return m
}

func checkSender(from uint64, named vertex) {
	if uint64(named) != from {
		panic("Send: under combiners.Sender and MinPlusSender the message must name the vertex itself, v.ID()")
	}
}

// Store checks that each vertex sent its own id. It returns the first vertex that did not, or -1.
func (k *senderKernel) Store(w int, sent uint64, out *[64]vertex) int {
	first, stride := vertex(k.ids.ID(uint32(w<<6))), vertex(k.ids.Stride)
	for m := sent; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros64(m) & 63; out[i] != first+vertex(i)*stride {
			return i
		}
	}
	return -1
}

// Pull finds for each vertex the first in-neighbour that sent.
func (k *senderKernel) Pull(
	p *kernel.Pull, w int, need, found uint64, in *[64]vertex,
) (uint64, int) {
	if k.least && need&found != 0 {
		return k.pullLeast(p, w, need, found, in)
	}
	if found == 0 && k.ids.Stride == 1 && k.ids.Blocks == nil { // a slot is its vertex's id
		return find(p, w, need, in)
	}
	var slots [64]uint32
	hit, walked := find(p, w, need&^found, &slots)
	k.name(hit, &slots, in)
	return found | hit, walked
}

// name writes the ids of the vertices at slots to in.
func (k *senderKernel) name(hit uint64, slots *[64]uint32, in *[64]vertex) {
	bases, stride := k.ids.Bases, k.ids.Stride
	for m := hit; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		s := slots[i]
		if w := int(s >> 6); w < len(bases) && bases[w] != kernel.None {
			in[i] = vertex(bases[w] + uint64(s&63)*stride)
			continue
		}
		in[i] = vertex(k.ids.ID(s))
	}
}

// pullLeast is Pull for receivers that may have a message already, from another list or from Send.
// It keeps the lesser id.
func (k *senderKernel) pullLeast(
	p *kernel.Pull, w int, need, found uint64, in *[64]vertex,
) (uint64, int) {
	before := *in
	hit, walked := k.Pull(p, w, need, 0, in)
	for m := found; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m) & 63
		if hit>>i&1 == 0 || before[i] < in[i] {
			in[i] = before[i]
		}
	}
	return found | hit, walked
}

func (k *senderKernel) Emit(p *kernel.Push, rows []kernel.Row, bins *kernel.Bins[vertex]) {
	for _, row := range rows {
		kernel.Scatter(p.Adj[row.Lo:row.Hi], p.Skip, vertex(k.ids.ID(row.From)), bins)
	}
}

// Push pushes to the receivers without a message; if it looks for the least id, to all. It first
// collects some receivers without branches, because a processor would mispredict them, and then
// writes to them.
func (k *senderKernel) Push(p *kernel.Push, rows []kernel.Row, into *kernel.Inbox[vertex]) {
	if p.Listing && !k.least {
		k.list(p, rows, into)
		return
	}
	has, skip, n, once := into.Has.Words, p.Skip, 0, ^uint64(0)
	if k.least {
		once = 0
	}
	var to [128]uint32
	var from [128]vertex
	for _, row := range rows {
		id := vertex(k.ids.ID(row.From))
		for list := p.Adj[row.Lo:row.Hi]; len(list) > 0; list = list[min(64, len(list)):] {
			if n >= 64 {
				least(p, to[:n], from[:n], into)
				n = 0
			}
			for _, d := range list[:min(64, len(list))] {
				to[n&127], from[n&127] = d, id
				n += int(^(skip[d>>6] | has[d>>6]&once) >> (d & 63) & 1)
			}
		}
	}
	least(p, to[:n], from[:n], into)
}

// list is Push with a list of the receivers and their messages. The loops that it calls are short,
// so that all their variables are in registers.
func (k *senderKernel) list(p *kernel.Push, rows []kernel.Row, into *kernel.Inbox[vertex]) {
	n, edges := len(p.Listed), 4 // expand may write 4 elements too many
	for _, row := range rows {
		edges += int(row.Hi - row.Lo)
	}
	msg := slices.Grow(into.Listed[:n], edges)[:n+edges]
	found := take(expand(rows, p.Adj, msg[n:]), into.Has.Words)
	p.Listed, into.Listed = slices.Grow(p.Listed, len(found))[:n+len(found)], msg[:n+len(found)]
	for j, x := range found {
		p.Listed[n+j], found[j] = uint32(x), vertex(k.ids.ID(uint32(x>>32)))
	}
}

// expand writes sender<<32 | receiver for each edge of rows. It writes four edges at once, because
// a processor would mispredict the lengths of short lists.
//
//go:noinline
func expand(rows []kernel.Row, adj []uint32, edges []vertex) []vertex {
	n := 0
	for _, row := range rows {
		from, i := vertex(row.From)<<32, row.Lo
		if row.Hi <= i+4 && int(i) < len(adj)-3 {
			list, to := (*[4]uint32)(adj[i:]), (*[4]vertex)(edges[n:])
			to[0], to[1] = from|vertex(list[0]), from|vertex(list[1])
			to[2], to[3] = from|vertex(list[2]), from|vertex(list[3])
			n += int(row.Hi - i)
			continue
		}
		for ; i < row.Hi; i++ {
			edges[n] = from | vertex(adj[i])
			n++
		}
	}
	return edges[:n]
}

// take keeps the first edge to each receiver that is not in has. It has no branches, because a
// processor would mispredict which receivers are new.
//
//go:noinline
func take(edges []vertex, has []uint64) []vertex {
	n := 0
	for _, x := range edges {
		d := uint32(x)
		before := has[d>>6]
		has[d>>6] = before | 1<<(d&63)
		edges[n] = x
		if before&(1<<(d&63)) == 0 {
			n++
		}
	}
	return edges[:n]
}

// Claim pushes to the receivers without a message, with one atomic operation each.
func (k *senderKernel) Claim(p *kernel.Push, rows []kernel.Row, into *kernel.Inbox[vertex]) {
	has, skip := into.Has.Words, p.Skip
	for _, row := range rows {
		id := vertex(k.ids.ID(row.From))
		for _, d := range p.Adj[row.Lo:row.Hi] {
			if (skip[d>>6]|atomic.LoadUint64(&has[d>>6]))>>(d&63)&1 == 0 && into.Has.AddShared(d) {
				into.Msg[d] = id
			}
		}
	}
}

// Fold keeps the least id.
func (k *senderKernel) Fold(to []uint32, msg []vertex, into *kernel.Inbox[vertex]) {
	least(&kernel.Push{}, to, msg, into)
}

// least keeps the least id for each receiver. It compares ids, because the order of slots is not
// the order of ids: ghosts come last.
func least(p *kernel.Push, to []uint32, msg []vertex, into *kernel.Inbox[vertex]) {
	has, in := into.Has.Words, into.Msg
	msg = msg[:len(to)]
	for j, d := range to {
		w, bit := d>>6, uint64(1)<<(d&63)
		if has[w]&bit != 0 {
			in[d] = min(in[d], msg[j])
			continue
		}
		has[w] |= bit
		p.Mark(into.Has, d)
		in[d] = msg[j]
	}
}
