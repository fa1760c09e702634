package combiners

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// Arrival is a distance and its sender.
type Arrival[W Weight] struct {
	Dist W
	From pregel.VertexID
}

// MinPlusSender is MinPlus that also keeps the sender of the least distance. Of equal distances it
// keeps the one of the sender with the least id. A message to all neighbours is {distance, v.ID()}.
// Only the distance is sent, because the receiver knows the sender by its slot. A message with
// distance NaN is dropped when it is sent, and -0 is sent as 0.
func MinPlusSender[W Weight]() pregel.Combiner[Arrival[W]] {
	_, infinity := kernel.Limits[W]()
	return semiring[W](named[W]("MinPlusSender"), Arrival[W]{infinity, pregel.None}, nearer[W],
		func(b kernel.Binding, c simple[Arrival[W]]) (kernel.Kernel[Arrival[W]], error) {
			k := &minPlusSenderKernel[W]{newDistances(b, infinity), b.Sources}
			return k, checkWeights[W](b, c.name)
		})
}

func nearer[W Weight](a, b Arrival[W]) Arrival[W] {
	if b.Dist < a.Dist || b.Dist == a.Dist && b.From < a.From || a.Dist != a.Dist {
		return b
	}
	return a
}

type minPlusSenderKernel[W Weight] struct {
	distances[W]
	ids *kernel.Slots
}

func (k *minPlusSenderKernel[W]) Window(_ int, scratch *[64]Arrival[W]) *[64]Arrival[W] {
	return scratch
}

// Store stores the distances, and checks that each vertex sent its own id with its distance. It
// returns the first vertex that did not, or -1.
func (k *minPlusSenderKernel[W]) Store(w int, sent uint64, out *[64]Arrival[W]) int {
	first, stride := pregel.VertexID(k.ids.ID(uint32(w<<6))),
		pregel.VertexID(k.ids.Stride)
	write := (*[64]W)(k.Write[w<<6:])
	for ; sent != 0; sent &= sent - 1 {
		i := bits.TrailingZeros64(sent) & 63
		if out[i].From != first+pregel.VertexID(i)*stride {
			return i
		}
		write[i] = out[i].Dist
	}
	return -1
}

// Lift checks that a message to one vertex contains its sender's id.
func (k *minPlusSenderKernel[W]) Lift(from uint64, m Arrival[W]) Arrival[W] {
	checkSender(from, m.From)
	return m
}

// Normalizer returns the function that normalizes messages when they are sent: it drops NaN and
// replaces -0 by 0, as for MinPlus.
func (k *minPlusSenderKernel[W]) Normalizer() func(sent uint64, out *[64]Arrival[W]) uint64 {
	return func(sent uint64, out *[64]Arrival[W]) uint64 {
		for rest := sent; rest != 0; rest &= rest - 1 {
			x := &out[bits.TrailingZeros64(rest)&63].Dist
			if *x += 0; *x != *x {
				sent &^= rest & -rest
			}
		}
		return sent
	}
}

// better reports whether distance dist to slot d is at most the best so far, and records it. The
// caller decides between equal distances by the sender's id.
func (k *minPlusSenderKernel[W]) better(d uint32, dist W) bool {
	if dist > k.best[d] {
		return false
	}
	k.best[d] = dist
	return true
}

// Pull keeps the least sum of distance and weight, and its sender.
func (k *minPlusSenderKernel[W]) Pull(
	p *kernel.Pull, w int, need, found uint64, in *[64]Arrival[W],
) (uint64, int) {
	if p.Lightest != nil {
		return k.pullLightest(p, w, need, found, in)
	}
	rows, base := p.Bits[w], p.Rank[w]
	read, present, walked := k.Read, p.Present, 0
	all := weightsOf[W](p.Lists)
	for need &= rows; need != 0; need &= need - 1 {
		i := uint(bits.TrailingZeros64(need)) & 63
		r := base + uint32(bits.OnesCount64(rows&(1<<i-1)))
		lo, hi := p.Starts[r], p.Starts[r+1]
		list, weights := p.Adj[lo:hi], all[lo:hi]
		walked += len(list)
		best, from := W(0), -1
		for j, s := range list {
			if !p.All && present[s>>6]>>(s&63)&1 == 0 {
				continue
			}
			// Lists are ordered by id, so the first of equal distances has the least sender.
			if x := read[s] + weights[j]; from < 0 || x < best {
				best, from = x, j
			}
		}
		if from < 0 || k.best != nil && !k.better(uint32(w<<6)+uint32(i), best) {
			continue
		}
		arrival := Arrival[W]{best, pregel.VertexID(k.ids.ID(list[from]))}
		if found>>i&1 != 0 {
			arrival = nearer(in[i], arrival)
		}
		in[i] = arrival
		found |= 1 << i
	}
	return found, walked
}

func (k *minPlusSenderKernel[W]) Push(
	p *kernel.Push, rows []kernel.Row, into *kernel.Inbox[Arrival[W]],
) {
	has, in, skip, best := into.Has.Words, into.Msg, p.Skip, k.best
	all := weightsOf[W](p.Lists)
	for _, row := range rows {
		id, dist, weights := pregel.VertexID(k.ids.ID(row.From)), k.Read[row.From],
			all[row.Lo:row.Hi]
		for j, d := range p.Adj[row.Lo:row.Hi] {
			a := Arrival[W]{dist + weights[j], id}
			if best != nil && !k.better(d, a.Dist) {
				continue
			}
			v, bit := d>>6, uint64(1)<<(d&63)
			if skip[v]&bit != 0 {
				continue
			}
			if has[v]&bit == 0 {
				has[v] |= bit
				p.Mark(into.Has, d)
				in[d] = a
			} else if a.Dist <= in[d].Dist {
				in[d] = nearer(in[d], a)
			}
		}
	}
}

func (k *minPlusSenderKernel[W]) Emit(
	p *kernel.Push, rows []kernel.Row, bins *kernel.Bins[Arrival[W]],
) {
	best, all := k.best, weightsOf[W](p.Lists)
	for _, row := range rows {
		id, dist, weights := pregel.VertexID(k.ids.ID(row.From)), k.Read[row.From],
			all[row.Lo:row.Hi]
		for j, d := range p.Adj[row.Lo:row.Hi] {
			if best != nil && dist+weights[j] > best[d] || p.Skip[d>>6]>>(d&63)&1 != 0 {
				continue
			}
			b := d >> bins.Shift
			bins.To[b] = append(bins.To[b], d)
			bins.Msg[b] = append(bins.Msg[b], Arrival[W]{dist + weights[j], id})
		}
	}
}

func (k *minPlusSenderKernel[W]) Fold(
	to []uint32, msg []Arrival[W], into *kernel.Inbox[Arrival[W]],
) {
	for j, d := range to {
		if k.best != nil && !k.better(d, msg[j].Dist) {
			continue
		}
		if w := int(d >> 6); into.Has.Words[w]>>(d&63)&1 == 0 {
			into.Has.Words[w] |= 1 << (d & 63)
			into.Has.Mark(w)
			into.Msg[d] = msg[j]
			continue
		}
		into.Msg[d] = nearer(into.Msg[d], msg[j])
	}
}
