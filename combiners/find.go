package combiners

import (
	"math/bits"

	"github.com/superstep-go/superstep/internal/kernel"
	"github.com/superstep-go/superstep/pregel"
)

// dense is the number of needed rows in a word above which it is faster to look at all 64 rows.
const dense = 20

// slot is a type of slots, or of ids if these are equal to the slots.
type slot interface{ uint32 | pregel.VertexID }

// find looks, for each row of need in word w, for the first in-neighbour that sent (Nakao20, fig.
// 1, line 28). It returns the rows that have such a neighbour, and the number of edges it looked
// at. It stores the neighbours in slots; the elements of other rows are undefined.
//
// Each list begins with the neighbour of the highest degree. An array of their own (Heads) holds
// these first neighbours. find tries them for the whole word before it opens any list, and most
// searches end there. Then it tries the second and third neighbours, without branches that depend
// on the answers, so that the processor can load several words of present at once. It walks the
// remaining lists one by one.
func find[S slot](p *kernel.Pull, w int, need uint64, slots *[64]S) (hit uint64, walked int) {
	rows, base := p.Bits[w], p.Rank[w]
	need &= rows
	present := p.Present
	walked = bits.OnesCount64(need)
	if rows == ^uint64(0) && walked > dense {
		hit = sentOf(present, (*[64]uint32)(p.Heads[base:]), slots) & need
	} else {
		hit = lookUp(present, p.Heads[base:], 1, rows, need, slots)
	}
	miss, length := need&^hit, uint32(0)
	if p.Same != nil {
		length = p.Same[w]
	}
	if miss == 0 || length == 1 {
		return hit, walked
	}
	hit |= lookUp(present, p.Seconds[base:], 1, rows, miss, slots)
	if length == 0 {
		walked += bits.OnesCount64(miss & hit)
		for m := miss &^ hit; m != 0; m &= m - 1 {
			bit := m & -m
			r := base + uint32(bits.OnesCount64(rows&(bit-1)))
			lo, hi := p.Starts[r], p.Starts[r+1]
			second := min(lo+2, hi) // after the second neighbour
			s, looks := walk(present, p.Adj[second:hi])
			walked += int(second-lo) - 1 + looks&^found
			if looks&found != 0 {
				slots[bits.OnesCount64(bit-1)&63] = S(s)
				hit |= bit
			}
		}
		return hit, walked
	}
	walked += bits.OnesCount64(miss)
	if miss &^= hit; miss == 0 || length == 2 {
		return hit, walked
	}
	start := p.Starts[base]
	walked += bits.OnesCount64(miss)
	hit |= lookUp(present, p.Adj[start+2:], length, rows, miss, slots)
	if length == 3 {
		return hit, walked
	}
	for m := miss &^ hit; m != 0; m &= m - 1 {
		bit := m & -m
		at := start + uint32(bits.OnesCount64(rows&(bit-1)))*length
		s, looks := walk(present, p.Adj[at+3:at+length])
		walked += looks &^ found
		if looks&found != 0 {
			slots[bits.OnesCount64(bit-1)&63] = S(s)
			hit |= bit
		}
	}
	return hit, walked
}

// lookUp looks at one neighbour of each row of need, and returns the rows whose neighbour sent.
// apart is the distance in neighbors between consecutive rows of the word.
func lookUp[S slot](
	present []uint64, neighbors []uint32, apart uint32, rows, need uint64, slots *[64]S,
) (hit uint64) {
	for m := need; m != 0; m &= m - 1 {
		bit := m & -m
		s := neighbors[uint32(bits.OnesCount64(rows&(bit-1)))*apart]
		slots[bits.OnesCount64(bit-1)&63] = S(s)
		hit |= bit & -(present[s>>6] >> (s & 63) & 1)
	}
	return hit
}

// found is a flag in the number of looks: the walk ended at a sender.
const found = 1 << 62

// walk returns the first slot of a list that is present, and the number of slots it looked at. It
// adds the flag found if there is such a slot.
func walk(present []uint64, list []uint32) (slot uint32, looks int) {
	for j, s := range list {
		if present[s>>6]>>(s&63)&1 != 0 {
			return s, (j + 1) | found
		}
	}
	return 0, len(list)
}

// sentOf returns which of 64 neighbours sent, as bits. It copies all neighbours to slots.
func sentOf[S slot](present []uint64, neighbors *[64]uint32, slots *[64]S) (hit uint64) {
	for i := 0; i < 64; i += 4 {
		a, b, c, d := neighbors[i], neighbors[i+1], neighbors[i+2], neighbors[i+3]
		slots[i], slots[i+1], slots[i+2], slots[i+3] = S(a), S(b), S(c), S(d)
		x := present[a>>6] >> (a & 63) & 1
		x |= present[b>>6] >> (b & 63) & 1 << 1
		x |= present[c>>6] >> (c & 63) & 1 << 2
		x |= present[d>>6] >> (d & 63) & 1 << 3
		hit = hit>>4 | x<<60
	}
	return hit
}
